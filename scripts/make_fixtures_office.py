"""Write the office files, books and mails of fixtures/formats, by the usual programs and libraries.

Needs ``pip install python-pptx openpyxl msoffcrypto-tool`` and LibreOffice (``soffice`` of
libreoffice-writer, -calc and -impress); run it from anywhere. The files are committed, so this is
needed only to change them.
"""

from __future__ import annotations

import mailbox
import subprocess
import zipfile
from datetime import datetime, timezone
from email.message import EmailMessage
from pathlib import Path

import msoffcrypto.format.ooxml
import openpyxl
import pptx
from openpyxl.comments import Comment
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

FORMATS = Path(__file__).resolve().parent.parent / "fixtures" / "formats"
WHEN = datetime(2026, 3, 14, 9, 30, tzinfo=timezone.utc)


def main() -> None:
    """Write every file."""
    order = FORMATS / "order.fodt"  # beside the others, as relative links are rewritten
    order.write_text(_ORDER, encoding="utf-8")
    for kind in ("odt", "docx", "rtf"):
        _convert(order, kind)
    _convert(order, "doc")
    rtf = FORMATS / "order.rtf"  # where links are absolute
    rtf.write_bytes(rtf.read_bytes().replace(f"{FORMATS.as_uri()}/".encode(), b""))
    _berthing().save(FORMATS / "berthing.xlsx")
    _convert(FORMATS / "berthing.xlsx", "ods")
    _briefing().save(str(FORMATS / "briefing.pptx"))
    _convert(FORMATS / "briefing.pptx", "odp")
    # The same slides, as LibreOffice writes them.
    regatta = FORMATS / "regatta.odp"
    regatta.write_bytes((FORMATS / "briefing.odp").read_bytes())
    _convert(regatta, "pptx")
    regatta.unlink()
    _lock(FORMATS / "berthing.xlsx", FORMATS / "locked.xlsx")
    _almanac(FORMATS / "almanac.epub")
    (FORMATS / "notice.eml").write_bytes(_notice().as_bytes())
    _watch(FORMATS / "watch.mbox")


def _convert(source: Path, kind: str) -> None:
    command = ["soffice", "--headless", "--convert-to", kind, "--outdir", str(FORMATS), str(source)]
    subprocess.run(command, check=True, capture_output=True)


_ORDER = """<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"
 xmlns:meta="urn:oasis:names:tc:opendocument:xmlns:meta:1.0"
 xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/"
 office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.text">
<office:meta>
 <dc:title>Pilotage order 2026</dc:title>
 <dc:subject>Pilotage</dc:subject>
 <dc:description>Who must take a pilot, and where.</dc:description>
 <meta:keyword>pilots</meta:keyword><meta:keyword>safety</meta:keyword>
 <meta:initial-creator>Ines Okafor</meta:initial-creator>
 <meta:creation-date>2026-03-14T09:30:00</meta:creation-date>
 <dc:language>en-GB</dc:language>
</office:meta>
<office:styles>
 <style:style style:name="Title" style:family="paragraph"/>
 <style:style style:name="Heading_20_1" style:display-name="Heading 1" style:family="paragraph"
  style:default-outline-level="1"/>
 <style:style style:name="Heading_20_2" style:display-name="Heading 2" style:family="paragraph"
  style:default-outline-level="2"/>
</office:styles>
<office:body><office:text>
<text:tracked-changes><text:changed-region text:id="ct1"><text:deletion>
 <office:change-info><dc:creator>Ines</dc:creator><dc:date>2026-03-10T00:00:00</dc:date>
 </office:change-info><text:p>The struck sentence about dolphins.</text:p>
</text:deletion></text:changed-region></text:tracked-changes>
<text:p text:style-name="Title">Pilotage order</text:p>
<text:h text:style-name="Heading_20_1" text:outline-level="1">Compulsory area</text:h>
<text:p>A vessel of more than 80 m takes a pilot at the outer roads<text:note
 text:note-class="footnote"><text:note-citation>1</text:note-citation><text:note-body>
 <text:p>Äußere Reede in the German edition of the chart.</text:p></text:note-body></text:note>.
 The pilot is ordered with order_pilot()<office:annotation><dc:creator>Jan</dc:creator>
 <dc:date>2026-03-11T00:00:00</dc:date><text:p>Ask the radio room about this.</text:p>
 </office:annotation> six hours before<text:note text:note-class="endnote">
 <text:note-citation>i</text:note-citation><text:note-body>
 <text:p>Four hours for ferries in regular service.</text:p></text:note-body></text:note>.</text:p>
<text:list><text:list-item><text:p>Tankers, whatever their length</text:p>
 <text:list><text:list-item><text:p>also in ballast</text:p></text:list-item></text:list>
 </text:list-item><text:list-item><text:p>Vessels under tow</text:p></text:list-item></text:list>
<text:h text:style-name="Heading_20_2" text:outline-level="2">Rates</text:h>
<text:p>See the <text:a xlink:type="simple" xlink:href="tariff.html">tariff</text:a>.</text:p>
<table:table table:name="Rates"><table:table-column table:number-columns-repeated="2"/>
<table:table-header-rows><table:table-row><table:table-cell><text:p>Draught</text:p>
</table:table-cell><table:table-cell><text:p>Fee</text:p></table:table-cell></table:table-row>
</table:table-header-rows>
<table:table-row><table:table-cell><text:p>to 6 m</text:p></table:table-cell>
<table:table-cell><text:p>410 €</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell><text:p>over 6 m</text:p></table:table-cell>
<table:table-cell><text:p>575 €</text:p></table:table-cell></table:table-row></table:table>
<text:p>Fees are due on the last day of the month.</text:p>
</office:text></office:body></office:document>
"""


