"""The reference that rag_agent is measured beside: benchmarks/pi_local_rag.py."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_agent.embed import load
from rag_agent.eval import read_run

# Programs beside the package, not part of it; at the end, so that they hide nothing.
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import pi_local_rag
from reference.pi_files import Piece, chunk, collect, read
from reference.pi_ranking import AS_SHIPPED, MENDED, Mends, PiIndex, path_words

FILLER = "nothing of interest is on this line\n"


def index_of(tmp_path: Path, files: dict[str, str]) -> PiIndex:
    """An index of real files in a checkout called shop."""
    root = tmp_path / "shop"
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    index = PiIndex()
    pi_local_rag.load(index, "shop", root)
    return index


def paths(index: PiIndex, question: str, mends: Mends) -> list[str]:
    return [place.path for place in index.search(question, mends=mends)]


def test_as_shipped_words_that_no_chunk_holds_together_find_nothing(tmp_path: Path) -> None:
    files = {"a.py": "def reserve_stock(order): pass\n", "b.py": "def refund(payment): return 1\n"}
    index = index_of(tmp_path, files)
    assert paths(index, "reserve payment", AS_SHIPPED) == []
    assert len(paths(index, "reserve payment", Mends(any_word=True))) == 2


def test_as_shipped_the_best_match_by_words_is_dropped_and_the_last_comes_first(
    tmp_path: Path,
) -> None:
    files = {
        "best.txt": "refund refund refund refund\n",
        "middle.txt": "refund refund " + FILLER,
        "last.txt": "refund " + FILLER * 20,
    }
    index = index_of(tmp_path, files)
    assert paths(index, "refund", AS_SHIPPED) == ["/shop/last.txt", "/shop/middle.txt"]
    assert paths(index, "refund", Mends(sign=True)) == ["/shop/best.txt", "/shop/middle.txt"]


def test_a_single_match_has_the_full_score_in_both_variants(tmp_path: Path) -> None:
    index = index_of(tmp_path, {"a.txt": "a refund is paid back\n", "b.txt": FILLER})
    for mends in (AS_SHIPPED, MENDED):
        assert [place.score for place in index.search("refund", mends=mends)] == [1.0]


def test_as_shipped_a_path_matches_the_first_word_whatever_it_means() -> None:
    assert path_words("How are orders refunded?", AS_SHIPPED) == ["how"]
    assert path_words("How are orders refunded?", MENDED) == ["orders", "refunded"]
    assert path_words("?", AS_SHIPPED) == [""]
    assert path_words("?", MENDED) == []


def test_a_path_that_matches_makes_words_count_half_as_much_again(tmp_path: Path) -> None:
    files = {
        "best.txt": "refund refund refund refund\n",
        # Contains the question's word, and FTS5, which compares whole words, does not find it.
        "reordering.txt": "refund " + FILLER * 2,
        "last.txt": "refund " + FILLER * 20,
    }
    index = index_of(tmp_path, files)
    plain, boosted = (
        {place.path: place.score for place in index.search("the order refund", mends=mends)}
        for mends in (Mends(sign=True, any_word=True), MENDED)
    )
    assert plain["/shop/best.txt"] == boosted["/shop/best.txt"] == 1
    assert 0 < plain["/shop/reordering.txt"] < 0.67
    assert boosted["/shop/reordering.txt"] == plain["/shop/reordering.txt"] * 1.5


def test_words_weigh_two_fifths_and_vectors_three(tmp_path: Path) -> None:
    files = {"a.txt": "refund " * 9, "b.txt": "refund " + FILLER, "c.txt": FILLER * 2}
    index = index_of(tmp_path, files)
    # The question's cosine to a.txt, b.txt and c.txt: 0, 0.6 and 1.
    index.set_vectors(np.array([[0, 1], [0.6, 0.8], [1, 0]], np.float32))
    places = index.search("refund", np.array([1, 0], np.float32), mends=MENDED)
    scores = [(place.path, pytest.approx(place.score, abs=1e-6)) for place in places]
    assert scores == [("/shop/c.txt", 0.6), ("/shop/a.txt", 0.4), ("/shop/b.txt", 0.36)]


@pytest.mark.parametrize("question", ['"', "NEAR(", "a AND", "*", "path:x", "'; --", "", " \n"])
def test_any_text_is_a_valid_question(tmp_path: Path, question: str) -> None:
    index = index_of(tmp_path, {"other.txt": FILLER})
    for mends in (AS_SHIPPED, MENDED):
        assert index.search(question, mends=mends) == []


@given(
    st.lists(st.sampled_from(["", "   ", "a line of more than twenty characters"]), max_size=200)
)
def test_chunks_lose_and_repeat_no_line(lines: list[str]) -> None:
    pieces = chunk("\n".join(lines))
    assert all(piece.text == "\n".join(lines[piece.start - 1 : piece.end]) for piece in pieces)
    assert all(piece.end - piece.start < 50 for piece in pieces)
    kept = [number for piece in pieces for number in range(piece.start, piece.end + 1)]
    assert sorted(set(kept)) == kept
    left = [line for number, line in enumerate(lines, start=1) if number not in set(kept)]
    assert all(not line.strip() for line in left)


def test_a_blank_line_among_the_last_fourteen_ends_a_chunk() -> None:
    def spans(blank: int) -> list[tuple[int, int]]:
        lines = [f"a line with the number {number}" for number in range(1, 81)]
        lines[blank - 1] = ""
        return [(piece.start, piece.end) for piece in chunk("\n".join(lines))]

    assert spans(blank=37) == [(1, 37), (38, 80)]
    assert spans(blank=36) == [(1, 50), (51, 80)]


def test_a_chunk_of_twenty_characters_is_dropped() -> None:
    assert chunk("x" * 20) == []
    assert chunk("x" * 21) == [Piece(1, 1, "x" * 21)]


def test_what_the_list_of_extensions_takes_and_leaves(tmp_path: Path) -> None:
    taken = ["local.env", "a.PY", ".hidden.py", "docs/b.md"]
    left = [
        ".env",
        "Dockerfile",
        "a.hs",
        "a.zig",
        "node_modules/a.js",
        "docs/.cache/c.md",
        "x/dist/a",
    ]
    for name in taken + left:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x", encoding="utf-8")
    (tmp_path / "large.json").write_bytes(b"1" * 500_000)
    found = [path.relative_to(tmp_path).as_posix() for path in collect(tmp_path)]
    assert found == [".hidden.py", "a.PY", "docs/b.md", "local.env"]


def test_html_is_read_as_markdown_without_scripts_and_navigation(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        "<nav>Menu</nav><h2>Refunds</h2><script>track()</script><p>paid <b>back</b></p>",
        encoding="utf-8",
    )
    assert read(page).strip() == "## Refunds\n\npaid **back**"


def test_a_document_that_cannot_be_read_is_told_and_the_rest_is_indexed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"broken.docx": "no archive", "good.txt": "a refund is paid back\n"}
    index = index_of(tmp_path, files)
    assert paths(index, "refund", MENDED) == ["/shop/good.txt"]
    assert "not read" in capsys.readouterr().err


def test_runs_name_paths_below_the_checkout_and_are_not_made_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "shop" / "src"
    root.mkdir(parents=True)
    (root / "refund.py").write_text("def refund(order): return 'paid back'\n", encoding="utf-8")
    topics, roots = tmp_path / "topics.jsonl", tmp_path / "roots.json"
    relevant = [{"path": "src/refund.py"}]
    topic = {"id": "t", "repo": "shop", "query": "where is money refund", "relevant": relevant}
    topics.write_text(json.dumps(topic), encoding="utf-8")
    roots.write_text(json.dumps({"shop": str(root)}), encoding="utf-8")
    work = tmp_path / "work"
    command = ["pi_local_rag.py", str(topics), str(roots), "--work", str(work), "--words"]
    monkeypatch.setattr(sys, "argv", command)
    assert pi_local_rag.main() == 0
    assert "shop: 1 chunks, 1 questions" in capsys.readouterr().err
    assert read_run(work / "as-shipped-words.jsonl")["t"] == []
    (found,) = read_run(work / "mended-words.jsonl")["t"]
    assert (found.path, found.start, found.end) == ("src/refund.py", 1, 2)
    assert pi_local_rag.main() == 0
    again = capsys.readouterr()
    assert again.err == ""
    assert re.search(r"ndcg10 +1\.0000", again.out)


def test_vectors_see_the_first_512_tokens_and_are_kept(tmp_path: Path) -> None:
    from reference.pi_vectors import TruncatingEmbedder

    # "refund" is a token, so that 510 of them and the two special ones fill the window.
    short, full = "money is paid back", "order " * 510
    embedder = TruncatingEmbedder(tmp_path)
    rows = embedder.embed([short, full, full + "refund " * 90])
    embedder.close()
    assert rows[1] == pytest.approx(rows[2], abs=1e-6)
    assert rows[0] @ load().embed_query(short) == pytest.approx(1, abs=1e-4)
    assert not np.allclose(rows[1], load().embed_passages([full])[0], atol=1e-3)
    again = TruncatingEmbedder(tmp_path)
    again._engine = None  # what is computed now would fail
    assert np.array_equal(again.embed([full, short]), rows[[1, 0]])
    again.close()
