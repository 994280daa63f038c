from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from matching import matching

from rag_agent.errors import StoreError
from rag_agent.store import Store, lexical
from rag_agent.tokens import words
from rag_agent.types import Chunk, Definition, Document, Passage, Root, Skipped, Source


def test_what_was_put_comes_back(store: Store, root: Root) -> None:
    text = "class Parser:\n    def parse(self):\n        return 1\n"
    chunk = Chunk(
        "src/parser.py",
        3,
        6,
        text,
        "Parser > parse",
        (Definition("Parser", "type", 3, 6), Definition("parse", "function", 4, 5)),
        (Passage(3, 3, "class Parser:"), Passage(4, 5, "    def parse(self):\n        return 1")),
    )
    source = Source(120, 1_700_000_000_123_456_789, "ab" * 32)
    document = Document("src/parser.py", "code", text, "python", "parser", converted=True)

    identifier = store.put(root, document, source, [chunk])

    (stored,) = store.chunks_of(identifier)
    assert stored.chunk == chunk
    assert stored.shown_path == "src/parser.py"
    assert stored.document == store.document(identifier)
    assert stored.document.source == source
    assert stored.document.converted
    assert (stored.document.kind, stored.document.language) == ("code", "python")
    assert stored.document.chunks == 1
    assert stored.passages == 2
    found = replace(stored, chunk=replace(chunk, passages=()))  # which are counted alone
    assert store.chunks([stored.id]) == {stored.id: found}
    assert store.check() == []


def test_a_passage_that_is_no_slice_of_its_chunk_keeps_its_own_text(
    store: Store, root: Root
) -> None:
    chunk = Chunk("a.md", 1, 1, "one two", passages=(Passage(1, 1, "something else"),))
    identifier = store.put(root, Document("a.md", "prose", ""), Source(1, 1, "x"), [chunk])
    assert store.chunks_of(identifier)[0].chunk == chunk
    assert lexical.match(store._database, ["someth"], 5) == [(1, "something else")]


def test_equal_passages_of_a_chunk_are_told_apart(store: Store, root: Root) -> None:
    passages = (Passage(1, 1, "same"), Passage(2, 2, "same"))
    chunk = Chunk("a.md", 1, 2, "same\nsame", passages=passages)
    identifier = store.put(root, Document("a.md", "prose", ""), Source(1, 1, "x"), [chunk])
    assert store.chunks_of(identifier)[0].chunk.passages == passages


def test_text_keeps_nul_characters_and_loses_only_lone_surrogates(
    store: Store, root: Root, put: Any
) -> None:
    identifier = put(store, root, "a.md", "before\0after \ud800 end", title="\udfff")
    (stored,) = store.chunks_of(identifier)
    assert stored.chunk.text == "before\0after ? end"
    assert stored.document.title == "?"


def test_a_path_that_is_no_utf8_is_refused_and_nothing_is_written(
    store: Store, root: Root, put: Any
) -> None:
    with pytest.raises(StoreError, match="rename it"):
        put(store, root, "caf\udce9.md", "text")
    assert store.counts().documents == 0


def test_putting_again_replaces(store: Store, root: Root, put: Any) -> None:
    first = put(store, root, "a.md", "apple", "banana")
    second = put(store, root, "a.md", "cherry")
    assert second == first
    assert [stored.chunk.text for stored in store.chunks_of(first)] == ["cherry"]
    assert matching(store, words("apple banana"), 5) == []
    assert store.counts().documents == store.counts().passages == 1


def test_vectors_of_unchanged_text_are_kept_although_its_lines_moved(
    store: Store, root: Root, put: Any
) -> None:
    put(store, root, "a.md", "apple", "banana", "apple")
    model = store.model("m", 3)
    ids = [pending.id for pending in store.pending(model, 10)]
    store.put_vectors(model, ids, np.eye(3, dtype=np.float32))

    identifier = put(store, root, "a.md", "new first", "banana", "apple", "apple")

    assert [pending.text for pending in store.pending(model, 10)] == ["new first"]
    kept = {stored.id: stored.chunk for stored in store.chunks_of(identifier)}
    assert (kept[ids[1]].text, kept[ids[1]].start) == ("banana", 2)
    assert sorted(kept[ids[place]].start for place in (0, 2)) == [3, 4]
    assert store.counts().vectors == {model: 3}


