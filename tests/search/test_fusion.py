from __future__ import annotations

from collections.abc import Sequence

import pytest

from rag_agent.search.fusion import blend, lexical, semantic
from rag_agent.search.matches import ChunkMatch, FileMatch
from rag_agent.store import StoredChunk
from rag_agent.types import Chunk, Kind, Root, Source, StoredDocument


def file(
    passages: Sequence[float] = (),
    cosines: Sequence[float | None] = (None,),
    *,
    bm25: float = 0.0,
    kind: Kind = "code",
) -> FileMatch:
    """A file whose first chunk has all the passages, and one chunk for each cosine."""
    document = StoredDocument(
        1, Root(1, "/r"), "a.py", kind, "", "", Source(1, 1, ""), len(cosines), False
    )
    stored = StoredChunk(1, document, Chunk("a.py", 1, 9, "text"), "a.py")
    chunks = [
        ChunkMatch(stored, tuple(passages) if place == 0 else (), bm25, cosine)
        for place, cosine in enumerate(cosines)
    ]
    return FileMatch(document, "a.py", tuple(chunks))


def test_code_is_judged_by_its_three_best_passages_and_its_best_chunk() -> None:
    best, half = lexical([file([4.0, 3.0, 3.0, 9.0], bm25=8.0), file([8.0], bm25=4.0)])
    assert best == pytest.approx(1.0)  # 9 + 4 + 3 = 16 is the most
    assert half == pytest.approx(0.56 * 0.5 + 0.44 * 0.5)


def test_prose_is_judged_by_its_best_passage_alone() -> None:
    one = file([8.0], bm25=1.0, kind="prose")
    many = file([6.0, 6.0, 6.0], bm25=1.0, kind="prose")
    assert lexical([one, many])[0] > lexical([one, many])[1]


def test_words_that_match_nowhere_give_zero() -> None:
    assert lexical([file(), file()]) == [0.0, 0.0]
    assert lexical([]) == []


def test_the_nearest_file_has_one_and_the_middle_one_zero() -> None:
    files = [file(cosines=[cosine]) for cosine in (0.2, 0.3, 0.4, 0.5, 0.7)]
    assert semantic(files) == pytest.approx([0.0, 0.0, 0.0, 1 / 3, 1.0])


def test_code_is_near_by_the_mean_of_three_chunks_and_prose_by_one() -> None:
    single = [0.6, 0.1, 0.1]
    low = file(cosines=[0.1])
    assert semantic([file(cosines=single), file(cosines=[0.5] * 3), low])[1] == 1.0
    prose = [file(cosines=single, kind="prose"), file(cosines=[0.5] * 3, kind="prose"), low]
    assert semantic(prose)[0] == 1.0


def test_a_file_without_a_vector_is_not_known_rather_than_far() -> None:
    assert semantic([file(cosines=[None]), file(cosines=[0.4, None])]) == [None, 1.0]
    assert semantic([file(cosines=[None])]) == [None]


def test_alpha_is_the_weight_of_the_words() -> None:
    assert blend(1.0, 0.5, 0.4) == pytest.approx((0.4, 0.3))
    assert blend(1.0, 0.5, 1.0) == (1.0, 0.0)
    assert blend(1.0, 0.5, 0.0) == (0.0, 0.5)


def test_code_gives_meaning_half_the_weight_and_keeps_both_ends() -> None:
    assert blend(1.0, 1.0, 0.4, "code") == pytest.approx((4 / 7, 3 / 7))
    assert blend(1.0, 0.5, 1.0, "code") == (1.0, 0.0)
    assert blend(1.0, 0.5, 0.0, "code") == (0.0, 0.5)


def test_words_stand_for_a_meaning_that_is_not_known() -> None:
    assert blend(0.8, None, 0.4) == (0.8, 0.0)
