"""Mail → Markdown: a heading a message, its sender, date and text, names of what is attached."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from email import message_from_bytes, policy
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parsedate_to_datetime

from rag_agent.errors import ExtractError
from rag_agent.extract.encoding import decode
from rag_agent.extract.html import to_markdown
from rag_agent.extract.languages import language_of
from rag_agent.extract.markdown import title_and_links
from rag_agent.extract.metadata import properties
from rag_agent.extract.plain import literal, one_line
from rag_agent.extract.registry import extractor
from rag_agent.masking import is_private_key
from rag_agent.secret_files import secret_file
from rag_agent.types import Document

# A line that begins a message (RFC 4155); in the text of one it is written ">From ".
_FROM_LINE = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n))From [^\r\n]*\d{4}[^\r\n]*\r?\n")
_ESCAPED_FROM = re.compile(r"^>(>*From )", re.MULTILINE)
_SHOWN = ("From", "To", "Cc", "Date")
_HEADERS = re.compile(rb"^[!-9;-~]+:", re.MULTILINE)  # RFC 5322, 2.2
_NO_SUBJECT = "(no subject)"


@extractor("eml", isolated=True)
def read_message(data: bytes, path: str) -> Document:
    """One message; messages that it forwards as attachments follow under headings of their own."""
    data = data.lstrip()
    if beginning := _FROM_LINE.match(data):  # some programs leave it there
        data = data[beginning.end() :]
    if not _HEADERS.match(data[:1000]):
        raise ExtractError(path, "cannot be parsed", "no headers of a mail at its beginning")
    return _document([_parse(data)], path, "eml")


@extractor("mbox", isolated=True)
def read_mailbox(data: bytes, path: str) -> Document:
    """All messages of a mailbox, in its order."""
    starts = [match.start() for match in _FROM_LINE.finditer(data)]
    if data.strip() and not starts:
        raise ExtractError(path, "cannot be parsed", "no message begins in it")
    ends = [*starts[1:], len(data)][: len(starts)]
    pieces = (data[start:end] for start, end in zip(starts, ends, strict=True))
    return _document([_parse(piece.partition(b"\n")[2]) for piece in pieces], path, "mbox")


def _parse(data: bytes) -> Message:
    # Not policy.default: its parser of headers raises on many of those that are sent.
    return message_from_bytes(data, policy=policy.compat32)


def _document(messages: list[Message], path: str, language: str) -> Document:
    warnings: dict[str, None] = {}
    blocks = [block for message in messages for block in _message(message, 1, warnings)]
    text = "\n\n".join(filter(None, (block.strip("\n") for block in blocks)))
    text = text + "\n" if text else ""
    title, links = title_and_links(text)
    days = [day.isoformat() for day in sorted(filter(None, map(_sent, messages)), key=_instant)]
    one = messages[0] if len(messages) == 1 else None
    found = properties(
        (key, _header(one, name))
        for key, name in (("author", "From"), ("keywords", "Keywords"))
        if one is not None
    )
    return Document(
        path=path,
        kind="prose",
        text=text,
        language=language,
        title=title if one is not None and one["Subject"] else "",
        tags=found.tags,
        date=days[-1][:10] if days else "",
        metadata={**found.metadata, **({"created": days[0]} if days else {})},
        links=links,
        converted=True,
        warnings=tuple(warnings),
    )


def _message(message: Message, level: int, warnings: dict[str, None]) -> Iterator[str]:
    yield "#" * min(level, 6) + f" {_header(message, 'Subject') or _NO_SUBJECT}"
    yield "\n".join(f"{name}: {text}" for name in _SHOWN if (text := _header(message, name)))
    bodies, attached = _parts(message)
    for body in bodies:
        yield _text(body, warnings)
    for part in attached:
        if part.get_content_type() == "message/rfc822":
            for inner in _children(part):
                yield from _message(inner, level + 1, warnings)
            continue
        name = _file_name(part)
        yield f"Attachment: {name or part.get_content_type()}"
        if why := _secret(part, name):
            warnings[f"an attachment is not read: {name or part.get_content_type()} ({why})"] = None
        elif part.get_content_maintype() == "text" or _is_text(name):
            yield "#" * min(level + 1, 6) + f" {name or part.get_content_type()}"
            yield _text(part, warnings)


def _parts(message: Message) -> tuple[list[Message], list[Message]]:
    """What is read as the text of a message, and what is attached to it.

    Of alternatives (RFC 2046, 5.1.4) the plain text is read, else the last that is text.
    """
    if message.get_content_type() == "message/rfc822":
        return [], [message]
    if not message.is_multipart():
        is_body = message.get_content_maintype() == "text" and not _is_attached(message)
        return ([message], []) if is_body else ([], [message])
    children = list(_children(message))
    if message.get_content_subtype() == "related":  # a page and its pictures (RFC 2387)
        children = [
            part
            for number, part in enumerate(children)
            if not number or part.get_content_disposition() == "attachment"
        ]
    inner = [_parts(part) for part in children]
    attached = [part for _, parts in inner for part in parts]
    bodies = [part for parts, _ in inner for part in parts]
    if message.get_content_subtype() == "alternative" and bodies:
        plain = [part for part in bodies if part.get_content_type() == "text/plain"]
        bodies = [part for part in plain if _words(part)] or bodies[-1:]
    return bodies, attached


def _children(message: Message) -> Iterable[Message]:
    parts = message.get_payload()
    return (part for part in parts if isinstance(part, Message)) if isinstance(parts, list) else ()


def _is_attached(part: Message) -> bool:
    return part.get_content_disposition() == "attachment" or bool(part.get_filename())


def _secret(part: Message, name: str) -> str | None:
    """What a part is likely to hold that must not be read, as with a file of the disk."""
    if why := secret_file(name.replace("\\", "/")):
        return why
    data = part.get_payload(decode=True)
    return "a private key" if isinstance(data, bytes) and is_private_key(data) else None


def _is_text(name: str) -> bool:
    language = language_of(name) if name else None
    return language is not None and not language.converted


def _text(part: Message, warnings: dict[str, None]) -> str:
    source, said = _decoded(part)
    warnings |= dict.fromkeys(said)
    if part.get_content_type() in ("text/html", "application/xhtml+xml"):
        text, lost = to_markdown(source)
        warnings |= dict.fromkeys(lost)
        return text
    return literal(_ESCAPED_FROM.sub(r"\1", source))


def _decoded(part: Message) -> tuple[str, tuple[str, ...]]:
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return "", ()
    try:
        text = data.decode(part.get_content_charset() or "utf-8")
    except (LookupError, UnicodeDecodeError):  # no such encoding, or not what it says
        return decode(data)
    return text.replace("\r\n", "\n").replace("\r", "\n"), ()


def _words(part: Message) -> str:
    return _decoded(part)[0].strip()


def _file_name(part: Message) -> str:
    return _decoded_header(part.get_filename() or "")


def _header(message: Message, name: str) -> str:
    raw = (value for key, value in message.raw_items() if key.lower() == name.lower())
    return _decoded_header(str(next(raw, "")))


def _decoded_header(written: str) -> str:
    """Encoded words (RFC 2047) as text; as written where they are broken or there are none."""
    if not written.isascii():  # bytes that the parser carries along as surrogates
        written = decode(written.encode("utf-8", "surrogateescape"))[0]
    try:
        return one_line(str(make_header(decode_header(written))))
    except (LookupError, ValueError):  # no such encoding, or not what it says
        return one_line(written)


def _sent(message: Message) -> datetime | None:
    """As the sender's clock showed it; None where there is no date that can be read."""
    try:
        return parsedate_to_datetime(str(message.get("Date", "")))
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def _instant(sent: datetime) -> float:
    return (sent if sent.tzinfo else sent.replace(tzinfo=timezone.utc)).timestamp()
