"""Which names each language defines, on the sources in fixtures/project/languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_agent.chunk import chunk, code
from rag_agent.chunk.languages import ROWS
from rag_agent.extract.languages import language_of
from rag_agent.types import Chunk, Document

SOURCES = Path(__file__).parents[2] / "fixtures" / "project" / "languages"

# File -> every definition, as "kind name first-last"; sources hold a `local` that is none.
EXPECTED = [
    (
        "sample.sh",
        "constant LIMIT 2-2, constant HOST 3-3, function ll 4-4, function add 7-10, "
        "function remove 11-13",
    ),
    (
        "sample.c",
        "constant LIMIT 3-3, function MAX 4-4, type point_t 6-8, type point 6-8, "
        "type callback_t 9-9, constant names 10-10, type color 11-14, "
        "constant RED 12-12, constant GREEN 13-13, function prototype 16-16, "
        "function node_open 19-23",
    ),
    (
        "sample.cpp",
        "type Widget 2-10, function Widget 4-4, function ~Widget 5-5, function size 6-6, "
        "function operator bool 7-7, type Mode 11-11, type Alias 12-12, "
        "function get 15-19, function operator== 20-20",
    ),
    (
        "sample.cs",
        "type Store 3-12, constant Limit 6-6, constant Size 7-7, function Store 8-8, "
        "function Add 9-9, function operator+ 10-10, constant Changed 11-11, "
        "type Point 13-13, type IShape 14-14, type Color 15-18, constant Red 17-17, "
        "type Handler 19-19",
    ),
    (
        "sample.ex",
        "module Store 1-19, constant limit 3-3, type id 4-4, function add 8-12, "
        "function hidden 14-14, function build 16-18, implementation Shape 21-23, "
        "function draw 22-22",
    ),
    (
        "sample.go",
        "type Server 4-6, type ID 8-9, type Key 10-10, constant Limit 13-13, "
        "constant first 15-16, constant second 15-16, function Run 20-23, "
        "function main 25-25, type Store 27-29, function Get 28-28",
    ),
    (
        "sample.hs",
        "module Store 1-1, type Shape 4-5, type Id 6-6, type Name 7-7, "
        "type Drawable 9-11, function draw 10-11, implementation Shape 13-14, "
        "function area 17-20, function <+> 22-23, function first 25-25, "
        "function second 25-25, function first 26-26",
    ),
    (
        "sample.java",
        "type Store 3-19, constant LIMIT 5-5, constant size 6-6, constant total 6-6, "
        "function Store 8-10, function add 12-14, type Color 16-18, constant RED 17-17, "
        "type Point 21-21, type Shape 22-24, function draw 23-23",
    ),
    (
        "sample.js",
        "function get 2-5, function close 6-6, function start 8-8, function stop 9-9, "
        "function send 11-12, type Store 13-17, constant size 14-14, "
        "function flush 15-15, function length 16-16, constant LIMIT 18-18, "
        "constant a 18-18, constant b 18-18, function pages 19-19, function memo 20-20",
    ),
    (
        "sample.kt",
        "type Store 3-13, type Companion 5-7, constant LIMIT 6-6, "
        "function constructor 8-9, function add 10-12, type Shape 15-15, "
        "type Single 16-17, type Color 18-20, constant RED 19-19, function shout 21-21, "
        "type Id 22-22, constant top 23-23",
    ),
    (
        "sample.lua",
        "constant M 2-2, constant limit 3-3, function add 6-8, function remove 9-9, "
        "function helper 10-11, function find 12-14, function plain 15-15, "
        "constant handlers 16-18, function close 17-17",
    ),
    (
        "sample.php",
        "type Store 4-14, constant LIMIT 7-7, constant size 8-8, function add 10-13, "
        "type Shape 15-15, type Shared 16-16, type Color 17-19, constant Red 18-18, "
        "function helper 20-20, constant TOP 21-21, constant OTHER 22-22",
    ),
    (
        "sample.py",
        "constant LIMIT 2-2, constant OTHER 2-2, type Pair 3-3, type Session 6-15, "
        "constant timeout 8-8, function url 10-15, function inner 13-14, "
        "function main 18-18",
    ),
    (
        "sample.rb",
        "module Inner 1-17, constant LIMIT 2-2, type Store 3-16, function size 4-4, "
        "function total 4-4, function add 7-9, function build 11-12, "
        "function empty? 14-15, type Point 18-18",
    ),
    (
        "sample.rs",
        "type Point 3-5, implementation Point 7-9, function fmt 8-8, "
        "implementation Point 11-14, constant ZERO 12-12, function new 13-13, "
        "type Shape 16-18, function area 17-17, type Kind 20-23, constant Big 21-21, "
        "constant Small 22-22, module tests 24-26, function inner 25-25, "
        "function square 27-29, constant LIMIT 30-30, type Pair 31-31",
    ),
    (
        "sample.scala",
        "type Store 4-11, constant limit 5-5, function add 6-9, type Id 10-10, "
        "type Shape 12-14, function draw 13-13, type Point 15-15, type Color 16-18, "
        "constant Red 17-17, constant ordering 19-19",
    ),
    (
        "sample.swift",
        "type Store 1-10, constant limit 3-3, function init 4-6, function add 7-8, "
        "function subscript 9-9, type Point 11-11, type Color 12-14, "
        "constant green 13-13, constant red 13-13, implementation Store 15-17, "
        "function draw 16-16, type Shape 18-21, function draw 19-19, "
        "constant size 20-20, type Id 22-22",
    ),
    (
        "sample.ts",
        "type Shape 1-3, function area 2-2, type Id 4-4, type Color 5-5, "
        "function ambient 6-6, module Inner 7-9, constant depth 8-8, type Base 10-14, "
        "constant limit 11-11, function run 12-12, function handler 13-13, "
        "function over 15-18",
    ),
    (
        "sample.zig",
        "type Point 4-10, function add 7-9, function main 11-11, type Color 12-12, "
        "constant count 13-13, function adds 14-14",
    ),
    (
        "sample.astro",
        "constant limit 2-2, function add 3-5",
    ),
    (
        "sample.clj",
        "module store 1-1, constant limit 2-2, function add 3-5, function build 6-6, "
        "type Shape 7-7, type Point 8-8",
    ),
    (
        "sample.cmake",
        "function add_store 1-3, function build 4-5, constant LIMIT 6-6, type store 7-7",
    ),
    (
        "sample.pyx",
        "type Store 1-3, function add 2-3",
    ),
    (
        "sample.dart",
        "type Store 1-12, function Store 2-2, constant size 3-3, constant limit 4-4, "
        "function add 7-9, function total 11-11, type Shared 13-13, type Color 14-14, "
        "implementation Extra 15-15, type Id 16-16, function top 17-19, "
        "constant count 20-20",
    ),
    (
        "sample.dockerfile",
        "type base 1-1",
    ),
    (
        "sample.el",
        "function add 1-3, constant limit 4-4, function build 5-5",
    ),
    (
        "sample.erl",
        "module store 1-1, type point 2-2, constant LIMIT 3-3, type id 4-4, "
        "function add 8-9, function total 10-10",
    ),
    (
        "sample.f90",
        "module store 1-14, type point 3-5, function add 7-9, function total 10-13",
    ),
    (
        "sample.graphql",
        "type Store 1-3, type Point 4-4, type Color 5-5, function Parts 6-6, function Recent 7-7",
    ),
    (
        "sample.groovy",
        "type Store 1-4, function add 2-2, function name 3-3, function helper 5-5",
    ),
    (
        "sample.tf",
        "type store 1-3, type limit 4-4",
    ),
    (
        "sample.jsonnet",
        "function add 1-1, function total 4-4",
    ),
    (
        "sample.jl",
        "module Outer 1-15, type Point 2-4, type Shape 5-5, constant LIMIT 6-6, "
        "function add 7-9, function total 10-10, function show 11-12, "
        "function build 13-14",
    ),
    (
        "sample.just",
        "constant limit 1-1, function build 2-3",
    ),
    (
        "sample.mk",
        "constant CC 1-1, function all 2-3, function recipe 5-6",
    ),
    (
        "sample.nix",
        "function add 3-3, constant limit 5-5, function build 6-6",
    ),
    (
        "sample.m",
        "type Store 1-4, function add 3-3, implementation Store 6-11, function make 7-7, "
        "function add 8-10",
    ),
    (
        "sample.ml",
        "module Store 1-3, constant limit 2-2, function add 5-5, function find 6-7, "
        "type shape 8-8, type Sig 9-11, function size 10-10, type Broken 12-12, "
        "function total 13-13",
    ),
    (
        "sample.pl",
        "module Store 1-1, constant LIMIT 2-2, function add 5-7",
    ),
    (
        "sample.ps1",
        "function Get-Store 1-4, type Point 5-8, function Add 7-7, constant Limit 9-9",
    ),
    (
        "sample.proto",
        "type Point 3-6, type Color 5-5, type Store 7-9, function Add 8-8",
    ),
    (
        "sample.r",
        "constant limit 1-1, function add 2-5, function total 6-6",
    ),
    (
        "sample.rkt",
        "function add 2-2, type point 3-3",
    ),
    (
        "sample.scm",
        "function add 1-3, constant limit 4-4",
    ),
    (
        "sample.scss",
        "function button 1-3",
    ),
    (
        "sample.sol",
        "type Store 1-8, constant size 2-2, constant Added 3-3, function only 4-4, "
        "function constructor 5-5, function add 6-6, type Point 7-7, type Extra 9-9",
    ),
    (
        "sample.sql",
        "type store 1-3, function total 4-6, type recent 7-7, constant by_id 8-8",
    ),
    (
        "sample.bzl",
        "constant LIMIT 1-1, function add 2-3",
    ),
    (
        "sample.svelte",
        "constant limit 7-7, function add 8-10",
    ),
    (
        "sample.tsx",
        "function View 1-4",
    ),
    (
        "sample.vim",
        "constant limit 1-1, function add 2-3, function Total 4-5, function Build 6-6",
    ),
    (
        "sample.vue",
        "constant limit 7-7, function add 8-10",
    ),
]


def chunks_of(path: Path) -> list[Chunk]:
    language = language_of(path.name)
    assert language is not None
    text = path.read_text(encoding="utf-8")
    return chunk(Document(path=path.name, kind="code", language=language.name, text=text))


@pytest.mark.parametrize(("name", "expected"), EXPECTED, ids=[name for name, _ in EXPECTED])
def test_a_language_defines_its_names(name: str, expected: str) -> None:
    definitions = [found for part in chunks_of(SOURCES / name) for found in part.definitions]

    shown = [f"{found.kind} {found.name} {found.start}-{found.end}" for found in definitions]

    assert ", ".join(shown) == expected


def test_every_row_has_a_source_that_shows_it() -> None:
    shown = {language.name for path in SOURCES.iterdir() if (language := language_of(path.name))}

    # A style sheet defines no names; its rules are scopes only.
    assert set(ROWS) - shown == {"css"}


@pytest.mark.parametrize(
    ("name", "line", "heading"),
    [
        ("sample.go", 20, "func (Server) Run"),
        ("sample.rs", 7, "impl fmt::Display for Point<T>"),
        ("sample.rs", 8, "impl fmt::Display for Point<T> > fn fmt"),
        ("sample.py", 13, "class Session > def url > def inner"),
        ("sample.rb", 11, "module Outer::Inner > class Store > def self.build"),
        ("sample.lua", 9, "function M:remove"),
        ("sample.cpp", 15, "outer::Box<T>::get"),
        ("sample.ex", 22, "defimpl Shape > def draw"),
        ("sample.kt", 21, "fun String.shout"),
        ("sample.m", 8, "@implementation Store > add:to:"),
        ("sample.sql", 1, "create table public.store"),
        ("sample.scss", 5, ".card"),
    ],
)
def test_a_heading_is_the_chain_of_scopes_in_the_words_of_the_language(
    name: str, line: int, heading: str
) -> None:
    lines = (SOURCES / name).read_text(encoding="utf-8").split("\n")
    language = language_of(name)
    assert language is not None
    document = Document(path=name, kind="code", language=language.name, text="\n".join(lines))

    assert code.outline(document, lines).heading(line - 1, line) == heading