@pytest.mark.parametrize(
    "change",
    [
        {"title": "other"},
        {"heading": "other"},
        {"tags": ("other",)},
        {"metadata": {"description": "other"}},
    ],
)
def test_a_change_of_what_is_embedded_with_the_text_asks_for_a_new_vector(
    store: Store, root: Root, put: Any, change: dict[str, Any]
) -> None:
    put(store, root, "a.md", "apple")
    model = store.model("m", 2)
    store.put_vectors(model, [store.pending(model, 1)[0].id], np.eye(2, dtype=np.float32)[:1])
    put(store, root, "a.md", "apple", **change)
    assert store.count_pending(model) == len(store.pending(model, 10)) == 1


def test_a_pending_chunk_has_what_its_document_says_of_itself(
    store: Store, root: Root, put: Any
) -> None:
    metadata = {"Summary": "  All about\nwater. " + "x" * 400}
    put(store, root, "a.md", "apple", metadata=metadata, tags=("Sea", "kai/Nord"))
    put(store, root, "b.md", "apple", metadata={"author": "Ada"})
    put(store, root, "c.md", "apple", metadata={"description": "Generated by python-docx"})
    first, second, third = store.pending(store.model("m", 2), 5)
    assert first.description.startswith("All about water. xxx")
    assert len(first.description) == 300
    assert first.tags == ("sea", "kai/nord")
    assert (second.description, second.tags) == ("", ())
    assert third.description == ""


def test_the_id_of_a_removed_chunk_never_names_another(store: Store, root: Root, put: Any) -> None:
    first = store.chunks_of(put(store, root, "a.md", "apple"))[0].id
    store.forget([1])
    second = store.chunks_of(put(store, root, "a.md", "banana"))[0].id
    store.clear()
    third = store.chunks_of(put(store, root, "a.md", "cherry"))[0].id
    assert first < second < third


def test_a_failure_in_the_middle_leaves_the_document_as_it_was(
    store: Store, root: Root, put: Any
) -> None:
    identifier = put(store, root, "a.md", "apple")
    broken = Chunk("a.md", 1, 1, "banana", definitions=(Definition("f", None, 1, 1),))  # type: ignore[arg-type]
    with pytest.raises(StoreError):
        store.put(root, Document("a.md", "prose", ""), Source(1, 1, "x"), [broken])
    assert [stored.chunk.text for stored in store.chunks_of(identifier)] == ["apple"]
    assert [match.chunk.text for match in matching(store, ["appl"], 5)] == ["apple"]
    assert store.check() == []


def test_an_interruption_in_the_middle_leaves_the_document_as_it_was(
    store: Store, root: Root, put: Any
) -> None:
    class Interrupting(list[Chunk]):
        turns = 0

        def __iter__(self) -> Any:
            # The first walk over the chunks prepares them, later ones are inside the transaction.
            self.turns += 1
            if self.turns > 1:
                raise KeyboardInterrupt
            return super().__iter__()

    identifier = put(store, root, "a.md", "apple")
    with pytest.raises(KeyboardInterrupt):
        store.put(
            root,
            Document("a.md", "prose", ""),
            Source(9, 9, "x"),
            Interrupting([Chunk("a.md", 1, 1, "banana")]),
        )
    assert [stored.chunk.text for stored in store.chunks_of(identifier)] == ["apple"]
    assert put(store, root, "a.md", "cherry") == identifier


def test_touch_notes_the_state_of_the_file_and_nothing_else(
    store: Store, root: Root, put: Any
) -> None:
    identifier = put(store, root, "a.md", "apple")
    before = store.document(identifier)
    store.touch(identifier, Source(7, 8, "y"))
    after = store.document(identifier)
    assert after.source == Source(7, 8, "y")
    assert (after.path, after.chunks) == (before.path, before.chunks)


