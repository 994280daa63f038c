"""The four formats in which hosts speak to a model: what a request holds, and how to answer it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

ANSWER = "FAKE-OK"
Body = dict[str, Any]
Events = Iterator[tuple[str, object]]


@dataclass(frozen=True)
class Call:
    """A tool to call; the name has two parts where the format has namespaces."""

    name: tuple[str, ...]
    arguments: Body


@dataclass(frozen=True)
class Newest:
    """What stands after the model's last words: the user's, and whether a tool has answered."""

    words: str
    has_result: bool


class Wire(Protocol):
    """One format."""

    def tools(self, body: Body) -> list[tuple[str, ...]]: ...
    def texts(self, body: Body) -> list[str]: ...
    def newest(self, body: Body) -> Newest: ...
    def whole(self, body: Body, call: Call | None, identity: int) -> Body: ...
    def events(self, body: Body, call: Call | None, identity: int) -> Events: ...


class _Chat:
    """OpenAI's /chat/completions."""

    def tools(self, body: Body) -> list[tuple[str, ...]]:
        return [(tool["function"]["name"],) for tool in body.get("tools", [])]

    def texts(self, body: Body) -> list[str]:
        return [_text(message.get("content")) for message in body["messages"]]

    def newest(self, body: Body) -> Newest:
        tail = _after(body["messages"], lambda message: message["role"] == "assistant")
        words = [_text(message["content"]) for message in tail if message["role"] == "user"]
        return Newest("\n".join(words), any(message["role"] == "tool" for message in tail))

    def whole(self, body: Body, call: Call | None, identity: int) -> Body:
        message: Body = {"role": "assistant", "content": None if call else ANSWER}
        if call:
            message["tool_calls"] = [self._call(call, identity)]
        choice = {"index": 0, "message": message, "finish_reason": _finish(call)}
        return self._base(body, identity) | {"choices": [choice], "usage": self._usage()}

    def events(self, body: Body, call: Call | None, identity: int) -> Events:
        base = self._base(body, identity) | {"object": "chat.completion.chunk"}
        delta: Body = {"role": "assistant", "content": None if call else ANSWER}
        if call:
            delta["tool_calls"] = [{"index": 0, **self._call(call, identity)}]
        for part, finish in ((delta, None), ({}, _finish(call))):
            yield "", base | {"choices": [{"index": 0, "delta": part, "finish_reason": finish}]}
        yield "", base | {"choices": [], "usage": self._usage()}
        yield "", "[DONE]"

    def _base(self, body: Body, identity: int) -> Body:
        return {
            "id": f"chatcmpl-{identity}",
            "object": "chat.completion",
            "created": 1_800_000_000,
            "model": body.get("model"),
        }

    def _call(self, call: Call, identity: int) -> Body:
        function = {"name": call.name[-1], "arguments": json.dumps(call.arguments)}
        return {"id": f"call_{identity}", "type": "function", "function": function}

    def _usage(self) -> Body:
        return {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


class _Responses:
    """OpenAI's /responses."""

    def tools(self, body: Body) -> list[tuple[str, ...]]:
        names: list[tuple[str, ...]] = []
        for tool in body.get("tools", []):
            inner = tool.get("tools") if tool.get("type") == "namespace" else None
            if inner is None:
                names.append((tool.get("name", ""),))
            else:
                names += [(tool["name"], one["name"]) for one in inner]
        return names

    def texts(self, body: Body) -> list[str]:
        return [_text(item.get("content") or item.get("output")) for item in self._items(body)]

    def newest(self, body: Body) -> Newest:
        tail = _after(
            self._items(body),
            lambda item: item.get("role") == "assistant" or item.get("type") == "function_call",
        )
        words = [_text(item.get("content")) for item in tail if item.get("role") == "user"]
        has_result = any(item.get("type", "").endswith("_output") for item in tail)
        return Newest("\n".join(words), has_result)

    def whole(self, body: Body, call: Call | None, identity: int) -> Body:
        return {
            "id": f"resp_{identity}",
            "output": [self._item(call, identity)],
            "status": "completed",
            "usage": {
                "input_tokens": 10,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 5,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 15,
            },
        }

    def events(self, body: Body, call: Call | None, identity: int) -> Events:
        whole = self.whole(body, call, identity)
        item = whole["output"][0]
        events: list[Body] = [
            {"type": "response.created", "response": {"id": whole["id"]}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
        ]
        if not call:
            text = {"item_id": item["id"], "output_index": 0, "content_index": 0, "delta": ANSWER}
            events.append({"type": "response.output_text.delta", **text})
        events.append({"type": "response.output_item.done", "output_index": 0, "item": item})
        events.append({"type": "response.completed", "response": whole})
        for event in events:
            yield event["type"], event

    def _items(self, body: Body) -> list[Body]:
        items = body.get("input", [])
        if isinstance(items, str):
            return [{"type": "message", "role": "user", "content": items}]
        return items

    def _item(self, call: Call | None, identity: int) -> Body:
        if not call:
            text = {"type": "output_text", "text": ANSWER, "annotations": []}
            message = {"type": "message", "role": "assistant", "content": [text]}
            return {"id": f"msg_{identity}", "status": "completed", **message}
        item = {"type": "function_call", "id": f"fc_{identity}", "call_id": f"call_{identity}"}
        if len(call.name) > 1:
            item["namespace"] = call.name[0]
        arguments = json.dumps(call.arguments)
        return {**item, "name": call.name[-1], "arguments": arguments, "status": "completed"}


class _Messages:
    """Anthropic's /messages."""

    def tools(self, body: Body) -> list[tuple[str, ...]]:
        return [(tool["name"],) for tool in body.get("tools", [])]

    def texts(self, body: Body) -> list[str]:
        return [_text(body.get("system"))] + [_text(one["content"]) for one in body["messages"]]

    def newest(self, body: Body) -> Newest:
        tail = _after(body["messages"], lambda message: message["role"] == "assistant")
        mine = [message["content"] for message in tail if message["role"] == "user"]
        blocks = [block for content in mine if isinstance(content, list) for block in content]
        has_result = any(block.get("type") == "tool_result" for block in blocks)
        return Newest("\n".join(_text(content) for content in mine), has_result)

    def whole(self, body: Body, call: Call | None, identity: int) -> Body:
        block: Body = {"type": "text", "text": ANSWER}
        if call:
            block = {"type": "tool_use", "id": f"toolu_{identity}", "name": call.name[-1]}
            block["input"] = call.arguments
        return self._message(body, identity) | {
            "content": [block],
            "stop_reason": "tool_use" if call else "end_turn",
        }

    def events(self, body: Body, call: Call | None, identity: int) -> Events:
        whole = self.whole(body, call, identity)
        block = whole["content"][0]
        empty = block | ({"input": {}} if call else {"text": ""})
        delta: Body = {"type": "text_delta", "text": ANSWER}
        if call:
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
        stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        start = self._message(body, identity) | {"content": [], "stop_reason": None}
        for event in (
            {"type": "message_start", "message": start},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": stop, "usage": whole["usage"]},
            {"type": "message_stop"},
        ):
            yield str(event["type"]), event

    def _message(self, body: Body, identity: int) -> Body:
        return {
            "id": f"msg_{identity}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "stop_sequence": None,
            "usage": {
                "input_tokens": 10,
                "output_tokens": 5,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
            },
        }


class _Gemini:
    """Gemini's :generateContent and :streamGenerateContent."""

    def tools(self, body: Body) -> list[tuple[str, ...]]:
        declared = [tool.get("functionDeclarations", []) for tool in body.get("tools", [])]
        return [(function["name"],) for functions in declared for function in functions]

    def texts(self, body: Body) -> list[str]:
        system = [body["systemInstruction"]] if "systemInstruction" in body else []
        parts = [part for one in system + body["contents"] for part in one.get("parts", [])]
        return [part.get("text") or _json(part.get("functionResponse", "")) for part in parts]

    def newest(self, body: Body) -> Newest:
        tail = _after(body["contents"], lambda content: content.get("role") == "model")
        parts = [part for content in tail for part in content.get("parts", [])]
        words = "\n".join(part.get("text", "") for part in parts)
        return Newest(words, any("functionResponse" in part for part in parts))

    def whole(self, body: Body, call: Call | None, identity: int) -> Body:
        part: Body = {"text": ANSWER}
        if call:
            part = {"functionCall": {"name": call.name[-1], "args": call.arguments}}
        content = {"role": "model", "parts": [part]}
        return {
            "candidates": [{"index": 0, "content": content, "finishReason": "STOP"}],
            "usageMetadata": {
                "promptTokenCount": 10,
                "candidatesTokenCount": 5,
                "totalTokenCount": 15,
            },
            "modelVersion": f"fake-{identity}",
        }

    def events(self, body: Body, call: Call | None, identity: int) -> Events:
        yield "", self.whole(body, call, identity)


_CHAT, _RESPONSES, _MESSAGES, _GEMINI = _Chat(), _Responses(), _Messages(), _Gemini()
_ENDS: tuple[tuple[str, Wire], ...] = (
    ("/chat/completions", _CHAT),
    ("/responses", _RESPONSES),
    ("/messages", _MESSAGES),
    ("enerateContent", _GEMINI),
)


def at(path: str) -> Wire | None:
    """The format spoken at a path; None where no model answers."""
    return next((wire for end, wire in _ENDS if path.endswith(end)), None)


def of(body: Body) -> Wire:
    """The format that a request is written in."""
    if "contents" in body:
        return _GEMINI
    if "input" in body:
        return _RESPONSES
    # Both others have "messages"; only OpenAI's tools hold a "function", only its system a role.
    is_chat = body["messages"][0]["role"] in ("system", "developer")
    return _CHAT if is_chat or "function" in (body.get("tools") or [{}])[0] else _MESSAGES


def _finish(call: Call | None) -> str:
    return "tool_calls" if call else "stop"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _after(items: list[Body], is_models: Any) -> list[Body]:
    """The items after the last one of the model."""
    last = max((at for at, item in enumerate(items) if is_models(item)), default=-1)
    return items[last + 1 :]


def _text(content: object) -> str:
    """All text in a message's content, also within tool results."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [part for part in content if isinstance(part, dict)]
    return "\n".join(part.get("text") or _text(part.get("content")) for part in parts)
