from __future__ import annotations

import os
from pathlib import Path

import apsw
import pytest

import rag_agent
from rag_agent import paths
from rag_agent.errors import ConfigError, StoreError
from rag_agent.store import Store


def _folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


def test_the_variable_comes_first(tmp_path: Path) -> None:
    _folder(tmp_path / "project" / ".pi" / "rag")
    environ = {"PI_RAG_DIR": str(tmp_path / "elsewhere")}
    found = paths.store_folder(tmp_path / "project", environ, tmp_path)
    assert found == (tmp_path / "elsewhere", "environment")


def test_a_relative_variable_starts_at_the_working_folder(tmp_path: Path) -> None:
    found, _ = paths.store_folder(tmp_path / "a", {"PI_RAG_DIR": "../b"}, tmp_path)
    assert found == tmp_path / "b"


def test_an_empty_variable_is_none(tmp_path: Path) -> None:
    assert paths.store_folder(tmp_path, {"PI_RAG_DIR": ""}, tmp_path)[1] == "global"


def test_a_variable_that_names_a_file_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match="PI_RAG_DIR"):
        paths.store_folder(tmp_path, {"PI_RAG_DIR": str(file)}, tmp_path)


@pytest.mark.parametrize(
    "named", ["~nosuchuser/x", "x" * 300, "x\udcff", "x\0y"], ids=["user", "long", "bytes", "nul"]
)
def test_a_variable_that_no_folder_can_have_is_an_error(tmp_path: Path, named: str) -> None:
    with pytest.raises(ConfigError, match="PI_RAG_DIR=") as caught:
        paths.store_folder(tmp_path, {"PI_RAG_DIR": named}, tmp_path)
    str(caught.value).encode("utf-8")


def test_the_nearest_project_store_is_taken(tmp_path: Path) -> None:
    outer = _folder(tmp_path / "work" / ".pi" / "rag")
    inner = _folder(tmp_path / "work" / "project" / ".pi" / "rag")
    deep = _folder(tmp_path / "work" / "project" / "src" / "deep")
    assert paths.store_folder(deep, {}, tmp_path) == (inner, "project")
    assert paths.store_folder(tmp_path / "work" / "other", {}, tmp_path) == (outer, "project")


def test_the_walk_stops_before_the_home_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    own = _folder(home / ".pi" / "rag")
    _folder(tmp_path / ".pi" / "rag")
    project = _folder(home / "project")
    for cwd in (home, project):
        assert paths.store_folder(cwd, {}, home) == (own, "global")
    # Outside the home folder there is nothing to stop at.
    outside = _folder(tmp_path / "outside")
    assert paths.store_folder(outside, {}, home) == (tmp_path / ".pi" / "rag", "project")


def test_a_file_of_that_name_is_no_store(tmp_path: Path) -> None:
    _folder(tmp_path / "project" / ".pi")
    (tmp_path / "project" / ".pi" / "rag").write_text("", encoding="utf-8")
    assert paths.store_folder(tmp_path / "project", {}, tmp_path)[1] == "global"


def test_the_global_store_lies_in_the_home_folder_of_the_process(
    tmp_path: Path, home: Path
) -> None:
    assert paths.store_folder(tmp_path, {}) == (home.resolve() / ".pi" / "rag", "global")


