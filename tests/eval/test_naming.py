from __future__ import annotations

import json
from pathlib import Path

import pytest

from rag_agent.errors import QueryError
from rag_agent.eval.naming import renaming


@pytest.mark.parametrize("prefix", ["src/click", "src/click/", "./src/click", "src\\click"])
def test_the_part_of_the_checkout_above_the_folder_is_put_in_front(
    prefix: str, tmp_path: Path
) -> None:
    assert renaming([tmp_path], prefix)("core.py") == "src/click/core.py"


@pytest.mark.parametrize("prefix", ["", ".", "./"])
def test_without_a_prefix_paths_stay(prefix: str, tmp_path: Path) -> None:
    assert renaming([tmp_path], prefix)("core.py") == "core.py"


def test_a_map_in_the_tracked_folder_gives_documents_their_names(tmp_path: Path) -> None:
    (tmp_path / "_map.json").write_text(json.dumps({"a_b.md": "a/b", "7.md": 7}), encoding="utf-8")
    rename = renaming([tmp_path], "ignored")
    assert [rename("a_b.md"), rename("7.md"), rename("other.md")] == ["a/b", "7", "other.md"]


def test_with_several_tracked_folders_no_map_is_read(tmp_path: Path) -> None:
    (tmp_path / "_map.json").write_text(json.dumps({"a.md": "A"}), encoding="utf-8")
    assert renaming([tmp_path, tmp_path / "other"])("a.md") == "a.md"


@pytest.mark.parametrize("text", ["nonsense", "[]", "3"])
def test_a_map_that_is_none_is_an_error_that_names_it(text: str, tmp_path: Path) -> None:
    (tmp_path / "_map.json").write_text(text, encoding="utf-8")
    with pytest.raises(QueryError, match=r"_map\.json"):
        renaming([tmp_path])