def _berthing() -> openpyxl.Workbook:
    book = openpyxl.Workbook()
    properties = book.properties
    properties.title, properties.creator = "Berthing plan", "Jan Brouwer"
    properties.keywords, properties.created = "berths, ferries", WHEN.replace(tzinfo=None)
    sheet = book.active
    sheet.title = "Arrivals"
    sheet["A1"] = "Arrivals of the week"
    for row in (
        ("Vessel", "Berth", "Arrives", "Draught m", "Shore power"),
        ("Marlin", "A1", datetime(2026, 3, 16, 6, 15), 4.2, True),
        ("Sea | Swift", "B2", datetime(2026, 3, 17), 0.1 + 0.2, False),
    ):
        sheet.append(row)
    sheet["B3"].comment = Comment("Keep the bow line short.", "Jan Brouwer")
    log = book.create_sheet("Dredger log")
    log.append(("Hour", "Load t", "Spoil ground"))
    for hour in range(200):
        log.append((hour, 150 + hour % 7, f"cell {hour % 5} of the western ground"))
    book.create_sheet("Empty")
    return book


def _briefing() -> pptx.Presentation:
    slides = pptx.Presentation()
    properties = slides.core_properties
    properties.title, properties.author = "Storm briefing", "Ines Okafor; Jan Brouwer"
    properties.created, properties.keywords = WHEN.replace(tzinfo=None), "storm; moorings"
    properties.comments = "What to do before the wind comes."
    first = slides.slides.add_slide(slides.slide_layouts[1])
    first.shapes.title.text = "Before the storm"
    body = first.placeholders[1].text_frame
    body.text = "Double the mooring lines"
    deeper = body.add_paragraph()
    deeper.text, deeper.level = "spring lines as well", 1
    first.notes_slide.notes_text_frame.text = "Mention the broken bollard at quay seven."
    second = slides.slides.add_slide(slides.slide_layouts[5])
    second.shapes.title.text = "Wind limits"
    table = second.shapes.add_table(2, 2, Inches(1), Inches(2), Inches(6), Inches(1)).table
    for place, text in (
        ((0, 0), "Crane"),
        ((0, 1), "Limit"),
        ((1, 0), "STS 4"),
        ((1, 1), "22 m/s"),
    ):
        table.cell(*place).text = text
    box = second.shapes.add_textbox(Inches(1), Inches(4), Inches(6), Inches(1))
    box.text_frame.text = "Gusts count, not the mean. See the "
    run = box.text_frame.paragraphs[0].add_run()
    run.text, run.hyperlink.address = "crane manual", "https://cranes.example/manual"
    third = slides.slides.add_slide(slides.slide_layouts[6])
    data = CategoryChartData()
    data.categories = ["January", "February"]
    data.add_series("Gales", (7, 4))
    third.shapes.add_chart(
        XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(1), Inches(6), Inches(4), data
    )
    return slides


def _lock(source: Path, target: Path) -> None:
    with source.open("rb") as plain, target.open("wb") as locked:
        msoffcrypto.format.ooxml.OOXMLFile(plain).encrypt("harbour", locked)


