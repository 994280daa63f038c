"""Zip-based formats: what may be unpacked, checked before anything is; old and locked files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import NoReturn

from rag_agent.errors import ExtractError, TooLarge, UnsupportedFormat

UNPACKED = 512 * 1024**2
"""Bytes that a document may declare for all its parts together."""
ENCRYPTED = "encrypted"
"""The reason that every format gives for a file under a password."""
WITHOUT_PASSWORD = "it needs a password; save a copy without one"
# Compound File Binary header ([MS-CFB] 2.2): old Office files, and new ones under a password.
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_WORD = ("old Word format", "save it as .docx")
_EXCEL = ("old Excel format", "save it as .xlsx")
_POWERPOINT = ("old PowerPoint format", "save it as .pptx")
_OUTLOOK = ("Outlook message", "save it as .eml")
# First the file's name, then names of streams, since files lie inside of others: [MS-DOC] 2.1,
# [MS-PPT] 2.1, [MS-XLS] 2.1, [MS-OXMSG] 2.2.
_BY_EXTENSION = {
    "doc": _WORD,
    "dot": _WORD,
    "xls": _EXCEL,
    "xlt": _EXCEL,
    "ppt": _POWERPOINT,
    "pps": _POWERPOINT,
    "pot": _POWERPOINT,
}
_BY_STREAM = {
    "__substg1.0_": _OUTLOOK,
    "PowerPoint Document": _POWERPOINT,
    "WordDocument": _WORD,
    "Workbook": _EXCEL,
    "Book": _EXCEL,
}
_ENCRYPTED_PACKAGE = "EncryptedPackage"  # [MS-OFFCRYPTO] 2.3.4.4
_FLAG_ENCRYPTED = 0x1  # general purpose bit 0 (APPNOTE 4.4.4)


def open_archive(data: bytes, path: str, required: str, limit: int = UNPACKED) -> zipfile.ZipFile:
    """The archive, which declares at most ``limit`` bytes and has the part ``required``.

    ``required`` may also be the beginning of a name: Office numbers its parts at times
    (``word/document2.xml``). Declared sizes are enough: ``zipfile`` never unpacks more of a part
    than it declares.

    Raises:
        TooLarge: the parts declare more than the limit.
        UnsupportedFormat: a file of an Office from before 2007.
        ExtractError: not such an archive, or under a password.
    """
    if is_compound(data):
        refuse_compound(data, path)
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        parts = archive.infolist()
    except zipfile.BadZipFile as error:
        raise ExtractError(path, "cannot be parsed", f"not a zip archive: {error}") from error
    declared = sum(part.file_size for part in parts)
    if declared > limit:
        megabytes = f"{declared // 1024**2:,} MB, more than {limit // 1024**2:,}"
        raise TooLarge(path, "unpacks to too much", megabytes)
    if not any(part.filename.startswith(required) for part in parts):
        raise ExtractError(path, "cannot be parsed", f"the archive has no {required}")
    if any(part.flag_bits & _FLAG_ENCRYPTED for part in parts):
        raise ExtractError(path, ENCRYPTED, WITHOUT_PASSWORD)
    return archive


def is_compound(data: bytes) -> bool:
    """Whether this is a compound file, which old Office programs write."""
    return data.startswith(_COMPOUND)


def refuse_compound(data: bytes, path: str) -> NoReturn:
    """Say what a compound file is, by its name and the names of the streams in it, and what to do.

    Raises:
        UnsupportedFormat: an old format.
        ExtractError: a document under a password, or nothing that is known.
    """
    lower = data.lower()  # some programs write the names in capitals

    def has(stream: str) -> bool:
        return stream.lower().encode("utf-16-le") in lower

    if has(_ENCRYPTED_PACKAGE):
        raise ExtractError(path, ENCRYPTED, WITHOUT_PASSWORD)
    by_stream = (old for stream, old in _BY_STREAM.items() if has(stream))
    refuse_old(path, next(by_stream, None))


def refuse_old(path: str, otherwise: tuple[str, str] | None = None) -> NoReturn:
    """Say by the file's name which old format it has; ``otherwise`` is (reason, what to do)."""
    old = _BY_EXTENSION.get(path.rpartition(".")[2].lower(), otherwise)
    if old:
        raise UnsupportedFormat(path, *old)
    raise ExtractError(
        path, "encrypted or old format", "save it without a password, as a current format"
    )


def repacked(archive: zipfile.ZipFile, change: Callable[[bytes], bytes]) -> bytes:
    """The archive with every part of XML as ``change`` makes it, not compressed."""
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w") as target:
        for part in archive.infolist():
            data = archive.read(part)
            is_xml = part.filename.endswith((".xml", ".rels"))
            target.writestr(part.filename, change(data) if is_xml else data)
    return result.getvalue()