def test_looking_creates_nothing(tmp_path: Path) -> None:
    paths.store_folder(tmp_path / "project", {"PI_RAG_DIR": str(tmp_path / "a")}, tmp_path)
    paths.store_folder(tmp_path / "project", {}, tmp_path)
    paths.database(paths.project_store(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_store_folder_stays_out_of_version_control(tmp_path: Path) -> None:
    folder = paths.project_store(tmp_path)
    paths.create_store_folder(folder)
    ignore = folder / ".gitignore"
    assert ignore.read_text(encoding="utf-8") == "*\n"
    ignore.write_text("*\n!config.json\n", encoding="utf-8")
    paths.create_store_folder(folder)
    assert ignore.read_text(encoding="utf-8") == "*\n!config.json\n"


def test_a_folder_that_somebody_filled_is_not_kept_out_of_version_control(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("", encoding="utf-8")
    paths.create_store_folder(tmp_path)
    assert not (tmp_path / ".gitignore").exists()
    # Our own is, whatever is in it already; an empty one too.
    (paths.project_store(tmp_path) / "more").mkdir(parents=True)
    for folder in (paths.project_store(tmp_path), _folder(tmp_path / "empty")):
        paths.create_store_folder(folder)
        assert (folder / ".gitignore").exists()


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX's")
def test_an_index_is_for_its_user_alone_unless_they_share_it(tmp_path: Path) -> None:
    folder = paths.project_store(tmp_path)
    folder.mkdir(parents=True)  # as a clone brings it along
    (folder / "config.json").write_text("{}", encoding="utf-8")
    folder.chmod(0o755)
    elsewhere = tmp_path / "elsewhere"
    for made in (folder, elsewhere):
        paths.create_store_folder(made)
        assert made.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o750)
    paths.create_store_folder(folder)
    assert folder.stat().st_mode & 0o777 == 0o750
    assert (tmp_path / ".pi").stat().st_mode & 0o077


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX's")
def test_nobody_else_may_read_an_index_wherever_it_lies(tmp_path: Path) -> None:
    (tmp_path / "filled").mkdir()
    (tmp_path / "filled/x").write_text("", encoding="utf-8")
    (tmp_path / "filled").chmod(0o755)
    (tmp_path / "a.md").write_text("# A\n\nquokka\n", encoding="utf-8")
    named = {paths.VARIABLE: str(tmp_path / "filled")}
    with rag_agent.open(tmp_path, environ=named) as index:
        index.sync(".")
        assert not index.search("quokka").nothing_indexed
        for file in (tmp_path / "filled").glob("rag*"):
            assert file.stat().st_mode & 0o077 == 0, file
    assert (tmp_path / "filled").stat().st_mode & 0o777 == 0o755


def test_a_store_folder_that_cannot_be_made_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / ".pi").write_text("", encoding="utf-8")
    with pytest.raises(StoreError, match="PI_RAG_DIR"):
        paths.create_store_folder(paths.project_store(tmp_path))


def test_our_database_lies_beside_that_of_another_program(tmp_path: Path) -> None:
    assert paths.database(tmp_path) == tmp_path / "rag.db"
    connection = apsw.Connection(str(tmp_path / "rag.db"))
    connection.execute("CREATE TABLE files (path TEXT)")
    connection.close()
    before = (tmp_path / "rag.db").read_bytes()

    with Store.open(paths.database(tmp_path)) as store:
        assert store.path == tmp_path / "rag_agent.db"

    assert (tmp_path / "rag.db").read_bytes() == before
    (tmp_path / "rag.db").unlink()
    assert paths.database(tmp_path) == tmp_path / "rag_agent.db"


@pytest.mark.parametrize("content", [b"", b"x" * 50, b"x" * 500])
def test_a_file_that_is_no_database_is_not_another_programs(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "rag.db").write_bytes(content)
    assert paths.database(tmp_path) == tmp_path / "rag.db"


def test_our_own_database_is_recognised(tmp_path: Path) -> None:
    with Store.open(tmp_path / "rag.db"):
        assert paths.database(tmp_path) == tmp_path / "rag.db"
    assert not paths.is_foreign(tmp_path / "rag.db")


def test_caches_and_logs_are_ours() -> None:
    for folder in (paths.cache_folder(), paths.log_folder()):
        assert folder.is_absolute()
        assert "rag_agent" in folder.parts


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """No home folder is known, as for a user whom the system does not know."""
    for name in (
        "HOME", "USERPROFILE", "HOMEPATH", "XDG_CACHE_HOME", "XDG_STATE_HOME",
    ):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    pwd = pytest.importorskip("pwd", reason="other systems always know a home folder")

    def unknown(user: int) -> None:
        raise KeyError(user)

    monkeypatch.setattr(pwd, "getpwuid", unknown)


@pytest.mark.usefixtures("homeless")
def test_without_a_home_folder_a_project_store_is_found(tmp_path: Path) -> None:
    store = _folder(tmp_path / "project" / ".pi" / "rag")
    assert paths.store_folder(tmp_path / "project" / "src", {}) == (store, "project")
    assert paths.store_folder(tmp_path, {"PI_RAG_DIR": str(tmp_path)})[1] == "environment"
    with pytest.raises(ConfigError, match="set HOME, or PI_RAG_DIR"):
        paths.store_folder(tmp_path, {})


@pytest.mark.usefixtures("homeless")
def test_without_a_home_folder_caches_are_temporary_and_logs_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = paths.cache_folder()
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o077 == 0
    assert paths.cache_folder() == folder
    with pytest.raises(ConfigError, match="home folder"):
        paths.log_folder()


@pytest.mark.usefixtures("homeless")
def test_a_temporary_cache_that_others_can_reach_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = paths.cache_folder()
    folder.chmod(0o777)
    with pytest.raises(ConfigError, match="XDG_CACHE_HOME"):
        paths.cache_folder()
    folder.rmdir()
    folder.symlink_to(_folder(tmp_path / "theirs"))
    with pytest.raises(ConfigError, match="XDG_CACHE_HOME"):
        paths.cache_folder()


def test_a_store_that_is_a_link_leaves_what_it_leads_to_as_it_is(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir(mode=0o755)
    (tmp_path / "project" / ".pi").mkdir(parents=True)
    store = tmp_path / "project" / ".pi" / "rag"
    try:
        store.symlink_to(target, target_is_directory=True)
    except OSError:
        pytest.skip("no links may be made here")
    paths.create_store_folder(store)
    assert target.stat().st_mode & 0o777 == 0o755
    assert list(target.iterdir()) == []
