from __future__ import annotations

from collections.abc import Sequence

import pytest

from rag_agent.search import fusion
from rag_agent.search.facts import Corpus, Facts
from rag_agent.search.matches import ChunkMatch, FileMatch
from rag_agent.search.question import Question
from rag_agent.search.signals import MEANING, OF_PROSE, SIGNALS, WORDS
from rag_agent.search.weights import HYBRID, WORDS_ONLY
from rag_agent.store import StoredChunk
from rag_agent.tokens import query_words
from rag_agent.types import Chunk, Kind, Root, Source, StoredDocument

CORPUS = Corpus(100.0, {"python": 1.0})
KEYS = [signal.key for signal in SIGNALS]


def ask(text: str) -> Question:
    words = query_words(text)
    return Question(text, words, dict.fromkeys(words, 2.0), names=tuple(text.split()))


def file(
    passages: Sequence[float] = (),
    cosines: Sequence[float | None] = (None,),
    *,
    bm25: float = 0.0,
    kind: Kind = "code",
    card: float | None = None,
    path: str = "src/a.py",
    title: str = "",
) -> FileMatch:
    """A file whose first chunk has all the passages, and one chunk for each cosine."""
    document = StoredDocument(
        1, Root(1, "/r"), path, kind, "python", title, Source(1, 1, ""), len(cosines), False
    )
    stored = StoredChunk(1, document, Chunk(path, 1, 9, "text"), path)
    chunks = [
        ChunkMatch(stored, tuple(passages) if place == 0 else (), bm25, cosine)
        for place, cosine in enumerate(cosines)
    ]
    return FileMatch(document, path, tuple(chunks), card)


def measured(files: Sequence[FileMatch], key: str) -> list[float | None]:
    return fusion.scaled([Facts(ask("needle"), one, CORPUS) for one in files])[key]


def scores(files: Sequence[FileMatch], alpha: float = fusion.ALPHA) -> list[float]:
    return [sum(parts.values()) for parts in fusion.score(ask("needle"), files, alpha, CORPUS)]


def test_passages_are_measured_by_the_best_file() -> None:
    files = [file([4.0, 3.0, 3.0, 9.0]), file([8.0])]
    assert measured(files, "words: best passages") == pytest.approx([1.0, 0.5])  # 9 + 4 + 3 = 16
    assert measured(files, "words: best passage") == pytest.approx([1.0, 8 / 9])


def test_words_that_match_nowhere_give_zero() -> None:
    assert measured([file(), file()], "words: best passages") == [0.0, 0.0]
    assert fusion.score(ask("needle"), [], 0.4, CORPUS) == []


def test_the_nearest_file_has_one_and_the_middle_one_zero() -> None:
    files = [file(cosines=[cosine]) for cosine in (0.3, 0.35, 0.4, 0.5, 0.7)]
    near = measured(files, "meaning: best chunk's meaning")
    assert near == pytest.approx([-1 / 3, -1 / 6, 0.0, 1 / 3, 1.0])


def test_a_file_is_near_by_the_mean_of_its_three_nearest_chunks() -> None:
    files = [file(cosines=[0.6, 0.1, 0.1]), file(cosines=[0.5] * 3), file(cosines=[0.1])]
    assert measured(files, "meaning: best chunks' meaning")[1] == 1.0
    assert measured(files, "meaning: best chunk's meaning")[0] == 1.0


def test_what_is_not_known_of_a_files_meaning_is_neither_zero_nor_one() -> None:
    files = [file(cosines=[None]), file(cosines=[0.4, None]), file(cosines=[None])]
    assert measured(files, "meaning: best chunk's meaning") == [None, 1.0, None]
    assert measured([file()], "meaning: best chunk's meaning") == [None]


def test_the_nearer_of_two_files_alike_in_words_comes_first() -> None:
    far, middle, near = scores([file([5.0], [cosine]) for cosine in (0.1, 0.2, 0.6)])
    assert far < middle < near


def test_alpha_takes_from_meaning_what_it_gives_to_words() -> None:
    files = [file([9.0], [0.1]), file([3.0], [0.6]), file([1.0], [0.2])]
    by_words, by_meaning = scores(files, alpha=1.0), scores(files, alpha=0.0)
    assert by_words.index(max(by_words)) == 0
    assert by_meaning.index(max(by_meaning)) == 1
    for alpha, absent in ((1.0, MEANING), (0.0, WORDS)):
        parts = fusion.score(ask("needle"), files, alpha, CORPUS)
        assert all(absent not in own for own in parts)


def test_words_stand_for_a_meaning_that_is_still_to_come() -> None:
    others = [file([1.0], [cosine]) for cosine in (0.1, 0.2, 0.3)]
    without = file([9.0], [None])
    ranked = scores([without, *others])
    assert ranked[0] == max(ranked)


@pytest.mark.parametrize("kind", ["code", "prose"])
def test_a_card_moves_a_file_without_vectors_less_than_vectors_do(kind: Kind) -> None:
    def spread(make: list[FileMatch]) -> float:
        ranked = scores([*make, file([1.0], [0.2], card=0.2), file([1.0], [0.3], card=0.3)])
        return ranked[1] - ranked[0]

    by_card = spread([file([5.0], kind=kind, card=card) for card in (0.1, 0.6)])
    by_both = spread([file([5.0], [c], kind=kind, card=c) for c in (0.1, 0.6)])
    assert 0 < by_card < by_both


def test_without_any_vector_the_weights_are_those_of_words_alone() -> None:
    parts = fusion.score(ask("needle"), [file([9.0]), file([3.0])], 0.0, CORPUS)
    assert all(own.get(WORDS, 0.0) > 0 for own in parts)  # alpha has nothing to blend


def test_the_tables_name_signals_and_meaning_has_no_weight_in_words_alone() -> None:
    assert set(HYBRID) <= set(KEYS)
    assert set(WORDS_ONLY) <= {key for key in KEYS if key not in fusion.MEANINGS}
    assert set(KEYS) >= OF_PROSE
    for table in (HYBRID, WORDS_ONLY):
        assert {key for key, weights in table.items() if weights[2]} <= OF_PROSE


def test_a_document_counts_for_its_title() -> None:
    titled, longer, plain = [
        file([5.0], kind="prose", path="a.md", title=title)
        for title in ("Needles, the needle", "A needle in a haystack", "")
    ]
    assert measured([titled, longer, plain], "defined names: title") == pytest.approx([1, 0.5, 0])
    best, second, last = scores([titled, longer, plain])
    assert best > second > last
    assert measured([file([5.0], title="The needle")], "defined names: title") == [0.0]  # code


def test_folders_say_nothing_of_a_document() -> None:
    named, other = scores(
        [file([5.0], kind="prose", path=f"{folder}/a.md") for folder in ("needle", "thread")]
    )
    assert named == pytest.approx(other)


def test_a_test_yields_to_what_it_tests() -> None:
    source, test = scores([file([5.0]), file([5.0], path="tests/test_a.py")])
    assert source > test
