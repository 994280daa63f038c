from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_agent import embed
from rag_agent.embed import card_text
from rag_agent.embed.card import first_prose, head_comment
from rag_agent.types import Embedder

LICENCE = """\
// Copyright 2020 The Authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
//
"""


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return embed.load()


def test_a_card_has_path_name_in_words_comment_and_names_in_this_order() -> None:
    text = '"""Sends mail over SMTP."""\n\nimport smtplib\n'
    card = card_text("net/mailSender.py", "code", "", text, ["MailSender", "send_mail"])
    assert card.splitlines() == [
        "net/mailSender.py",
        "mail sender",
        "Sends mail over SMTP.",
        "mail sender send",
    ]


def test_a_card_of_a_document_has_its_title_its_first_sentences_and_its_headings() -> None:
    text = "# Guide\n\n[![build](badge.svg)](ci)\n\nHow to install it.\nAnd how to run it.\n"
    names = ["Guide", "Guide > Install", "Guide > Run"]
    card = card_text("docs/start.md", "prose", "The Guide", text, names)
    assert card.splitlines() == [
        "docs/start.md",
        "start",
        "The Guide",
        "How to install it. And how to run it.",
        "Guide Install Run",
    ]


def test_a_card_of_a_document_names_its_author_and_its_year() -> None:
    card = card_text("a.md", "prose", "", "On pumps.", ["Seals"], "Ada Lovelace", 1843)
    assert card.splitlines() == ["a.md", "a", "On pumps.", "Ada Lovelace, 1843", "Seals"]
    # A year alone says nothing of what a document is about.
    assert "1843" not in card_text("a.md", "prose", "", "On pumps.", [], "", 1843)


def test_a_file_that_says_nothing_still_has_its_path() -> None:
    assert card_text("a/Makefile", "code", "", "", []).splitlines() == ["a/Makefile", "makefile"]


@pytest.mark.parametrize(
    ("text", "comment"),
    [
        ("#!/bin/sh\n# Deploys the site.\n# Twice.\nset -e\n", "Deploys the site. Twice."),
        (
            "package chi\n\n// Mux routes\n// requests.\ntype Mux struct {}\n",
            "Mux routes requests.",
        ),
        ("#include <a.h>\n#define B 1\n/*\n * Parses URLs.\n */\nint a;\n", "Parses URLs."),
        ("/** One line. */\nclass A {}\n", "One line."),
        ("#[derive(Debug)]\n//! The crate's root.\n", "The crate's root."),
        ('defmodule A do\n  @moduledoc ~S"""\n  Talks.\n  """\nend\n', "Talks."),
        ("{-# LANGUAGE CPP #-}\n{- | Folds trees. -}\nmodule A where\n", "| Folds trees."),
        ("--- Loads plugins.\nlocal M = {}\n", "Loads plugins."),
        ("--[[\nLoads plugins.\n]]\nlocal M = {}\n", "Loads plugins."),
        ("% Solves it.\nsolve :- true.\n", "Solves it."),
        (";;; Edits text.\n(provide 'a)\n", "Edits text."),
        ("=begin\nServes Rack.\n=end\nclass A; end\n", "Serves Rack."),
        ("x = 1\ny = 2\n", ""),
    ],
)
def test_the_head_comment_is_found_in_many_languages(text: str, comment: str) -> None:
    assert head_comment(text) == comment


def test_a_licence_is_passed_over_and_what_follows_in_the_same_comment_is_not() -> None:
    assert head_comment(LICENCE + "// File: log.h\n// Writes logs.\n") == (
        "File: log.h Writes logs."
    )
    assert head_comment(LICENCE + "\nint a;\n/* Adds numbers. */\n") == "Adds numbers."


def test_drawings_and_words_for_tools_are_no_description() -> None:
    text = "# -*- coding: utf-8 -*-\n\n/*  ___| | | |  _ \\ */\n\n// eslint-disable\n\n// Joins.\n"
    assert head_comment(text) == "Joins."


def test_a_description_has_at_most_350_characters() -> None:
    assert len(head_comment("# " + "long " * 200)) <= 350
    assert len(first_prose("long " * 200)) <= 350


@given(st.text(), st.sampled_from(["code", "prose", "data"]), st.lists(st.text()))
def test_any_text_has_a_card_that_begins_with_its_path(text: str, kind: str, names: object) -> None:
    assert card_text("a/b.c", kind, text, text, names).startswith("a/b.c")  # type: ignore[arg-type]


def test_a_card_is_cut_to_one_window_between_words(embedder: Embedder) -> None:
    text = card_text("a.py", "code", "", "", [f"parse_header_{n}" for n in range(300)])
    cut = embedder.first_window(text)
    assert text.startswith(cut)
    assert not (cut[-1].isalnum() and text[len(cut)].isalnum())
    assert 150 < len(embedder._windows(cut, "")[0]) <= 160  # type: ignore[attr-defined]
    assert len(embedder._windows(cut, "")) == 1  # type: ignore[attr-defined]
    assert embedder.first_window(cut) == cut


@given(st.text(max_size=2_000))
def test_what_is_cut_to_one_window_is_the_beginning_of_the_text(
    embedder: Embedder, text: str
) -> None:
    assert text.startswith(embedder.first_window(text))
