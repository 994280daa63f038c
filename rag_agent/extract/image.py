"""Pictures of text: screenshots, scans and photos, read by OCR where tesseract is installed.

A tree of code holds thousands of icons: what is too small for text is told by its header alone.
"""

from __future__ import annotations

import io
import struct
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rag_agent.errors import ExtractError, TooLarge
from rag_agent.extract import ocr, passing
from rag_agent.extract.layout.sheet import Sheet
from rag_agent.extract.layout.writing import write
from rag_agent.extract.metadata import Properties, properties
from rag_agent.extract.ocr import OcrRules, Picture
from rag_agent.extract.registry import extractor
from rag_agent.types import Coverage, Document

if TYPE_CHECKING:
    from PIL import Image

# Numbers of Exif tags: of the camera's own directory, when it was taken and last changed.
_CAMERA, _TAKEN, _CHANGED = 0x8769, 0x9003, 0x0132
_FIELDS = {0x010E: "description", 0x013B: "author"}

NO_TEXT = "no text"
"""The reason of pictures that OCR has looked at in vain."""

# A picture of text has 300 by 100 dots at least for a line or two; icons and badges have fewer.
_LEAST_PIXELS = 60_000
_LEAST_SIDE = 80
_MOST_PIXELS = 100_000_000  # 100 MB in grey; cameras make 50
# A page at 300 dots an inch. What is larger is made smaller, and read as fast as a page.
_LONGEST_SIDE = 3_600
_SCREEN = 96.0  # dots an inch where the file does not say, or says what no scanner makes
_PLAUSIBLE = (90.0, 1_200.0)


def read_by_ocr(data: bytes, path: str, *, rules: Mapping[str, Any]) -> Document:
    """Its text, page by page where it has several (TIFF)."""
    limits = OcrRules(**rules)
    program = ocr.tesseract(limits)
    if program is None:
        raise ExtractError(path, ocr.NEEDED, ocr.ADVICE)
    with _opened(data, path) as image:
        said = _said(image)
        sheets, failures = _sheets(program, image, limits)
    return _document(path, sheets, failures, said, ocr.state(limits))


@extractor("image", isolated=True, by_ocr=read_by_ocr)
def read(data: bytes, path: str) -> Document:
    """Nothing without OCR; whether it is worth that, the size tells."""
    with _opened(data, path):
        raise ExtractError(path, ocr.NEEDED, ocr.ADVICE)


@contextmanager
def _opened(data: bytes, path: str) -> Iterator[Image.Image]:
    """The picture, of which only the header is read yet."""
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = _MOST_PIXELS // 2  # beyond twice of which Pillow refuses
    try:
        with warnings.catch_warnings(), Image.open(io.BytesIO(data)) as image:
            warnings.simplefilter("ignore")  # of what Pillow can do without
            _check_size(image, path)
            yield image
    except UnidentifiedImageError as error:
        raise ExtractError(path, "cannot be parsed", "no picture that can be read") from error
    except Image.DecompressionBombError as error:
        raise TooLarge(path, "unpacks to too much", "over 100 million pixels") from error


def _said(image: Image.Image) -> Properties:
    """What the camera or its owner wrote into the picture (Exif 3.0, 4.6)."""
    try:
        tags = image.getexif()
        taken = tags.get_ifd(_CAMERA).get(_TAKEN) or tags.get(_CHANGED) or ""
        fields = {key: tags.get(number) for number, key in _FIELDS.items()}
    except (OSError, ValueError, SyntaxError, struct.error):  # only ornament
        return Properties()
    # 2026:03:14 10:00:00
    date, _, clock = str(taken).strip("\0 ").partition(" ")
    pairs = [(key, value) for key, value in fields.items() if isinstance(value, str)]
    return properties([*pairs, ("created", f"{date.replace(':', '-')}T{clock}" if clock else "")])


def _document(
    path: str, sheets: Sequence[Sheet], failures: Sequence[str], said: Properties, engine: str
) -> Document:
    written = write(sheets, {}, {})
    pages = sum(bool(page.runs) for page in sheets)
    failed = len(failures)
    if not pages and failed:
        raise ExtractError(path, passing.OCR, f"{ocr.LATER}: {failures[0]}")
    if not pages:
        raise ExtractError(path, NO_TEXT, "OCR finds none in this picture")
    return Document(
        path=path,
        kind="prose",
        text=written.text,
        language="image",
        **said.fields(),
        pages=written.pages if len(sheets) > 1 else (),
        converted=True,
        warnings=(f"OCR failed on {failed} of {len(sheets)} pages, {ocr.LATER}: {failures[0]}",)
        if failed
        else (),
        unembedded=written.unembedded,
        coverage=Coverage(ocr=pages, without=len(sheets) - pages, engine=engine, failed=failed),
    )


def _check_size(image: Image.Image, path: str) -> None:
    width, height = image.size
    if width * height < _LEAST_PIXELS or min(width, height) < _LEAST_SIDE:
        raise ExtractError(path, "small picture", f"{width} by {height} pixels hold no text")
    if width * height > _MOST_PIXELS:
        raise TooLarge(path, "unpacks to too much", f"{width:,} by {height:,} pixels")


def _sheets(
    program: ocr.Tesseract, image: Image.Image, rules: OcrRules
) -> tuple[list[Sheet], list[str]]:
    """Each page, without words where there are none, and a cause for each where OCR failed."""
    from PIL import ImageSequence

    # The frames of an animation show the same; the pages of a TIFF do not.
    frames = ImageSequence.Iterator(image) if image.format == "TIFF" else [image]
    deadline = time.monotonic() + rules.seconds
    sheets: list[Sheet] = []
    failures: list[str] = []
    for number, frame in enumerate(frames):
        sheet = Sheet((), (), 0.0, 0.0)
        left = deadline - time.monotonic()
        if number < rules.pages and left <= 0:
            failures.append(f"over {rules.seconds:g} s for the file")
        elif number < rules.pages:
            try:
                sheet = program.read(_picture(frame), min(left, ocr.PAGE_SECONDS))
            except ocr.OcrFailed as failure:
                failures.append(str(failure))  # this page; others may be read
        sheets.append(sheet)
    return sheets, failures


def _picture(frame: Image.Image) -> Picture:
    """Grey, upright as the camera was held, on white where it is transparent."""
    from PIL import Image, ImageOps

    dpi = float(frame.info.get("dpi", (_SCREEN,))[0])
    if not _PLAUSIBLE[0] <= dpi <= _PLAUSIBLE[1]:
        dpi = _SCREEN
    upright = ImageOps.exif_transpose(frame)
    if upright.has_transparency_data:
        colours = upright.convert("RGBA")
        paper = Image.new("RGBA", colours.size, "white")
        upright = Image.alpha_composite(paper, colours)
    grey = upright.convert("L")
    longest = max(grey.size)
    # Letters on a screen are ten dots high, half of what tesseract reads well.
    factor = min(_LONGEST_SIDE / longest, 2.0 if dpi < 150 and longest < 2_000 else 1.0)
    if factor != 1.0:
        width, height = (max(1, round(side * factor)) for side in grey.size)
        grey = grey.resize((width, height), Image.Resampling.LANCZOS)
    return Picture(*grey.size, grey.tobytes(), dpi * factor)
