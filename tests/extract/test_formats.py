"""One table: what is found in each file of fixtures/formats. A new format is a file and a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rag_agent.extract import extract
from rag_agent.extract.languages import LANGUAGES
from rag_agent.types import Kind, Link

FORMATS = Path(__file__).parents[2] / "fixtures" / "formats"


@dataclass(frozen=True)
class Row:
    file: str
    kind: Kind
    language: str
    must_include: tuple[str, ...]
    must_not_include: tuple[str, ...] = ()
    title: str = ""
    converted: bool = False
    warnings: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    date: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)  # these, among others
    links: tuple[Link, ...] = ()


def _converted(file: str, language: str, title: str, *must_include: str, **more: Any) -> Row:
    return Row(file, "prose", language, must_include, title=title, converted=True, **more)


def _code(file: str, language: str, *must_include: str) -> Row:
    return Row(file, "code", language, must_include)


def _data(file: str, language: str, *must_include: str) -> Row:
    return Row(file, "data", language, must_include)


def _prose(file: str, language: str, title: str, *must_include: str, **more: Any) -> Row:
    return Row(file, "prose", language, must_include, title=title, **more)


ROWS = (
    # Made into text by their own modules.
    Row(
        "analysis.ipynb",
        "prose",
        "notebook",
        (
            "# Tide residuals\n",
            "```python\nresidual = observed - predicted\n",
            "```output\nsurge peak at 03:40\n```",
            "0.83",
            "KeyError: 'gauge'",
            "raw cell about barometers",
        ),
        ("iVBORw0KGgo", "\x1b", "nbformat", "Traceback"),
        title="Tide residuals",
        converted=True,
        links=(Link("data/tides.csv", 3),),
    ),
    Row(
        "page.html",
        "prose",
        "html",
        (
            "# Berths for visitors\n",
            "`assign_berth()`",
            "and the rules.",
            "| 10 m | 21 € |",
            "```python\nberth = assign_berth(length=10)\n```",
        ),
        ("navigation bar", "navy", "next chapter", "tracker", "teal", "<p>", "¶", "#rules"),
        title="Visitor berths",
        converted=True,
        links=(Link("fees.html", 3),),
    ),
    Row(
        "tender.docx",
        "prose",
        "docx",
        (
            "# Scope of works\n",
            "berth_plan()",
            "- Fit rubber arch fenders\n",
            "| Item | Price |\n| --- | --- |\n| Arch fender | 1,250 € |",
        ),
        ("<", "data:image"),
        title="Tender for the north quay",
        converted=True,
        date="2026-03-14",
        metadata={"author": "Ines Okafor"},
    ),
    Row(
        "survey.pdf",
        "prose",
        "pdf",
        (
            "multibeam sonar",
            "Shoaling was found",
            "pre-1990",
            "an obstacle.",
            "dredge before autumn",
        ),
        ("\r", "\f", "\x02"),
        title="Hydrographic survey 2026",
        converted=True,
        date="2026-03-14",
        metadata={"created": "2026-03-14T00:00:00Z"},
        warnings=(
            "1 of 5 pages have no text (scanned; needs OCR: install tesseract, then index again)",
        ),
    ),
    _converted(
        "order.docx",
        "docx",
        "Pilotage order 2026",
        "# Pilotage order\n",
        "\n# Compulsory area\n",
        "order_pilot()",
        "- Tankers, whatever their length\n  - also in ballast\n- Vessels under tow\n",
        "\n## Rates\n",
        "| Draught | Fee |\n| --- | --- |\n| to 6 m | 410 € |\n| over 6 m | 575 € |\n",
        "Äußere Reede in the German",  # a footnote
        "Four hours for ferries",  # an endnote
        "Ask the radio room",  # a comment
        must_not_include=("dolphins", "<"),
        date="2026-03-14",
        tags=("pilots safety",),  # as LibreOffice joins them
        metadata={"author": "Ines Okafor", "subject": "Pilotage", "language": "en-GB"},
        links=(Link("tariff.html", 13),),
    ),
    *(
        _converted(
            file,
            "odt",
            "Pilotage order 2026",
            "# Pilotage order\n\n# Compulsory area\n",
            "order_pilot()",
            "- Tankers, whatever their length\n\n  - also in ballast\n- Vessels under tow\n",
            "\n## Rates\n",
            "| Draught | Fee |\n| --- | --- |\n| to 6 m | 410 € |\n| over 6 m | 575 € |\n",
            "# Notes\n\n- Äußere Reede in the German edition of the chart.\n- Four hours",
            "# Comments\n\n- Ask the radio room",
            must_not_include=("dolphins", "Jan", "<"),
            date="2026-03-14",
            tags=("pilots", "safety"),
            metadata={
                "author": "Ines Okafor",
                "created": "2026-03-14T09:30:00",
                "description": "Who must take a pilot, and where.",
            },
            links=(Link("tariff.html", line),),
        )
        for file, line in (("order.odt", 14), ("order.fodt", 15))
    ),
    _converted(
        "order.rtf",
        "rtf",
        "Pilotage order 2026",
        "# Compulsory area\n",
        "order_pilot()",
        "- Tankers, whatever their length\n- also in ballast\n- Vessels under tow\n",
        "\n## Rates\n",
        "| Draught | Fee |\n| --- | --- |\n| to 6 m | 410 € |\n| over 6 m | 575 € |\n",
        "# Notes\n\nÄußere Reede in the German edition of the chart.\n\nFour hours",
        "# Comments\n\nAsk the radio room",
        must_not_include=("dolphins", "\\", "{", "Liberation", "HYPERLINK", "\ue000"),
        date="2026-03-14",
        tags=("pilots", "safety"),
        metadata={"author": "Ines Okafor", "created": "2026-03-14T09:30:00"},
    ),
    _converted(
        "berthing.xlsx",
        "xlsx",
        "Berthing plan",
        "# Arrivals\n\nArrivals of the week\n\n| Vessel | Berth | Arrives | Draught m | Shore",
        "| Marlin | A1 | 2026-03-16 06:15:00 | 4.2 | TRUE |",
        "| Sea \\| Swift | B2 | 2026-03-17 | 0.3 | FALSE |",
        "# Dredger log\n\n| Hour | Load t | Spoil ground |",
        "| 199 | 153 | cell 4 of the western ground |",
        "# Comments\n\nB3: Keep the bow line short.",
        must_not_include=("# Empty", "None", "0.30000"),
        date="2026-03-14",
        tags=("berths", "ferries"),
        metadata={"author": "Jan Brouwer"},
    ),
    _converted(
        "berthing.ods",
        "ods",
        "Berthing plan",
        "# Arrivals\n\nArrivals of the week\n\n| Vessel | Berth | Arrives | Draught m | Shore",
        "| Marlin | A1 (Keep the bow line short.) | 2026-03-16 6:15:00 | 4.2 | TRUE |",
        "| Sea \\| Swift | B2 |",
        "# Dredger log\n\n| Hour | Load t | Spoil ground |",
        "| 199 | 153 | cell 4 of the western ground |",
        must_not_include=("# Empty", "Jan Brouwer"),
        date="2026-03-14",
        tags=("berths", "ferries"),
        metadata={"author": "Jan Brouwer"},
    ),
    *(
        _converted(
            file,
            language,
            "Storm briefing",
            "# Before the storm\n\n- Double the mooring lines\n",
            "- spring lines as well",
            "Notes: Mention the broken bollard at quay seven.",
            "# Wind limits\n",
            "| Crane | Limit |\n| --- | --- |\n| STS 4 | 22 m/s |",
            "Gusts count, not the mean. See the [crane manual](https://cranes.example/manual)",
            "# Slide 3",
            "| January | 7 |\n| February | 4 |",  # a chart
            must_not_include=("Notes:\n",),
            date="2026-03-14",
            tags=tags,
            metadata={
                "author": "Ines Okafor; Jan Brouwer",
                "description": "What to do before the wind comes.",
            },
        )
        for file, language, tags in (
            ("briefing.pptx", "pptx", ("storm", "moorings")),
            ("regatta.pptx", "pptx", ("storm moorings",)),  # as LibreOffice joins them
            ("briefing.odp", "odp", ("storm", "moorings")),
        )
    ),
    _converted(
        "almanac.epub",
        "epub",
        "The harbour almanac",
        "# The moon\n\nThe moon pulls twice. See spring tides.\n\n# Spring tides\n",
        "## Neaps\n",
        "| Port | Age |\n| --- | --- |\n| Brest | 36 h |",
        must_not_include=("Contents", "Moon page", "xml", "<"),
        date="2026-03-14",
        tags=("tides", "almanac"),
        metadata={
            "author": "Ines Okafor; Jan Brouwer",
            "publisher": "North Quay Press",
            "language": "en",
            "modified": "2026-03-14T09:30:00Z",
        },
    ),
    _converted(
        "notice.eml",
        "eml",
        "Lock closed for repairs: Schleuse außer Betrieb",
        "From: Hafenamt Süd <office@harbour.example>\nTo: Ines Okafor",
        "until the sluice gear is mended",
        "Größere Schiffe",
        "Attachment: repair hours.csv\n\n## repair hours.csv\n\ngate,hours\nupper,12\n",
        "Attachment: gate.png",
        "## Sluice gear inspection\n\nFrom: diver@harbour.example\n\nThree teeth",
        must_not_include=("HTML twin", "\n# This line", "multipart", "iVBOR", "=?utf-8"),
        date="2026-03-14",
        tags=("lock", "repairs"),
        metadata={
            "author": "Hafenamt Süd <office@harbour.example>",
            "created": "2026-03-14T23:30:00-05:00",
        },
    ),
    _converted(
        "watch.mbox",
        "mbox",
        "",
        "# First watch\n\nFrom: watch@harbour.example\n",
        "\nFrom the pier one sees nothing.\n",
        "# Hundewache grün\n",
        "Green flare",
        date="2026-03-14",
    ),
    _converted(
        "tariff.xls",  # what programs write that offer "export to Excel"
        "html",
        "Harbour dues",
        "| Length | Dues |\n| --- | --- |\n| 10 m | 21 € |",
    ),
    _converted(
        "quay.svg",
        "svg",
        "Quay cross-section",
        "# Quay cross-section\n",
        "the anchor wall, seen from the east.",
        "sheet pile AZ 26\n",
        "tie rod, 45 mm",
        must_not_include=("slategrey", "M10 10", "<"),
    ),
    # Prose with titles.
    _prose(
        "notes.md",
        "markdown",
        "Mooring notes",
        "tags: [harbour, mooring]",
        "# Spring lines",
        links=(
            Link("Bollard ratings#steel", 10, wiki=True),
            Link("data/tides.csv", 11),
            Link("charts/basin%20north.png", 18),
            Link("../rules/harbour.md", 20),
        ),
        tags=("harbour", "mooring"),
        date="2026-03-14",
    ),
    _prose(
        "hugo.markdown",
        "markdown",
        "Winter lay-up",
        "+++\n",
        "raw-water pump",
        tags=("winter", "engine"),
        date="2025-11-02",
    ),
    _prose("component.mdx", "markdown", "Live tide chart", '<TideChart station="inner-basin" />'),
    _prose("manual.rst", "rst", "Lock operation", "both gates report *latched*"),
    _prose("guide.adoc", "asciidoc", "Dredging guide", "echo sounder"),
    _prose("log.org", "org", "Harbour master's log", "** TODO Replace the lamp", tags=("log",)),
    _prose("paper.tex", "latex", "Seiches in a closed basin", r"\sqrt{gh}"),
    _prose("brief.typ", "typst", "Quay wall inspection", "caisson seven"),
    _prose("page.wiki", "wikitext", "Swing bridge", "VHF channel 12"),
    _prose("manual.pod", "pod", "NAME", "=item --datum"),
    _prose("readme.txt", "text", "", "fog signal"),
    # Data and code: the file's own lines.
    _data("app.properties", "properties", "gauge.timeout.ms=1500"),
    _data("berths.tsv", "tsv", "A1\t12\tshore power 16 A"),
    _data("chart.xml", "xml", 'colour="green"'),
    _data("config.json", "json", '"sensor": "radar gauge"'),
    _data("events.jsonl", "jsonl", "surge warning"),
    _data("fix.patch", "diff", "+#define TIMEOUT 1500"),
    _data("pipeline.yaml", "yaml", "    retries: 4"),
    _data("refs.bib", "bibtex", "@article{merian1828,"),
    _data("service.ini", "ini", "baud = 9600"),
    _data("settings.toml", "toml", "threshold_m = 0.6"),
    _data("sluice.log", "log", "WARN gate 2 does not latch"),
    _data("tides.csv", "csv", "2026-02-01T00:06Z,1.91,spike"),
    _data("tsconfig.jsonc", "jsonc", "// strict null checks"),
    _code("Compass.swift", "swift", "func magnetic(true bearing: Double)"),
    _code("Crane.java", "java", "public int safeWorkingLoad()"),
    _code("Dockerfile", "dockerfile", "COPY gauge-reader"),
    _code("Ferry.cs", "csharp", "HasRoom(int waiting)"),
    _code("Gauge.tsx", "tsx", "<meter min={0}"),
    _code("Makefile", "make", "\tpython -m survey"),
    _code("Panel.vue", "vue", "{{ barometer }} hPa"),
    _code("Pilot.kt", "kotlin", "fun Pilot.mayBoard"),
    _code("Route.scala", "scala", "waypoints.reverse"),
    _code("Tide.hs", "haskell", "slackWater :: Double"),
    _code("ais.proto", "proto", "message VesselPosition"),
    _code("backup.sh", "bash", "-mtime +30 -delete"),
    _code("berth.ts", "typescript", "export interface Berth"),
    _code("buoy.rs", "rust", "pub fn is_lit"),
    _code("dock.rb", "ruby", "waiting_list << vessel"),
    _code("fees.php", "php", "function mooring_fee"),
    _code("fit.jl", "julia", "observed .- predicted"),
    _code("gauge.c", "c", "\treturn g->raw * GAUGE_SCALE;"),
    _code("gauge.h", "cpp", "#define GAUGE_SCALE 3"),
    _code("harbour.ex", "elixir", "def next_arrival"),
    _code("lock.go", "go", "func OpenSluice"),
    _code("main.tf", "hcl", 'bucket = "gauge-archive"'),
    _code("plot.r", "r", "plot_surge <- function(frame)"),
    _code("pump.zig", "zig", "pub fn bilgeRunning"),
    _code("schema.graphql", "graphql", "callSign: String!"),
    _code("schema.sql", "sql", "CREATE TABLE sounding"),
    _code("shell.nix", "nix", "pkgs.gdal"),
    _code("signal.lua", "lua", "local function blast(seconds)"),
    _code("spline.cpp", "cpp", "T interpolate(T a, T b, double share)"),
    _code("theme.css", "css", ".depth-contour {"),
    _code("tide.js", "javascript", "export function predictHeight"),
    _code("tide.py", "python", '"""Metres above datum."""'),
    _code("watch.dart", "dart", "class AnchorWatch"),
)
_REFUSED = {"encrypted.pdf", "locked.xlsx", "order.doc"}  # tested in test_bad_files.py


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.file)
def test_a_format_is_read_as_its_row_says(row: Row) -> None:
    document = extract((FORMATS / row.file).read_bytes(), f"some/folder/{row.file}")
    missing = [piece for piece in row.must_include if piece not in document.text]
    unwanted = [piece for piece in row.must_not_include if piece in document.text]
    assert (missing, unwanted) == ([], [])
    assert document.path == f"some/folder/{row.file}"
    assert (document.kind, document.language) == (row.kind, row.language)
    assert (document.title, document.warnings) == (row.title, row.warnings)
    assert document.converted == row.converted
    assert (document.tags, document.date) == (row.tags, row.date)
    assert document.metadata == {**document.metadata, **row.metadata}
    assert document.links == row.links


@pytest.mark.parametrize("row", [r for r in ROWS if not r.converted], ids=lambda row: row.file)
def test_what_is_not_converted_stays_the_file_byte_for_byte(row: Row) -> None:
    data = (FORMATS / row.file).read_bytes()
    assert extract(data, row.file).text.encode("utf-8") == data


def test_every_fixture_has_a_row() -> None:
    files = {path.name for path in FORMATS.iterdir()} - _REFUSED
    assert files == {row.file for row in ROWS}


def test_rows_say_of_conversion_what_the_table_of_languages_says() -> None:
    converted = {row.language for row in ROWS if row.converted}
    converted.add("office97")  # a name for what is refused, or is one of the others in truth
    converted.add("image")  # needs a program: test_ocr.py
    assert converted == {language.name for language in LANGUAGES.values() if language.converted}


def test_a_page_of_a_pdf_begins_at_its_line() -> None:
    document = extract((FORMATS / "survey.pdf").read_bytes(), "survey.pdf")
    lines = ["", *document.text.split("\n")]
    first_lines = [lines[number] for number in document.pages]
    assert first_lines == [
        "Hydrographic survey",
        "Shoaling was found beside the",
        "",  # only a picture
        "",  # blank
        "Recommendation: dredge before autumn.",
    ]


@pytest.mark.parametrize(
    ("path", "first_line", "kind", "language"),
    [
        ("bin/deploy", "#!/usr/bin/env python3", "code", "python"),
        ("bin/deploy", "#!/bin/sh", "code", "bash"),
        ("bin/deploy", "nothing that says so", "prose", ""),
        ("data.unheard-of", "{}", "prose", ""),
        ("SHOUTING.PY", "x = 1", "code", "python"),
    ],
)
def test_a_file_without_a_known_name_is_known_by_its_first_line_or_read_as_text(
    path: str, first_line: str, kind: Kind, language: str
) -> None:
    document = extract(f"{first_line}\nrest\n".encode(), path)
    assert (document.kind, document.language) == (kind, language)
    assert document.text == f"{first_line}\nrest\n"
