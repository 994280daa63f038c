"""Votes of commits, on stores whose commits are put by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_agent.store import Store
from rag_agent.store.glance import Glance
from rag_agent.store.records import Commit, Repository
from rag_agent.tokens import words
from rag_agent.types import Root

Put = Callable[..., int]


def commit(number: int, message: str, *paths: str, files: int | None = None) -> Commit:
    return Commit(f"{number:040x}", message, paths, len(paths) if files is None else files)


@pytest.fixture
def repository(store: Store, root: Root) -> Repository:
    return store.commits.add(root, "")


def read(store: Store, root: Root, repository: Repository, *commits: Commit) -> None:
    store.commits.put(root, repository, commits)
    store.commits.link()


def votes(store: Store, question: str, k: int = 200) -> dict[str, float]:
    """By path."""
    found = store.history_votes(words(question), k)
    documents = store.documents_by_id(list(found))
    return {documents[identifier].path: vote for identifier, vote in found.items()}


def test_a_commits_message_points_to_the_files_it_changed(
    store: Store, root: Root, repository: Repository, put: Put
) -> None:
    for path in ("retry.py", "parse.py", "other.py"):
        put(store, root, path, "x")
    read(
        store,
        root,
        repository,
        commit(1, "Retry webhooks with backoff", "retry.py"),
        commit(2, "Parse URLs", "parse.py"),
    )
    assert votes(store, "webhook retries") == {"retry.py": 1.0}


def test_words_are_stemmed_and_identifiers_split_as_in_questions(
    store: Store, root: Root, repository: Repository, put: Put
) -> None:
    put(store, root, "a.py", "x")
    read(store, root, repository, commit(1, "Make parseHTTPHeaders strict", "a.py"))
    assert votes(store, "parsing of a header") == {"a.py": 1.0}


def test_a_commit_that_changes_fewer_files_says_more_of_each(
    store: Store, root: Root, repository: Repository, put: Put
) -> None:
    for path in ("alone.py", "one.py", "two.py", "three.py", "four.py"):
        put(store, root, path, "x")
    read(
        store,
        root,
        repository,
        commit(1, "Handle timeouts", "alone.py"),
        commit(2, "Handle timeouts", "one.py", "two.py", "three.py", "four.py"),
    )
    found = votes(store, "timeouts")
    # Both score alike and each file has one commit: what is left is the root of the files.
    assert found == pytest.approx(
        {"alone.py": 1.0, "one.py": 0.5, "two.py": 0.5, "three.py": 0.5, "four.py": 0.5}
    )


def test_a_file_that_every_commit_changes_is_less_of_a_clue(
    store: Store, root: Root, repository: Repository, put: Put
) -> None:
    for path in ("changelog.md", "cache.py"):
        put(store, root, path, "x")
    read(
        store,
        root,
        repository,
        commit(1, "Empty the cache", "changelog.md", "cache.py"),
        *(commit(number, f"Other things {number}", "changelog.md") for number in range(2, 40)),
    )
    found = votes(store, "empty cache")
    assert found["cache.py"] == 1.0
    assert 0 < found["changelog.md"] < 0.5


def test_only_documents_of_the_index_are_pointed_to(
    store: Store, root: Root, repository: Repository, put: Put
) -> None:
    kept, removed = put(store, root, "kept.py", "x"), put(store, root, "removed.py", "x")
    read(store, root, repository, commit(1, "Rename flags", "kept.py", "removed.py", ".env"))
    assert set(store.history_votes(words("flags"))) == {kept, removed}
    store.forget([removed])
    assert store.history_votes(words("flags")) == {kept: 1.0}


def test_a_document_that_comes_later_is_pointed_to_by_the_commits_that_are_known(
    store: Store, root: Root, repository: Repository, put: Put
) -> None:
    read(store, root, repository, commit(1, "Rename flags", "late.py"))
    assert votes(store, "flags") == {}
    put(store, root, "late.py", "x")
    store.commits.link()
    assert votes(store, "flags") == {"late.py": 1.0}


def test_a_document_that_is_put_again_keeps_its_votes(
    store: Store, root: Root, repository: Repository, put: Put
) -> None:
    put(store, root, "a.py", "x")
    read(store, root, repository, commit(1, "Rename flags", "a.py"))
    put(store, root, "a.py", "y")
    assert votes(store, "flags") == {"a.py": 1.0}


def test_commits_of_more_than_twenty_files_have_no_vote_and_are_known(
    store: Store, root: Root, repository: Repository, put: Put
) -> None:
    paths = [f"{number}.py" for number in range(21)]
    for path in paths:
        put(store, root, path, "x")
    read(
        store,
        root,
        repository,
        commit(1, "Reformat everything", *paths),
        commit(2, "Reformat less", *paths[:20]),
    )
    assert store.counts().commits == 1
    assert len(store.commits.hashes(repository)) == 2
    assert set(votes(store, "reformat everything")) == set(paths[:20])


def test_names_in_composed_and_decomposed_letters_are_the_same_file(
    store: Store, root: Root, repository: Repository, put: Put
) -> None:
    put(store, root, "u\u0308ber.py", "x")
    read(store, root, repository, commit(1, "Rename flags", "\u00fcber.py"))
    assert votes(store, "flags") == {"u\u0308ber.py": 1.0}


def test_a_forgotten_repository_leaves_nothing(
    store: Store, root: Root, repository: Repository, put: Put
) -> None:
    put(store, root, "a.py", "x")
    read(store, root, repository, commit(1, "Rename flags", "a.py"))
    store.commits.forget([repository.id])
    assert (votes(store, "flags"), store.counts().commits) == ({}, 0)
    assert store.check() == []


@pytest.mark.parametrize("how", ["root", "documents", "history"])
def test_history_goes_with_what_it_belongs_to(
    store: Store, root: Root, repository: Repository, put: Put, how: str
) -> None:
    put(store, root, "a.py", "x")
    read(store, root, repository, commit(1, "Rename flags", "a.py"))
    {
        "root": lambda: store.remove_root(root),
        "documents": store.clear,
        "history": store.commits.clear,
    }[how]()
    assert store.history_votes(words("flags")) == {}
    assert store.counts().commits == 0
    assert store.commits.repositories(root) == {}
    assert store.check() == []


def test_a_removed_commit_votes_no_more(
    store: Store, root: Root, repository: Repository, put: Put
) -> None:
    for path in ("a.py", "b.py"):
        put(store, root, path, "x")
    read(
        store, root, repository, commit(1, "Rename flags", "a.py"), commit(2, "Sort flags", "b.py")
    )
    store.commits.remove(repository, [f"{1:040x}"])
    store.commits.link()
    assert votes(store, "rename flags") == {"b.py": 1.0}
    assert store.check() == []


def test_commits_as_good_as_the_last_that_votes_vote_as_well(
    store: Store, root: Root, repository: Repository, put: Put
) -> None:
    for number in range(6):
        put(store, root, f"{number}.py", "x")
    read(
        store,
        root,
        repository,
        *(commit(number, "Sort flags", f"{number}.py") for number in range(6)),
    )
    assert len(votes(store, "flags", k=2)) == 6


def test_the_best_commits_vote_and_no_others(
    store: Store, root: Root, repository: Repository, put: Put
) -> None:
    for number in range(4):
        put(store, root, f"{number}.py", "x")
    read(
        store,
        root,
        repository,
        # The longer a message, the less its one word counts.
        *(commit(number, "flags" + " more" * number, f"{number}.py") for number in range(4)),
    )
    assert set(votes(store, "flags", k=2)) == {"0.py", "1.py"}


def test_a_hook_that_only_glances_gets_the_same_votes(
    store: Store, root: Root, repository: Repository, put: Put, path: Path
) -> None:
    put(store, root, "a.py", "x")
    put(store, root, "b.py", "x")
    read(
        store,
        root,
        repository,
        commit(1, "Rename flags", "a.py"),
        commit(2, "Sort flags of commands", "b.py"),
    )
    glance = Glance.open(path)
    try:
        assert glance.history_votes(words("flags")) == store.history_votes(words("flags"))
    finally:
        glance.close()


def test_no_sentence_of_a_message_and_no_path_stands_in_the_file(
    store: Store, root: Root, repository: Repository, path: Path
) -> None:
    read(
        store,
        root,
        repository,
        commit(1, "Zanzibar aardvark mongoose", "private/salaries.ods"),
    )
    store.close()
    data = path.read_bytes()
    assert b"mongoos" in data  # the stem
    assert b"Zanzibar aardvark" not in data
    assert b"zanzibar aardvark" not in data
    assert b"salaries" not in data


@given(
    messages=st.lists(st.text(max_size=60), max_size=5),
    question=st.text(max_size=60),
    k=st.integers(-1, 300),
)
def test_any_message_and_any_question_are_well(
    tmp_path_factory: pytest.TempPathFactory, messages: list[str], question: str, k: int
) -> None:
    folder = tmp_path_factory.mktemp("store")
    with Store.open(folder / "rag.db") as store:
        root = store.add_root(str(folder))
        repository = store.commits.add(root, "")
        commits = [commit(number, text, "a.py") for number, text in enumerate(messages)]
        read(store, root, repository, *commits)
        for asked in (words(question), question.split(), [question]):
            assert all(0 <= vote <= 1 for vote in store.history_votes(asked, k).values())
        assert store.check() == []
