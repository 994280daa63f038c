"""What hosts say to a hook, and what they want to hear: pure functions, cheap to import.

Claude Code, Codex and Gemini CLI speak one JSON with differences. Bridges of ours (Pi, opencode)
send Claude's events and take a plain answer.
"""

from __future__ import annotations

import json

from rag_agent.utf8 import encodable

TYPE_CHECKING = False  # a hook starts for every prompt, and typing costs it a tenth of its time
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Literal

    Kind = Literal["turn", "command", "forget", "nothing"]

_MOST_LEFT = 10**9  # tokens; JSON has numbers that no int holds
_TURNS = ("UserPromptSubmit", "BeforeAgent")
_COMMANDS = ("UserPromptExpansion",)
_STARTS = ("SessionStart",)
# Starts after which nothing of the conversation, so nothing that was injected, is left in it.
_FORGETTING = ("clear", "compact")
# Gemini's comes after every turn with the trigger "auto", long before anything is compressed.
_COMPRESSIONS = ("PreCompress",)
# Hosts without commands of one's own that stay local: there a prompt that begins so is one.
_PROMPTED = {"codex": "$rag", "gemini": "/rag"}


class Request:
    """What an event asks for.

    ``turn``: context for ``prompt``. ``command``: the answer to the ``/rag`` line. ``forget``: the
    session has lost what it was shown. ``nothing``: an event that is none of ours.

    ``left`` is how many tokens the model's context window has left, which only bridges of ours
    say, as ``context_left``; 0 for not known.
    """

    __slots__ = ("cwd", "event", "id", "kind", "left", "line", "prompt", "session")

    def __init__(
        self,
        kind: Kind,
        event: str = "",
        prompt: str = "",
        session: str = "",
        id: str = "",
        line: str = "",
        cwd: str = "",
        left: int = 0,
    ) -> None:
        self.kind = kind
        self.event = event
        self.prompt = prompt
        self.session = session
        self.id = id
        self.line = line
        self.cwd = cwd
        self.left = left


def understand(event: Mapping[str, Any], host: str = "") -> Request:
    """The request in a hook's event; whatever is missing or of a wrong type is empty."""
    name = _text(event, "hook_event_name")
    prompt = _text(event, "prompt")
    line = _text(event, "command_args")
    kind: Kind = "nothing"
    if name in _TURNS:
        kind = "turn"
        prompted = _command_line(prompt, _PROMPTED.get(host))
        if prompted is not None:
            kind, line = "command", prompted
    elif name in _COMMANDS:
        kind = "command"
    elif (name in _STARTS and _text(event, "source") in _FORGETTING) or (
        name in _COMPRESSIONS and _text(event, "trigger") == "manual"
    ):
        kind = "forget"
    return Request(
        kind,
        name,
        prompt=prompt,
        session=_text(event, "session_id"),
        id=_text(event, "prompt_id") or _text(event, "turn_id"),
        line=line,
        cwd=_text(event, "cwd"),
        left=tokens_left(event.get("context_left")),
    )


def reply(host: str, request: Request, text: str, note: str = "") -> str:
    """The answer in the host's JSON: ``text`` for the model (or of a command), ``note`` for people.

    Both may be empty.
    """
    return json.dumps(_REPLIES.get(host, _plain)(request, text, note), ensure_ascii=False)


def _command_line(prompt: str, word: str | None) -> str | None:
    """What stands behind the word of a command on the first line, None if it is none."""
    first = prompt.strip().partition("\n")[0]
    if word is None or first.partition(" ")[0] != word:
        return None
    return first[len(word) :].strip()


def _plain(request: Request, text: str, note: str) -> dict[str, Any]:
    return {"context": text, "note": note}


def _claude_code(request: Request, text: str, note: str) -> dict[str, Any]:
    if request.kind == "command":
        return {
            "decision": "block",
            "reason": text,
            "hookSpecificOutput": {
                "hookEventName": request.event,
                "suppressOriginalPrompt": True,
            },
        }
    return _added(request, text, note, {"suppressOutput": True})


def _codex(request: Request, text: str, note: str) -> dict[str, Any]:
    if request.kind == "command":
        return {"decision": "block", "reason": text}
    return _added(request, text, note, {})  # its schema forbids what it does not know


def _gemini(request: Request, text: str, note: str) -> dict[str, Any]:
    if request.kind == "command":
        return {"decision": "block", "reason": text}
    return _added(request, text, note, {"suppressOutput": True})


def _added(request: Request, text: str, note: str, more: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    if text:
        answer["hookSpecificOutput"] = {
            "hookEventName": request.event,
            "additionalContext": text,
        }
        answer |= more
    if note:
        answer["systemMessage"] = note
    return answer


_REPLIES: Mapping[str, Callable[[Request, str, str], dict[str, Any]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini": _gemini,
}


def tokens_left(value: object) -> int:
    """What a bridge says of the context window, 1 at least; 0 where that is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return 0
    return int(min(max(value, 1), _MOST_LEFT))


def _text(event: Mapping[str, Any], key: str) -> str:
    value = event.get(key)
    # JavaScript cuts texts in the midst of a character; half of one is in no file and no database.
    return encodable(value) if isinstance(value, str) else ""
