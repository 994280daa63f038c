"""What parent and worker say to each other: length-prefixed frames, JSON and raw bytes.

JSON rather than pickle: the worker has parsed a hostile file, so what it says must stay data.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import IO, Any

from rag_agent.errors import ExtractError, MissingDependency, TooLarge, UnsupportedFormat
from rag_agent.types import Coverage, Document, Link

_LENGTH = struct.Struct(">Q")
_ERRORS = {error.__name__: error for error in (MissingDependency, TooLarge, UnsupportedFormat)}


@dataclass(frozen=True, slots=True)
class Request:
    """Which function (importable by module and name) is to read which path, in how long.

    ``options`` are further arguments by their names, as JSON has them.
    """

    module: str
    function: str
    path: str
    seconds: float
    options: Mapping[str, Any] = field(default_factory=dict)


def write_frame(stream: IO[bytes], data: bytes) -> None:
    """Raises OSError when the other side is gone."""
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes:
    """Raises EOFError when the other side has closed the pipe, also in the middle of a frame."""
    (length,) = _LENGTH.unpack(_read_exactly(stream, _LENGTH.size))
    return _read_exactly(stream, length)


def _read_exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def pack_request(request: Request) -> bytes:
    """JSON of a request; the file's bytes follow in a frame of their own."""
    return json.dumps(asdict(request)).encode("ascii")


def unpack_request(frame: bytes) -> Request:
    """The inverse of ``pack_request``."""
    return Request(**json.loads(frame))


def pack_answer(answer: Document | ExtractError, *, last: bool) -> bytes:
    """JSON of what became of a file; ``last`` says that the worker ends after it."""
    if isinstance(answer, Document):
        return _json({"last": last, "document": asdict(answer)})
    return _json(
        {
            "last": last,
            "error": type(answer).__name__,
            "path": answer.path,
            "reason": answer.reason,
            "detail": answer.detail,
        }
    )


def unpack_answer(frame: bytes) -> tuple[Document | ExtractError, bool]:
    """The inverse of ``pack_answer``."""
    answer = json.loads(frame)
    if "document" not in answer:
        error = _ERRORS.get(answer["error"], ExtractError)
        return error(answer["path"], answer["reason"], answer["detail"]), answer["last"]
    fields = answer["document"]
    fields["links"] = tuple(Link(**link) for link in fields["links"])
    for name in ("tags", "pages", "warnings", "aliases"):
        fields[name] = tuple(fields[name])
    fields["unembedded"] = tuple((start, end) for start, end in fields["unembedded"])
    fields["coverage"] = fields["coverage"] and Coverage(**fields["coverage"])
    return Document(**fields), answer["last"]


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8")
