"""Setting up where something is in the way, was changed by others, or fails in the midst."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rag_agent import hosts
from rag_agent.errors import HostError
from rag_agent.hosts import contents
from rag_agent.hosts.setup import install, state_folder, uninstall
from rag_agent.hosts.standing import left_behind, problems, state
from rag_agent.hosts.types import Entry, Host, Item, OwnFile, Place

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "hosts"
CURSOR = hosts.get("cursor")
posix = pytest.mark.skipif(os.name == "nt", reason="modes, links and pipes of POSIX")
not_root = pytest.mark.skipif(
    hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere"
)


@pytest.fixture
def place(home: Path, tmp_path: Path) -> Place:
    return Place("user", home, tmp_path, dict(os.environ), ("/opt/bin/rag-agent",))


@pytest.fixture
def settings(home: Path) -> Path:
    """The settings of Cursor, with other servers in them."""
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    shutil.copy(FIXTURES / "cursor.json", path)
    return path


def everything(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def copies() -> list[Path]:
    return list((state_folder() / "copies").iterdir())


def test_a_dry_run_leaves_no_trace_of_its_own_either(
    home: Path, place: Place, settings: Path
) -> None:
    before = everything(home)
    assert install(CURSOR, place, state_folder(), dry_run=True)
    assert uninstall(CURSOR, place, state_folder(), dry_run=True) == []
    assert everything(home) == before


def test_what_is_set_up_already_is_not_even_noted(place: Place, settings: Path) -> None:
    install(CURSOR, place, state_folder())
    journal = state_folder() / "journal.json"
    before = journal.stat().st_mtime_ns
    assert install(CURSOR, place, state_folder()) == []
    assert journal.stat().st_mtime_ns == before


@posix
def test_a_pipe_in_place_of_a_file_is_not_waited_for(place: Place, settings: Path) -> None:
    settings.unlink()
    os.mkfifo(settings)
    with pytest.raises(HostError, match=r"mcp\.json is not a file"):
        install(CURSOR, place, state_folder())


def test_a_file_in_place_of_a_folder_is_an_error(home: Path, place: Place) -> None:
    (home / ".cursor").write_text("")
    with pytest.raises(HostError, match="nothing was changed"):
        install(CURSOR, place, state_folder())
    assert (home / ".cursor").read_text() == ""


@posix
@not_root
@pytest.mark.parametrize("protected", ["mcp.json", "."])
def test_what_is_write_protected_is_left_alone(
    place: Place, settings: Path, protected: str
) -> None:
    path = settings.parent / protected
    mode = path.stat().st_mode
    path.chmod(mode & ~0o222)
    try:
        with pytest.raises(HostError, match=r"mcp\.json .*; nothing was changed"):
            install(CURSOR, place, state_folder())
    finally:
        path.chmod(mode)
    assert settings.read_bytes() == (FIXTURES / "cursor.json").read_bytes()
    assert copies() == []


@posix
def test_a_link_to_nothing_is_a_link_to_nothing_again(home: Path, place: Place) -> None:
    link = home / ".cursor" / "mcp.json"
    link.parent.mkdir()
    (home / "dotfiles").mkdir()
    link.symlink_to(home / "dotfiles" / "mcp.json")
    install(CURSOR, place, state_folder())
    assert (home / "dotfiles" / "mcp.json").is_file()
    uninstall(CURSOR, place, state_folder())
    assert link.is_symlink()
    assert not link.exists()


@posix
def test_copies_of_settings_are_for_nobody_else_to_read(place: Place, settings: Path) -> None:
    install(CURSOR, place, state_folder())
    (copy,) = copies()
    assert copy.read_bytes() == (FIXTURES / "cursor.json").read_bytes()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert stat.S_IMODE(state_folder().stat().st_mode) == 0o700
    uninstall(CURSOR, place, state_folder())
    assert copies() == []


def test_a_program_that_writes_at_the_same_time_is_not_overwritten(
    place: Place, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = contents.with_edit

    def meanwhile(content: bytes, edit: Entry | Item) -> bytes:
        settings.write_bytes(b'{"theirs": 1}')
        return real(content, edit)

    monkeypatch.setattr(contents, "with_edit", meanwhile)
    with pytest.raises(HostError, match="changed just now by another program"):
        install(CURSOR, place, state_folder())
    assert settings.read_bytes() == b'{"theirs": 1}'


def test_a_copy_that_is_damaged_is_not_given_back(place: Place, settings: Path) -> None:
    install(CURSOR, place, state_folder())
    (copy,) = copies()
    copy.write_bytes(b"{")
    uninstall(CURSOR, place, state_folder())
    assert settings.read_bytes() == (FIXTURES / "cursor.json").read_bytes()


@pytest.mark.parametrize("damage", ["{", "[]", '{"a": 1}', '{"a": {"made": 3}}', "\x00"])
def test_a_journal_that_is_damaged_stops_nothing(place: Place, settings: Path, damage: str) -> None:
    install(CURSOR, place, state_folder())
    (state_folder() / "journal.json").write_text(damage)
    assert install(CURSOR, place, state_folder()) == []
    uninstall(CURSOR, place, state_folder())
    assert settings.read_bytes() == (FIXTURES / "cursor.json").read_bytes()


def test_who_took_our_entry_out_by_hand_begins_anew(place: Place, settings: Path) -> None:
    install(CURSOR, place, state_folder())
    settings.write_text('{"mcpServers": { }}')
    install(CURSOR, place, state_folder())
    uninstall(CURSOR, place, state_folder())
    assert settings.read_text() == '{"mcpServers": { }}'


def test_a_file_that_was_removed_meanwhile_stays_removed(place: Place, settings: Path) -> None:
    install(CURSOR, place, state_folder())
    settings.unlink()
    uninstall(CURSOR, place, state_folder())
    assert not settings.exists()
    install(CURSOR, place, state_folder())
    uninstall(CURSOR, place, state_folder())
    assert not settings.exists()


def test_an_update_after_edits_of_the_user_leaves_the_edits(place: Place, settings: Path) -> None:
    install(CURSOR, place, state_folder())
    text = settings.read_text()
    settings.write_text(text.replace('"--readonly"', '"--fast"'))
    install(CURSOR, replace(place, program=("/new/rag-agent",)), state_folder())
    uninstall(CURSOR, place, state_folder())
    original = (FIXTURES / "cursor.json").read_text()
    assert settings.read_text() == original.replace('"--readonly"', '"--fast"')


def test_a_file_that_we_made_and_the_user_writes_into_stays_with_that(
    home: Path, place: Place
) -> None:
    install(CURSOR, place, state_folder())
    path = home / ".cursor" / "mcp.json"
    path.write_text(path.read_text().replace("{", "{\n  // mine", 1))
    uninstall(CURSOR, place, state_folder())
    assert path.read_text().split() == ["{", "//", "mine", "}"]


# Files that are wholly ours


def host(*files: str, content: bytes = b"of rag-agent 1", folder: str = "rag-agent") -> Host:
    def edits(place: Place) -> list[OwnFile]:
        return [OwnFile(place.home / "x" / folder / name, content) for name in files]

    return Host("x", "X", edits)


def test_what_an_earlier_version_wrote_and_this_one_does_not_is_removed(
    home: Path, place: Place
) -> None:
    install(host("a.md", "commands/old.md"), place, state_folder())
    install(host("a.md", content=b"of rag-agent 2"), place, state_folder())
    assert not (home / "x" / "rag-agent" / "commands").exists()
    assert (home / "x" / "rag-agent" / "a.md").read_bytes() == b"of rag-agent 2"
    uninstall(host("a.md", content=b"of rag-agent 2"), place, state_folder())
    assert not (home / "x").exists()


def test_files_of_other_hosts_in_a_project_of_our_name_stay(home: Path) -> None:
    project = home / "rag-agent"
    project.mkdir()
    place = Place("project", home, project, {}, ("rag-agent",))
    for name in ("opencode", "gemini"):
        install(hosts.get(name), place, state_folder())
    uninstall(hosts.get("gemini"), place, state_folder())
    assert (project / ".opencode" / "command" / "rag.md").is_file()


def test_files_of_ours_from_a_colleague_are_updated_and_taken_out(home: Path) -> None:
    project = home / "project"
    project.mkdir()
    for name in ("opencode", "gemini", "pi", "claude-code", "codex", "continue"):
        mine = Place("project", home, project, {}, ("/mine/rag-agent",))
        install(hosts.get(name), replace(mine, program=("/theirs/rag-agent",)), home / "theirs")
        install(hosts.get(name), mine, state_folder())
        assert state(hosts.get(name), mine) == "set up"
        uninstall(hosts.get(name), mine, state_folder())
        assert state(hosts.get(name), mine) == "no"
        assert left_behind(hosts.get(name), mine) == []


def test_a_file_of_the_user_that_only_speaks_of_us_is_not_replaced(
    home: Path, place: Place
) -> None:
    theirs = home / "x" / "rag-agent" / "a.md"
    theirs.parent.mkdir(parents=True)
    theirs.write_bytes(b"run rag-agent\nand tell\n")
    with pytest.raises(HostError, match=r"a\.md is there already and not as we would"):
        install(host("a.md"), place, state_folder())
    assert theirs.read_bytes() == b"run rag-agent\nand tell\n"


def test_a_file_of_ours_that_the_user_changed_is_not_replaced_and_named(
    home: Path, place: Place
) -> None:
    install(host("a.md"), place, state_folder())
    path = home / "x" / "rag-agent" / "a.md"
    path.write_bytes(b"my rag-agent")
    with pytest.raises(HostError, match=r"a\.md is there already and not as we would"):
        install(host("a.md", content=b"of rag-agent 2"), place, state_folder())
    uninstall(host("a.md"), place, state_folder())
    assert left_behind(host("a.md"), place) == [path]
    assert path.read_bytes() == b"my rag-agent"


@pytest.mark.parametrize("first", ["a", "b"])
def test_a_folder_that_two_hosts_share_goes_with_the_last(
    home: Path, place: Place, first: str
) -> None:
    both = {name: host(f"{name}.md", folder=".") for name in ("a", "b")}
    for each in both.values():
        install(each, place, state_folder())
    uninstall(both.pop(first), place, state_folder())
    assert (home / "x").is_dir()
    uninstall(*both.values(), place, state_folder())
    assert not (home / "x").exists()


# How it stands


def test_problems_name_the_file_and_the_program(home: Path, place: Place, settings: Path) -> None:
    install(CURSOR, place, state_folder())
    other = replace(place, program=(sys.executable, "-m", "rag_agent"))
    assert problems(CURSOR, other) == [f"{settings} starts /opt/bin/rag-agent, which is not there"]
    install(CURSOR, other, state_folder())
    assert problems(CURSOR, other) == []
    assert problems(CURSOR, place) == [f"{settings} starts another rag_agent, {sys.executable}"]


def test_problems_of_several_files_are_named_one_by_one(home: Path, place: Place) -> None:
    for name in ("claude-code", "codex"):
        install(hosts.get(name), place, state_folder())
    (home / ".codex" / "hooks.json").unlink()
    other = replace(place, program=(sys.executable, "-m", "rag_agent"))
    plugin = home / ".claude" / "rag-agent" / "plugins" / "rag-agent"
    gone = "starts /opt/bin/rag-agent, which is not there"
    assert f"{plugin / '.mcp.json'} {gone}" in problems(hosts.get("claude-code"), other)
    assert problems(hosts.get("codex"), other) == [
        f"{home / '.codex' / 'config.toml'} {gone}",
        f"{home / '.codex' / 'hooks.json'} lacks what is ours",
        f"{home / '.codex' / 'skills' / 'rag' / 'SKILL.md'} is of another version",
    ]


def test_the_same_installation_twice_at_once_is_one(home: Path, tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "rag_agent", "install", "codex"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(3)
    ]
    said = [process.communicate() for process in processes]
    assert [error for _, error in said] == [b""] * 3
    assert sum(b"already set up" in out for out, _ in said) == 2
    subprocess.run([sys.executable, "-m", "rag_agent", "uninstall", "codex"], check=True)
    assert not (home / ".codex").exists()