def test_forgetting_takes_words_vectors_and_definitions_along(
    store: Store, root: Root, put: Any
) -> None:
    gone = put(store, root, "old/apple.md", "apple pie", names=("bake",))
    stays = put(store, root, "new/apple.md", "apple tart", names=("bake",))
    model = store.model("m", 2)
    ids = [pending.id for pending in store.pending(model, 10)]
    store.put_vectors(model, ids, np.eye(2, dtype=np.float32))

    store.forget([gone, 12345])

    assert [match.document.id for match in matching(store, ["appl"], 5)] == [stays]
    assert store.match_paths(["old"], 5) == []
    assert [found[0] for found in store.match_paths(["appl"], 5)] == [stays]
    assert len(store.definitions(["bake"])) == 1
    assert [found[0] for found in store.nearest(model, np.ones(2, np.float32), 5)] == [ids[1]]
    assert store.document(gone) is None
    assert store.check() == []


def test_documents_are_listed_below_a_folder(store: Store, root: Root, put: Any) -> None:
    for name in ("src/a.py", "src/deep/b.py", "src.py", "src0/c.py", "src-old/d.py"):
        put(store, root, name, "text")
    assert set(store.documents(root, "src")) == {"src/a.py", "src/deep/b.py"}
    assert set(store.documents(root, "src.py")) == {"src.py"}
    assert len(store.documents(root)) == 5


def test_skipped_files_are_replaced_below_a_folder_only(store: Store, root: Root, put: Any) -> None:
    state = Skipped("src/big.bin", "binary", "NUL bytes", 10, 20)
    store.set_skipped(root, [state, Skipped("doc/a.pdf", "unreadable")])
    store.set_skipped(root, [Skipped("src/new.log", "too large")], "src")
    assert store.skipped() == [
        Skipped("doc/a.pdf", "unreadable"),
        Skipped("src/new.log", "too large"),
    ]
    store.set_skipped(root, [state])
    assert store.skipped(root) == [state]
    put(store, root, "src/big.bin", "it is text now")
    assert store.skipped() == []


def test_warnings_name_their_document(store: Store, root: Root, put: Any) -> None:
    put(store, root, "a.md", "x", warnings=("decoded as cp1252", "page 3 has no text"))
    put(store, root, "b.md", "x")
    assert store.warnings() == ["a.md: decoded as cp1252", "a.md: page 3 has no text"]


def test_meta_keeps_small_texts(store: Store) -> None:
    assert store.meta("last") is None
    store.set_meta("last", "yesterday")
    store.set_meta("last", "today")
    assert store.meta("last") == "today"


_WORDS = st.sampled_from(["apple", "banana", "cherry", "getHTTPResponse", "日本語"])
_TEXTS = st.lists(st.lists(_WORDS, min_size=1, max_size=4).map(" ".join), max_size=4)
_STEPS = st.lists(st.tuples(st.sampled_from(["a.md", "b/c.md", "d.md"]), _TEXTS | st.none()))


@given(steps=_STEPS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_history_of_puts_and_forgets_equals_a_fresh_store(
    steps: list[tuple[str, list[str] | None]],
    store: Store,
    root: Root,
    put: Any,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    # The store of earlier examples goes on; that is more history.
    store.forget([document.id for document in store.documents(root).values()])
    final: dict[str, list[str]] = {}
    for path, texts in steps:
        if texts is None:
            known = store.documents(root)
            store.forget([known[path].id] if path in known else [])
            final.pop(path, None)
        else:
            put(store, root, path, *texts)
            final[path] = texts
    with Store.open(tmp_path_factory.mktemp("fresh") / "rag.db") as fresh:
        other = fresh.add_root(root.path)
        for path, texts in final.items():
            put(fresh, other, path, *texts)
        assert _content(store) == _content(fresh)
    assert store.check() == []


def _content(store: Store) -> object:
    stems = sorted(set(words("apple banana cherry getHTTPResponse 日本語 md b c")))
    (root,) = store.roots()
    return (
        {path: document.chunks for path, document in store.documents(root).items()},
        {
            stem: sorted(
                (m.chunk.path, m.chunk.start, m.chunk.text) for m in matching(store, [stem], 99)
            )
            for stem in stems
        },
        [round(score, 9) for _, score in lexical.ranked(store._database, stems, 99)],
        store.passage_frequencies(stems),
        store.average_passage_words(),
        sorted(
            (store.document(found).path, round(score, 9))
            for found, score in store.match_paths(stems, 99)
        ),
    )