_PAGE = """<?xml version="1.0" encoding="utf-8"?>
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>{title}</title></head>
<body>{body}</body></html>
"""
_PACKAGE = """<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">urn:uuid:2c9fd1a4-0000-4000-8000-000000000001</dc:identifier>
<dc:title>The harbour almanac</dc:title><dc:creator>Ines Okafor</dc:creator>
<dc:creator>Jan Brouwer</dc:creator><dc:language>en</dc:language>
<dc:publisher>North Quay Press</dc:publisher><dc:date>2026-03-14</dc:date>
<dc:subject>tides</dc:subject><dc:subject>almanac</dc:subject>
<meta property="dcterms:modified">2026-03-14T09:30:00Z</meta></metadata>
<manifest>
<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>
<item id="b" href="text/spring%20tides.xhtml" media-type="application/xhtml+xml"/>
<item id="a" href="text/moon.xhtml" media-type="application/xhtml+xml"/>
</manifest>
<spine toc="ncx"><itemref idref="nav"/><itemref idref="a"/><itemref idref="b"/></spine>
</package>
"""
_CONTENTS = """<?xml version="1.0" encoding="utf-8"?>
<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/" version="2005-1"><navMap>
<navPoint id="p1"><navLabel><text>The moon</text></navLabel>
<content src="text/moon.xhtml"/></navPoint>
<navPoint id="p2"><navLabel><text>Spring tides</text></navLabel>
<content src="text/spring%20tides.xhtml"/></navPoint></navMap></ncx>
"""
_CONTAINER = """<?xml version="1.0"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/>
</rootfiles></container>
"""


def _almanac(target: Path) -> None:
    moon = "<p>The moon pulls twice. See <a href='spring%20tides.xhtml#neap'>spring tides</a>.</p>"
    tides = "<h1>Spring tides</h1><p>Two days after the full moon.</p><h2 id='neap'>Neaps</h2>"
    tides += "<table><tr><th>Port</th><th>Age</th></tr><tr><td>Brest</td><td>36 h</td></tr></table>"
    nav = "<nav><h1>Contents</h1><ol><li><a href='text/moon.xhtml'>The moon</a></li></ol></nav>"
    parts = {
        "META-INF/container.xml": _CONTAINER,
        "OEBPS/book.opf": _PACKAGE,
        "OEBPS/toc.ncx": _CONTENTS,
        "OEBPS/nav.xhtml": _PAGE.format(title="Contents", body=nav),
        "OEBPS/text/moon.xhtml": _PAGE.format(title="Moon page", body=moon),
        "OEBPS/text/spring tides.xhtml": _PAGE.format(title="Spring", body=tides),
    }
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        for name, text in parts.items():
            archive.writestr(name, text)


def _notice() -> EmailMessage:
    """Text and HTML that say the same, a text file, a picture, and a forwarded message."""
    mail = EmailMessage()
    mail["Subject"] = "Lock closed for repairs: Schleuse außer Betrieb"
    mail["From"] = "Hafenamt Süd <office@harbour.example>"
    mail["To"] = "Ines Okafor <ines@harbour.example>, jan@harbour.example"
    mail["Date"] = "Sat, 14 Mar 2026 23:30:00 -0500"
    mail["Message-ID"] = "<1@harbour.example>"
    mail["Keywords"] = "lock, repairs"
    mail.set_content(
        "The lock stays closed until the sluice gear is mended.\n\n# This line is no heading\n"
        "Größere Schiffe warten auf der Reede.\n"
    )
    mail.add_alternative("<p>The HTML twin of the same <b>text</b>.</p>", subtype="html")
    mail.add_attachment("gate,hours\nupper,12\n", subtype="csv", filename="repair hours.csv")
    mail.add_attachment(b"\x89PNG not shown", "image", "png", filename="gate.png")
    inner = EmailMessage()
    inner["Subject"] = "Sluice gear inspection"
    inner["From"] = "diver@harbour.example"
    inner.set_content("Three teeth of the pinion are gone.\n")
    mail.add_attachment(inner)
    mail.set_boundary("quay")
    return mail


def _watch(target: Path) -> None:
    target.unlink(missing_ok=True)
    box = mailbox.mbox(target)
    for number, (subject, text) in enumerate(
        (
            ("First watch", "Fog at midnight.\n\nFrom the pier one sees nothing.\n"),
            (
                "=?iso-8859-1?Q?Hundewache_gr=FCn?=",
                "Green flare at 02:10, no vessel in distress.\n",
            ),
        ),
        start=1,
    ):
        message = mailbox.mboxMessage()
        message.set_from("watch@harbour.example", WHEN.timetuple())
        message["Subject"] = subject
        message["From"] = "watch@harbour.example"
        message["Date"] = f"Sat, 14 Mar 2026 0{number}:00:00 +0000"
        message.set_payload(text)
        box.add(message)
    box.close()


if __name__ == "__main__":
    main()
