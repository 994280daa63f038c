"""Write the binary files of fixtures/formats: Word and PDF documents made for the tests.

Needs ``pip install python-docx fpdf2`` beside nothing else; run it from anywhere. The files are
committed, so this is needed only to change them.
"""

from __future__ import annotations

import io
import zlib
from datetime import datetime, timezone
from pathlib import Path

import docx
import fpdf
from docx.document import Document
from docx.oxml import OxmlElement
from docx.oxml.ns import qn

FORMATS = Path(__file__).resolve().parent.parent / "fixtures" / "formats"
WHEN = datetime(2026, 3, 14, tzinfo=timezone.utc)


def main() -> None:
    """Write every file."""
    _tender().save(str(FORMATS / "tender.docx"))
    _survey().output(str(FORMATS / "survey.pdf"))
    _encrypted().output(str(FORMATS / "encrypted.pdf"))


def _tender() -> Document:
    document = docx.Document()
    properties = document.core_properties
    properties.title, properties.author = "Tender for the north quay", "Ines Okafor"
    properties.created = properties.modified = WHEN
    document.add_heading("North quay", level=0)
    document.add_heading("Scope of works", level=1)
    document.add_paragraph("The contractor replaces the timber fenders and calls berth_plan().")
    document.add_paragraph("Remove the old fenders", style="List Bullet")
    document.add_paragraph("Fit rubber arch fenders", style="List Bullet")
    document.add_heading("Prices", level=2)
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "Item", "Price"
    # The repeated header row is what Word writes for a table with a heading.
    header = OxmlElement("w:tblHeader")
    header.set(qn("w:val"), "true")
    table.rows[0]._tr.get_or_add_trPr().append(header)
    cells = table.add_row().cells
    cells[0].text, cells[1].text = "Arch fender", "1,250 €"
    document.add_picture(io.BytesIO(_png()))
    return document


def _survey() -> fpdf.FPDF:
    """Two pages of text, a page that is only a picture, a blank one, and text again."""
    pdf = _pdf()
    pdf.set_title("Hydrographic survey 2026")
    pdf.add_page()
    pdf.multi_cell(0, 8, "Hydrographic survey\n\nThe multibeam sonar covered the inner basin.")
    pdf.add_page()
    pdf.multi_cell(
        0,
        8,
        "Shoaling was found beside the\nbreakwater, in a pre-\n1990 dumping site, an ob-\nstacle.",
    )
    pdf.add_page()
    pdf.image(io.BytesIO(_png()), w=80)
    pdf.add_page()
    pdf.add_page()
    pdf.multi_cell(0, 8, "Recommendation: dredge before autumn.")
    return pdf


def _encrypted() -> fpdf.FPDF:
    pdf = _pdf()
    pdf.set_encryption(owner_password="harbour", user_password="master")
    pdf.add_page()
    pdf.cell(text="Nobody reads this without the password.")
    return pdf


def _pdf() -> fpdf.FPDF:
    pdf = fpdf.FPDF()
    pdf.set_creation_date(WHEN)
    pdf.set_font("Helvetica", size=12)
    return pdf


def _png() -> bytes:
    """A grey square of 8 by 8 pixels."""

    def part(kind: bytes, data: bytes) -> bytes:
        checksum = zlib.crc32(kind + data).to_bytes(4, "big")
        return len(data).to_bytes(4, "big") + kind + data + checksum

    header = (8).to_bytes(4, "big") * 2 + bytes([8, 0, 0, 0, 0])
    pixels = zlib.compress(b"".join(b"\0" + b"\x80" * 8 for _ in range(8)))
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", header) + part(b"IDAT", pixels) + part(b"IEND", b"")


if __name__ == "__main__":
    main()
