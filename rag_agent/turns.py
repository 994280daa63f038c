"""What an agent's turn is given: context for its prompt, within a budget of time, once.

The engine of injection for every host. Nothing here raises because of its memory: without one,
turns are answered all the same, only chunks may be shown twice.
"""

from __future__ import annotations

from collections.abc import Callable

from rag_agent.errors import StoreError
from rag_agent.late import LateLogger

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from datetime import datetime

    from rag_agent.config import Config
    from rag_agent.store.memory import TurnMemory
    from rag_agent.types import Context, SearchResults

_log = LateLogger(__name__)

STALE_AFTER = 24 * 3600.0  # seconds
LOOK_EVERY = 3600.0  # seconds between two looks whether the index is stale
_PART_FOR_CONTEXT = 20  # what nobody asked for gets a twentieth of what the window has left
_LOOKED = "refresh looked"
_REFRESHED = "refresh"

INJECTED, ABSTAINED, TIMED_OUT, TOKENS = "injections", "abstentions", "time_outs", "tokens"
ANSWERED = "this prompt has been answered already"
_COUNTERS = (INJECTED, ABSTAINED, TIMED_OUT, TOKENS)


class Turn:
    """One prompt of a user to an agent.

    ``session`` is the host's name for the conversation, empty if it has none; ``id`` its name for
    the prompt, so that hooks which ask twice for the same one are answered once. ``left`` is how
    many tokens the model's context window has left, 0 where the host does not say.
    """

    __slots__ = ("id", "left", "prompt", "session")

    def __init__(self, prompt: str, session: str = "", id: str = "", left: int = 0) -> None:
        self.prompt = prompt
        self.session = session
        self.id = id
        self.left = left


def share_of_window(most: int, left: int, part: int = _PART_FOR_CONTEXT) -> int:
    """At most so many tokens, and one part of those that a context window has ``left``.

    0 for a window of which nobody tells anything.
    """
    return min(most, left // part) if left else most


def recall(turn: Turn, memory: TurnMemory | None) -> tuple[frozenset[bytes], str] | None:
    """What the turn's session was shown (keys of chunks) and asked before; None if answered."""
    if memory is not None and turn.session:
        try:
            if turn.id and not memory.claim(turn.session, turn.id):
                return None
            return memory.shown(turn.session), memory.prompt_before(turn.session)
        except StoreError as error:
            _log.info("the memory of turns cannot be read: %s", error)
    return frozenset(), ""


def take_turn(
    turn: Turn,
    search: Callable[[str], SearchResults],
    settings: Config,
    memory: TurnMemory | None,
) -> Context:
    """The context of a turn, empty when there is nothing to say. ``record`` it once delivered."""
    from rag_agent.context.build import build_context
    from rag_agent.types import Context

    recalled = recall(turn, memory)
    if recalled is None:
        return Context("", 0, (), (ANSWERED,))
    shown, before = recalled
    return build_context(
        turn.prompt,
        search,
        enabled=settings.rag_enabled,
        threshold=settings.rag_score_threshold,
        budget=share_of_window(settings.rag_token_budget, turn.left),
        shown=shown,
        before=before,
    )


def record(turn: Turn, context: Context, settings: Config, memory: TurnMemory | None) -> None:
    """Remember and count what a turn was given, so that it is not given again.

    A secret in the prompt is not remembered.
    Commands of a host, and prompts that a second hook asked for, are no turns.
    """
    is_none = context.reasons == (ANSWERED,) or turn.prompt.lstrip().startswith("/")
    if memory is None or not settings.rag_enabled or is_none:
        return
    from rag_agent.context.shown import keys_of
    from rag_agent.masking import cut, mask
    from rag_agent.store.memory import LONGEST_PROMPT

    try:
        if turn.session and context.query:
            query, _ = mask(cut(context.query, LONGEST_PROMPT))
            memory.remember(turn.session, query, keys_of(context.hits))
        if context.text:
            memory.count({INJECTED: 1, TOKENS: context.tokens})
        else:
            memory.count({ABSTAINED: 1})
    except StoreError as error:
        _log.info("a turn is not remembered: %s", error)


def record_time_out(memory: TurnMemory | None) -> None:
    """Count a turn that went on without context because time was up."""
    if memory is not None:
        try:
            memory.count({TIMED_OUT: 1})
        except StoreError as error:
            _log.info("a time-out is not counted: %s", error)


def forget(session: str, memory: TurnMemory | None) -> None:
    """The session has lost what it was shown: compacted, or cleared."""
    if memory is not None and session:
        try:
            memory.forget(session)
        except StoreError as error:
            _log.info("a session is not forgotten: %s", error)


def refresh_is_due(
    last_sync: str, settings: Config, memory: TurnMemory | None, now: datetime | None = None
) -> bool:
    """Whether to refresh the index now: it is older than 24 hours, and this process is to do it.

    Of all processes one gets true, at most once an hour. ``last_sync`` is ISO 8601 or empty.
    """
    if memory is None or not settings.rag_auto_refresh or not last_sync:
        return False
    from datetime import datetime, timezone

    try:
        then = datetime.fromisoformat(last_sync).astimezone(timezone.utc)
        age = (now or datetime.now(timezone.utc)) - then
        if age.total_seconds() < STALE_AFTER or not memory.claim_every(_LOOKED, LOOK_EVERY):
            return False
        memory.forget_old()
    except (StoreError, ValueError) as error:
        _log.info("whether the index is stale cannot be told: %s", error)
        return False
    return True


def record_refresh(memory: TurnMemory | None, result: str) -> None:
    """Note how the last automatic refresh went, in one sentence, for ``status``."""
    if memory is not None:
        from datetime import datetime, timezone

        when = datetime.now(timezone.utc).isoformat(timespec="seconds")
        try:
            memory.note(_REFRESHED, f"{when} {result}")
        except StoreError as error:
            _log.info("a refresh is not noted: %s", error)


def last_refresh(memory: TurnMemory | None) -> str:
    """When the last automatic refresh was and how it went, empty if there was none."""
    try:
        return memory.noted(_REFRESHED) if memory is not None else ""
    except StoreError as error:
        _log.info("the last refresh cannot be read: %s", error)
        return ""


def counts(memory: TurnMemory | None) -> dict[str, int]:
    """What became of the turns so far, and the tokens injected; empty before the first."""
    try:
        found = memory.counts() if memory is not None else {}
    except StoreError as error:
        _log.info("the counters of turns cannot be read: %s", error)
        return {}
    return {name: found.get(name, 0) for name in _COUNTERS} if found else {}
