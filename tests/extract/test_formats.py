"""One table: what is found in each file of fixtures/formats. A new format is a file and a row."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

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


def _code(file: str, language: str, *must_include: str) -> Row:
    return Row(file, "code", language, must_include)


def _data(file: str, language: str, *must_include: str) -> Row:
    return Row(file, "data", language, must_include)


def _prose(file: str, language: str, title: str, *must_include: str) -> Row:
    return Row(file, "prose", language, must_include, title=title)


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
    ),
    Row(
        "survey.pdf",
        "prose",
        "pdf",
        (
            "multibeam sonar",
            "Shoaling was found",
            "pre-1990 dumping",
            "an obstacle.",
            "dredge before autumn",
        ),
        ("\r", "\f", "\x02"),
        title="Hydrographic survey 2026",
        converted=True,
        warnings=("1 of 5 pages have no text (scanned; needs OCR)",),
    ),
    # Prose with titles.
    _prose("notes.md", "markdown", "Mooring notes", "tags: [harbour, mooring]", "# Spring lines"),
    _prose("hugo.markdown", "markdown", "Winter lay-up", "+++\n", "raw-water pump"),
    _prose("component.mdx", "markdown", "Live tide chart", '<TideChart station="inner-basin" />'),
    _prose("manual.rst", "rst", "Lock operation", "both gates report *latched*"),
    _prose("guide.adoc", "asciidoc", "Dredging guide", "echo sounder"),
    _prose("log.org", "org", "Harbour master's log", "** TODO Replace the lamp"),
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
_REFUSED = {"encrypted.pdf"}  # tested in test_bad_files.py


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


@pytest.mark.parametrize("row", [r for r in ROWS if not r.converted], ids=lambda row: row.file)
def test_what_is_not_converted_stays_the_file_byte_for_byte(row: Row) -> None:
    data = (FORMATS / row.file).read_bytes()
    assert extract(data, row.file).text.encode("utf-8") == data


def test_every_fixture_has_a_row() -> None:
    files = {path.name for path in FORMATS.iterdir()} - _REFUSED
    assert files == {row.file for row in ROWS}


def test_rows_say_of_conversion_what_the_table_of_languages_says() -> None:
    converted = {row.language for row in ROWS if row.converted}
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
    ("file", "links"),
    [
        (
            "notes.md",
            (
                Link("Bollard ratings#steel", 10, wiki=True),
                Link("data/tides.csv", 11),
                Link("charts/basin%20north.png", 18),
                Link("../rules/harbour.md", 20),
            ),
        ),
        ("page.html", (Link("fees.html", 3),)),
        ("analysis.ipynb", (Link("data/tides.csv", 3),)),
    ],
)
def test_links_point_to_other_files(file: str, links: tuple[Link, ...]) -> None:
    assert extract((FORMATS / file).read_bytes(), file).links == links


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
