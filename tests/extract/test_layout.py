"""Pages of words whose places are made up, so that each rule is seen alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_agent.extract.layout.headings import Bookmark
from rag_agent.extract.layout.prose import rejoin, tidy
from rag_agent.extract.layout.sheet import Font, Run, Sheet, Turned
from rag_agent.extract.layout.writing import write

TEXT = Font(10.0, bold=False, mono=False)
BOLD = Font(10.0, bold=True, mono=False)
LARGE = Font(14.0, bold=True, mono=False)
CODE = Font(10.0, bold=False, mono=True)

Placed = tuple[str, float, float] | tuple[str, float, float, Font]


def sheet(*placed: Placed, turned: Sequence[Turned] = ()) -> Sheet:
    """Words at (left, base line), five points a character, drawn in this order."""
    runs = []
    for order, (text, left, base, *font) in enumerate(placed):
        runs.append(Run(text, left, left + 5.0 * len(text), base, font[0] if font else TEXT, order))
    return Sheet(tuple(runs), tuple(turned), 600.0, 800.0)


def column(left: float, first: int, count: int, top: float = 100.0) -> list[Placed]:
    return [
        (f"line {first + n} of a text that fills it", left, top + 12.0 * n) for n in range(count)
    ]


def lines(*sheets: Sheet, marks: dict[int, list[Bookmark]] | None = None) -> list[str]:
    return [line for line in write(sheets, marks or {}, {}).text.split("\n") if line]


def numbers(found: Sequence[str]) -> list[int]:
    return [int(line.split()[1]) for line in found if line.startswith("line")]


def test_the_left_column_comes_before_the_right_one() -> None:
    assert numbers(lines(sheet(*column(50, 0, 10), *column(320, 10, 10)))) == list(range(20))


def test_columns_that_are_drawn_line_by_line_are_read_one_after_the_other() -> None:
    left, right = column(50, 0, 10), column(320, 10, 10)
    mixed = [part for pair in zip(left, right, strict=True) for part in pair]
    assert numbers(lines(sheet(*mixed))) == list(range(20))


def test_what_spans_columns_parts_what_is_above_and_below_it() -> None:
    page = sheet(
        *column(50, 0, 5),
        *column(320, 5, 5),
        ("line 10 goes over the whole width of the page, as captions of wide figures do", 50, 200),
        *column(50, 11, 5, top=230),
        *column(320, 16, 5, top=230),
    )
    assert numbers(lines(page)) == list(range(21))


def test_three_columns_follow_each_other() -> None:
    narrow = [
        (f"line {c * 8 + n} of three", 50.0 + 180 * c, 100.0 + 12 * n)
        for c in range(3)
        for n in range(8)
    ]
    assert numbers(lines(sheet(*narrow))) == list(range(24))


def test_cells_stay_in_their_rows_and_an_empty_one_keeps_its_place() -> None:
    page = sheet(
        ("Name", 50, 100), ("Draught", 200, 100), ("Flag", 350, 100),
        ("Aurora", 50, 112), ("4.2", 200, 112), ("NO", 350, 112),
        ("Brisk", 50, 124), ("SE", 350, 124),
    )  # fmt: skip
    assert lines(page) == [
        "| Name | Draught | Flag |",
        "| Aurora | 4.2 | NO |",
        "| Brisk |  | SE |",
    ]


def test_labels_of_a_list_are_no_cells() -> None:
    page = sheet(
        *(part for n in range(4) for part in (("•", 50, 100 + 12 * n), ("item", 70, 100 + 12 * n)))
    )
    assert lines(page) == ["• item"] * 4


def test_a_table_of_numbers_is_marked_and_one_of_words_is_not() -> None:
    figures = [
        (f"{7 * n + c}.5", 50.0 + 100 * c, 100.0 + 12 * n) for n in range(8) for c in range(3)
    ]
    words = [("word" * (c + 1), 50.0 + 100 * c, 300.0 + 12 * n) for n in range(8) for c in range(3)]
    written = write([sheet(*figures, *words)], {}, {})
    assert written.unembedded == ((1, 8),)


def test_heads_that_come_again_are_dropped_though_their_numbers_differ() -> None:
    title = sheet(*column(50, 0, 5, top=200))
    pages = [sheet((f"Chapter of tides   {n}", 50, 40), *column(50, n * 5, 5)) for n in range(1, 4)]
    assert numbers(found := lines(title, *pages)) == list(range(20))
    assert not any("Chapter" in line for line in found)


def test_a_head_of_left_and_right_pages_that_comes_twice_is_dropped() -> None:
    title = sheet(*column(50, 0, 5, top=200))
    heads = ("Left head", "Right head", "Left head", "Right head")
    pages = [sheet((head, 50, 40), *column(50, n * 5, 5)) for n, head in enumerate(heads)]
    assert not any("head" in line for line in lines(title, *pages))


def test_the_head_of_a_letter_stays_on_its_first_page() -> None:
    pages = [sheet(("Pilot Office, Quay 7", 50, 40), *column(50, n * 5, 5)) for n in range(4)]
    assert lines(*pages).count("Pilot Office, Quay 7") == 1


def test_numbers_at_the_top_that_count_no_pages_are_kept() -> None:
    invoices = [(("Invoice 417", 50, 40)), ("Invoice 433", 50, 40), ("Invoice 512", 50, 40)]
    pages = [sheet(invoice, *column(50, n * 5, 5)) for n, invoice in enumerate(invoices)]
    assert [line for line in lines(*pages) if "Inv" in line] == [text for text, *_ in invoices]


def test_a_line_of_the_text_that_comes_again_is_kept() -> None:
    pages = [sheet(*column(50, n * 5, 5, top=300), ("Signed.", 50, 420)) for n in range(4)]
    assert lines(*pages).count("Signed.") == 4


def test_what_slides_repeat_below_their_title_is_kept() -> None:
    slides = [
        Sheet(
            sheet(
                ("Buoys", 50, 30, LARGE), *(("first point", 50, 52), ("second", 50, 66))[: n + 1]
            ).runs,
            (),
            360.0,
            270.0,
        )
        for n in (0, 0, 1, 1)
    ]
    assert lines(*slides).count("first point") == 4


def test_large_titles_that_come_again_are_kept() -> None:
    pages = [sheet(("Results", 50, 60, LARGE), *column(50, n * 5, 5)) for n in range(4)]
    assert lines(*pages).count("# Results") == 4


@pytest.mark.parametrize("number", ["7", "- 7 -", "Page 7 of 9", "vii"])
def test_a_page_number_goes(number: str) -> None:
    pages = [
        sheet(*column(50, n * 5, 5), (number.replace("7", str(n + 5)), 300, 780)) for n in range(4)
    ]
    assert [line for line in lines(*pages) if not line.startswith("line")] == []


def test_a_number_that_ends_a_page_and_counts_none_is_kept() -> None:
    pages = [
        sheet(*column(50, n * 5, 5), (number, 300, 780)) for n, number in enumerate(("42", "1999"))
    ]
    assert [line for line in lines(*pages) if not line.startswith("line")] == ["42", "1999"]


def test_a_stamp_in_the_margin_goes_and_turned_words_in_a_figure_stay() -> None:
    page = sheet(
        *column(50, 0, 5), turned=[Turned("arXiv:1 stamp", 20.0), Turned("Height (m)", 100.0)]
    )
    assert lines(page)[-1] == "Height (m)"
    assert not any("stamp" in line for line in lines(page))


def test_size_gives_levels_and_numbers_refine_them() -> None:
    page = sheet(
        ("Tides", 50, 60, Font(20.0, bold=False, mono=False)),
        ("1 Basins", 50, 90, LARGE), *column(50, 0, 3, top=110),
        ("1.1 Harbours", 50, 160, BOLD), *column(50, 3, 3, top=180),
        ("1.1.1 Locks", 50, 230, BOLD), *column(50, 6, 3, top=250),
    )  # fmt: skip
    assert [line for line in lines(page) if line.startswith("#")] == [
        "# Tides", "## 1 Basins", "### 1.1 Harbours", "#### 1.1.1 Locks",
    ]  # fmt: skip


def test_a_bookmark_makes_a_heading_of_a_line_that_looks_like_any_other() -> None:
    page = sheet(*column(50, 0, 3), ("On slack water", 50, 150), *column(50, 3, 3, top=170))
    marks = {0: [Bookmark("onslackwater", 2)]}
    assert "On slack water" in lines(page)
    assert "## On slack water" in lines(page, marks=marks)


@pytest.mark.parametrize(
    "text",
    ["Table 3: Modes", "a bold sentence in the middle of a text", "12.5 13.5", "and so on;"],
)
def test_what_is_bold_and_no_heading_stays_text(text: str) -> None:
    page = sheet(*column(50, 0, 3), (text, 50, 150, BOLD), *column(50, 3, 3, top=170))
    assert not any(line.startswith("#") for line in lines(page))


def test_code_that_looks_like_markup_is_no_heading() -> None:
    page = sheet(
        *column(50, 0, 5), ("# include", 50, 170, CODE), ("---", 50, 182), ("```", 50, 194)
    )
    assert lines(page)[-3:] == ["    # include", "    ---", "\\```"]


@pytest.mark.parametrize(
    ("broken", "rest", "known", "whole"),
    [
        ("sedimen-", "tation here", set(), "sedimentation"),
        ("well-", "known here", {"well-known"}, "well-known"),
        ("well-", "known here", {"wellknown", "well-known"}, "wellknown"),
        ("third-", "party here", {"third", "party"}, "third-party"),
        ("Anglo-", "Saxon here", set(), "Anglo-Saxon"),
        ("pre-", "1990 here", set(), "pre-1990"),
    ],
)
def test_a_hyphen_at_the_end_of_a_line_is_judged_by_the_rest_of_the_document(
    broken: str, rest: str, known: set[str], whole: str
) -> None:
    text = [f"a {broken}", "", rest]
    assert rejoin(text, [True, False, True], lambda: known) == []
    assert text == [f"a {whole}", "", "here"]


def test_a_line_of_which_nothing_is_left_is_told() -> None:
    text = ["an ob-", "stacle."]
    assert rejoin(text, [True, True], set) == [1]
    assert text[0] == "an obstacle."


@pytest.mark.parametrize(
    ("drawn", "meant"),
    [
        ("ﬁne ﬂow suﬃcient", "fine flow sufficient"),
        ("Universit\u00a8at and Ren\u00b4e", "Universität and René"),
        ("\U0001d465 + \U0001d7cf", "x + 1"),
        ("soft\u00a0space", "soft space"),
    ],
)
def test_glyphs_become_the_letters_that_are_meant(drawn: str, meant: str) -> None:
    assert tidy(drawn) == meant


words = st.text(
    st.characters(categories=["Lu", "Ll", "Nd"], max_codepoint=0x17F), min_size=1, max_size=12
)
runs = st.builds(
    lambda text, left, base, size, bold, order: Run(
        text, left, left + 5 * len(text), base, Font(size, bold, False), order
    ),
    words,
    st.floats(-50, 650),
    st.floats(-50, 850),
    st.sampled_from([0.0, 6.0, 10.0, 14.0, 30.0]),
    st.booleans(),
    st.integers(0, 100),
)


@given(st.lists(runs, max_size=60))
def test_no_word_of_a_page_is_lost_wherever_it_stands(placed: list[Run]) -> None:
    written = write([Sheet(tuple(placed), (), 600.0, 800.0)], {}, {})
    # A number may be that of the page; any other word must be there, whole or joined to another.
    given_words = Counter(tidy(run.text) for run in placed if not run.text.isdigit())
    found = "".join(written.text.split())
    assert all(found.count(word) >= count for word, count in given_words.items() if len(word) > 6)
    assert written.pages == (1,)


@given(st.lists(st.lists(runs, max_size=12), min_size=1, max_size=6))
def test_pages_begin_in_order_and_marked_lines_exist(pages: list[list[Run]]) -> None:
    written = write([Sheet(tuple(page), (), 600.0, 800.0) for page in pages], {}, {})
    count = written.text.count("\n")
    assert len(written.pages) == len(pages)
    assert list(written.pages) == sorted(set(written.pages))
    assert written.pages[-1] <= count
    assert all(1 <= start <= end <= count for start, end in written.unembedded)


def test_roman_parts_have_letters_below_them_and_numbers_below_those() -> None:
    page = sheet(
        *(
            part
            for n, title in enumerate(
                ["I. TIDES", "A. Spring", "1. Height", "II. LOCKS", "References"]
            )
            for part in ((title, 50, 60.0 + 80 * n, BOLD), *column(50, 3 * n, 3, top=85.0 + 80 * n))
        )
    )
    assert [line for line in lines(page) if line.startswith("#")] == [
        "# I. TIDES", "## A. Spring", "### 1. Height", "# II. LOCKS", "# References",
    ]  # fmt: skip


def test_a_bold_word_at_the_beginning_of_a_line_makes_no_heading() -> None:
    mixed = Run("Note that this goes on", 50.0, 160.0, 150.0, TEXT, 3)
    page = sheet(*column(50, 0, 3), *column(50, 3, 3, top=170))
    written = write([Sheet((*page.runs, mixed), (), 600.0, 800.0)], {}, {})
    assert "#" not in written.text


def test_a_word_that_is_broken_in_a_heading_is_whole() -> None:
    page = sheet(
        ("Changes of the Ver-", 50, 60, LARGE), ("sions", 50, 76, LARGE), *column(50, 0, 5)
    )
    assert lines(page)[0] == "# Changes of the Versions"


def test_a_loosely_set_line_is_no_row() -> None:
    page = sheet(
        ("a loosely", 50, 100), ("set line", 140, 100), ("of a text", 230, 100),
        *[("a line of text that fills the whole of it and", 50, 112.0 + 12 * n) for n in range(3)],
        ("again a", 50, 148), ("loose one", 140, 148), ("that ends", 230, 148),
    )  # fmt: skip
    assert not any(line.startswith("|") for line in lines(page))


def test_words_of_a_writing_without_spaces_are_whole_over_line_ends() -> None:
    text = [
        "港口的水位每天涨落两次而夜里的高潮往往比白天更高、船",
        "长必须在出港以前知道。",
        "另起一行",
        "一",
    ]
    assert rejoin(text, [True] * 4, set) == [1]
    assert text[0].endswith("更高、船长必须在出港以前知道。")
    assert text[2:] == ["另起一行", "一"]


def test_a_line_without_spaces_stays_on_its_page() -> None:
    text = ["港口的水位每天涨落两次而夜里的高潮往往比白天更高、船", "长必须在出港以前知道。"]
    assert rejoin(text, [True, True], set, {1}) == []
