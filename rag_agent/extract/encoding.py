"""Bytes → text, with a warning for everything that was guessed or lost."""

from __future__ import annotations

import codecs
import re
import unicodedata

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 65_536  # bytes that decide about an encoding; more costs time and changes nothing
_NEWLINE = re.compile("\r\n?")
_ASCII = re.compile("[\0-\x7f]+")
# What a file says of itself: <meta charset=…>, <?xml encoding=…?>, # -*- coding: … -*-
_DECLARED = re.compile(rb"(?:charset|coding)\s*[=:]\s*[\"']?\s*([A-Za-z][-\w.]+)")
_DECLARED_WITHIN = 1024  # bytes, as browsers look for a charset (WHATWG HTML, prescan)
# The encodings that text files are found in, the likeliest first: that decides where several fit
# equally well. Left to itself, charset-normalizer names exotic ones for short files.
_CANDIDATES = [
    "cp1252", "euc_jp", "cp949", "cp932", "gb18030", "big5", "cp1251", "koi8_r", "cp1250",
    "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp874", "iso2022_jp", "cp850", "mac_roman",
]  # fmt: skip


def decode(data: bytes) -> tuple[str, tuple[str, ...]]:
    """The text with line feeds as its only line ends, and sentences on what was not certain.

    In this order: byte order mark, UTF-16 without one (by its NULs), UTF-8, the encoding that the
    file declares, charset-normalizer. Bytes that fit nothing become U+FFFD and are counted in a
    warning. Form feeds and Unicode's line separators stay inside their lines, as in an editor.
    """
    text, warnings = _decode(data)
    nuls = text.count("\0")
    if nuls:
        text = text.replace("\0", "\ufffd")
        warnings += (f"{nuls} NUL characters replaced",)
    return _NEWLINE.sub("\n", text), warnings


def _decode(data: bytes) -> tuple[str, tuple[str, ...]]:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _replacing(data[len(mark) :], encoding)
    if b"\0" in data:
        wide = _utf16_without_mark(data)
        if wide:
            text, warnings = _replacing(data, wide)
            return text, (f"read as {wide}, although it has no byte order mark", *warnings)
    try:
        return data.decode("utf-8"), ()
    except UnicodeDecodeError:
        return _not_utf8(data)


def _replacing(data: bytes, encoding: str) -> tuple[str, tuple[str, ...]]:
    """Decode, putting U+FFFD for what does not fit and saying how often."""
    text = data.decode(encoding, "replace")
    written = "\ufffd".encode(encoding, "ignore")  # a file may hold the character itself
    lost = text.count("\ufffd") - (data.count(written) if written else 0)
    if lost <= 0:
        return text, ()
    return text, (f"{lost} places that are not valid {encoding} replaced by \ufffd",)


def _utf16_without_mark(data: bytes) -> str | None:
    """The byte order of UTF-16 text without a mark, or None if this does not look like UTF-16."""
    sample = data[: _SAMPLE & ~1]
    if len(sample) % 2:
        return None
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    half = len(sample) / 2
    # Western text: nearly every second byte is NUL, the others hardly ever.
    if odd > 0.7 * half and even < 0.05 * half:
        return "utf-16-le"
    if even > 0.7 * half and odd < 0.05 * half:
        return "utf-16-be"
    # Other scripts have NULs only beside spaces and line ends: ask which reading is text at all.
    readings = [name for name in ("utf-16-le", "utf-16-be") if _is_text(sample, name)]
    return readings[0] if len(readings) == 1 else None


def _is_text(sample: bytes, encoding: str) -> bool:
    """Whether the sample decodes to assigned characters among which are spaces or line ends."""
    try:
        text = codecs.getincrementaldecoder(encoding)("strict").decode(sample)
    except UnicodeDecodeError:
        return False
    blanks = sum(map(text.count, " \n\u3000"))
    odd_ones = {"Cc", "Cn", "Co", "Cs"}
    return blanks > 0 and not any(
        unicodedata.category(character) in odd_ones and character not in "\t\n\r\f\v\ufeff"
        for character in text
    )


def _not_utf8(data: bytes) -> tuple[str, tuple[str, ...]]:
    text, warnings = _replacing(data, "utf-8")
    # UTF-8 with a few broken bytes: sequences of several bytes hardly ever fit by chance.
    foreign = _ASCII.sub("", text)
    if foreign.count("\ufffd") * 2 < len(foreign):
        return text, warnings
    for encoding in (_declared(data), _detected(data)):
        if encoding:
            text, warnings = _replacing(data, encoding)
            return text, (f"read as {encoding}, because it is not UTF-8", *warnings)
    return text, warnings


def _declared(data: bytes) -> str | None:
    match = _DECLARED.search(data[:_DECLARED_WITHIN])
    if not match:
        return None
    encoding = match[1].decode("ascii")
    try:
        # Read as ASCII, it must read the same in what it declares: files of programs that hold
        # their text as UTF-16 say so although they are written in another.
        if match[0].decode(encoding) != match[0].decode("ascii"):
            return None
        data.decode(encoding)
    except (LookupError, ValueError):  # unknown, not a text encoding, or not true
        return None
    return encoding.lower()


def _detected(data: bytes) -> str | None:
    """What charset-normalizer says of the lines that are not ASCII, or None."""
    from charset_normalizer import from_bytes

    lines: list[bytes] = []
    size = 0
    for line in data.split(b"\n"):
        if line.isascii():
            continue
        lines.append(line[: _SAMPLE - size])
        size += len(lines[-1])
        if size >= _SAMPLE:
            break
    matches = from_bytes(b"\n".join(lines), cp_isolation=_CANDIDATES)
    ranked = [
        (match.chaos, -match.coherence, _CANDIDATES.index(encoding))
        for match in matches
        for encoding in match.could_be_from_charset  # those that give the same text
        if encoding in _CANDIDATES
    ]
    return _CANDIDATES[min(ranked)[2]] if ranked else None
