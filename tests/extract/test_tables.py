from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from rag_agent.chunk import chunk
from rag_agent.extract.plain import one_line
from rag_agent.extract.tables import Workbook, table
from rag_agent.types import Document


def _text(rows: Sequence[Sequence[str]], **limits: int) -> str:
    book = Workbook(**limits)
    book.add("Sheet", enumerate(rows, start=1))
    return book.text


def test_a_sheet_is_a_heading_and_a_table() -> None:
    text = _text([["Berth", "Fee"], ["A1", "21"], ["A2", "34"]])
    assert text == "# Sheet\n\n| Berth | Fee |\n| --- | --- |\n| A1 | 21 |\n| A2 | 34 |\n"


def test_columns_and_rows_without_anything_are_dropped_and_bars_are_escaped() -> None:
    text = _text([[], ["", "Berth", "", "a|b"], ["", "A1", "", "two\nlines"]])
    assert text == "# Sheet\n\n| Berth | a\\|b |\n| --- | --- |\n| A1 | two lines |\n"


def test_a_first_row_with_numbers_is_no_header() -> None:
    text = _text([["A1", "21"], ["A2", "34"]])
    assert text == "# Sheet\n\n|  |  |\n| --- | --- |\n| A1 | 21 |\n| A2 | 34 |\n"


def test_titles_and_remarks_stand_apart_and_the_next_table_has_its_own_header() -> None:
    rows = [["Fees of 2026"], ["Berth", "Fee"], ["A1", "21"], [], ["Crews"], ["Name", "Boat"]]
    assert _text(rows) == (
        "# Sheet\n\nFees of 2026\n\n| Berth | Fee |\n| --- | --- |\n| A1 | 21 |\n\nCrews\n\n"
        "| Name | Boat |\n| --- | --- |\n"
    )


def test_an_empty_row_between_records_does_not_end_their_table() -> None:
    text = _text([["Berth", "Owner"], ["A1", "Ines"], [], ["A2", "Jan"]])
    assert "| A1 | Ines |\n| A2 | Jan |" in text


def test_every_piece_of_a_long_table_carries_its_header() -> None:
    rows = [["Hour", "Level"], *([str(hour), f"{hour / 10} m above datum"] for hour in range(500))]
    pieces = _text(rows).split("\n\n")[1:]
    assert len(pieces) > 10
    assert all(piece.startswith("| Hour | Level |\n| --- | --- |\n| ") for piece in pieces)


def test_every_chunk_of_a_long_table_says_what_its_columns_are() -> None:
    rows = [["Hour", "Level"], *([str(hour), f"{hour / 10} m above datum"] for hour in range(500))]
    chunks = chunk(Document("a.xlsx", "prose", _text(rows), converted=True))
    assert len(chunks) > 5
    assert all("| Hour | Level |" in part.text for part in chunks)
    assert {part.heading for part in chunks} == {"Sheet"}


def test_rows_below_a_very_wide_header_are_told_as_pairs() -> None:
    header = [f"a long name of column {number}" for number in range(30)]
    text = _text([header, ["x", *[""] * 28, "y"]])
    assert text == "# Sheet\n\na long name of column 0: x; a long name of column 29: y\n"


def test_a_cell_that_begins_like_a_heading_is_none() -> None:
    assert _text([["# of berths"]]) == "# Sheet\n\n\\# of berths\n"


def test_a_sheet_without_cells_leaves_nothing() -> None:
    assert _text([[], ["", ""]]) == ""


def test_a_table_that_holds_nothing_is_no_table() -> None:
    assert table([["", ""], []]) == ""


_CELL = st.text("ab|# \n0123", max_size=8)


@settings(deadline=None)
@given(st.lists(st.lists(_CELL, max_size=5), max_size=30))
def test_no_cell_is_lost_and_rows_are_aligned(rows: list[list[str]]) -> None:
    text = _text(rows)
    said = text.replace("\\|", "|").replace("\\#", "#")
    for row in rows:
        assert all(one_line(cell) in said for cell in row)
    for block in text.split("\n\n"):
        lines = block.rstrip("\n").split("\n")
        bars = {line.replace("\\|", "").count("|") for line in lines if line.startswith("| ")}
        assert len(bars) <= 1


@settings(deadline=None)
@given(st.integers(1, 2000), st.integers(1, 100))
def test_limits_hold_and_are_said(most_text: int, most_cells: int) -> None:
    book = Workbook(most_text=most_text, most_cells=most_cells)
    book.add("One", ((number, ["name", "12"]) for number in range(1, 10_000)))
    book.add("Two", [(1, ["never"])])
    assert len(book.text) < most_text + 2_500
    assert "Two" not in book.text
    (warning,) = book.warnings
    assert warning.startswith("cut after row ")
