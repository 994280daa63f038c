"""The XML of Word documents, put so that mammoth reads all of it, and large ones in time."""

from __future__ import annotations

import io
import re
import zipfile

from rag_agent.extract.archive import repacked

_Changes = tuple[tuple[re.Pattern[bytes], bytes], ...]
# Elements that mammoth drops with all that is in them: formulas (ECMA-376 part 1, 22.1), ruby
# (17.3.3.25), fields, text moved to its place, writing directions; by the prefixes of Word.
_UNKNOWN = re.compile(rb"<m:oMath\b|<w:(?:ruby|fldSimple|moveTo|customXml|dir|bdo)\b")
_KNOWN_INSTEAD: _Changes = (
    (re.compile(rb"<m:(\w*Pr)\b[^>]*(?:/>|>.*?</m:\1>)", re.DOTALL), b""),
    (re.compile(rb"<w:ruby(Pr)>.*?</w:rubyPr>|<w:rt>.*?</w:rt>", re.DOTALL), b""),
    (re.compile(rb"<(/?)m:(r|t)\b"), rb"<\1w:\2"),
    (
        re.compile(
            rb"<(/?)(?:m:\w+|w:(?:ruby|rubyBase|fldSimple|moveTo|customXml|dir|bdo))\b[^>]*?(/?)>"
        ),
        rb"<\1w:smartTag\2>",
    ),
)
# From here on mammoth's trees of Python objects take seconds: 12 MB of XML took it 17 s and 690 MB,
# most of them for fonts, sizes, colours and borders, which say nothing to it or to us.
_LARGE = 1_000_000
_LOOKS: _Changes = (
    (
        re.compile(
            rb"<w:(?:sz|szCs|rFonts|color|shd|lang|bCs|iCs|kern|noProof|proofErr|spacing|jc|ind"
            rb"|adjustRightInd|autoSpaceDE|autoSpaceDN|widowControl|suppressAutoHyphens|keepNext"
            rb"|keepLines|contextualSpacing|snapToGrid|tcW|top|left|bottom|right|insideH|insideV"
            rb"|vAlign|hideMark|noWrap|trHeight|cantSplit|lastRenderedPageBreak)\b[^>]*/>"
        ),
        b"",
    ),
    (re.compile(rb' (?:w:rsid\w*|w14:\w+)="[^"]*"'), b""),
)


def readable(archive: zipfile.ZipFile, data: bytes) -> io.BytesIO:
    """The document itself, or a twin with the same words in elements that mammoth knows."""
    parts = [part for part in archive.infolist() if part.filename.startswith("word/document")]
    changes: _Changes = (
        _KNOWN_INSTEAD if any(_UNKNOWN.search(archive.read(part)) for part in parts) else ()
    )
    if any(part.file_size > _LARGE for part in parts):
        changes += _LOOKS
    if not changes:
        return io.BytesIO(data)

    def change(part: bytes) -> bytes:
        for pattern, replacement in changes:
            part = pattern.sub(replacement, part)
        return part

    return io.BytesIO(repacked(archive, change))
