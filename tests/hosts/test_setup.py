"""Setting hosts up in real folders, and taking that back to the byte."""

from __future__ import annotations

import json
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
from rag_agent.hosts.program import program
from rag_agent.hosts.setup import install, state_folder, uninstall
from rag_agent.hosts.standing import state
from rag_agent.hosts.types import Entry, Item, OwnFile, Place, Scope
from rag_agent.paths import log_folder

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "hosts"
PROGRAM = ("/opt/rag agent/bin/rag-agent",)
EVERY = [(name, scope) for name in hosts.names() for scope in hosts.get(name).scopes]
FURNITURE = {".toml": "codex.toml", ".yaml": "goose.yaml"}
every_host = pytest.mark.parametrize(("name", "scope"), EVERY)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "my project"
    folder.mkdir()
    return folder


def place_of(home: Path, project: Path, scope: Scope = "user") -> Place:
    return Place(scope, home, project, dict(os.environ), PROGRAM)


def tree(*folders: Path) -> dict[str, bytes]:
    """Every file and folder below, but for our own state and log."""
    own = [state_folder().parent, log_folder()]
    return {
        str(path): path.read_bytes() if path.is_file() else b"(folder)"
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if not any(path.is_relative_to(each) or path in each.parents for each in own)
    }


def furnish(name: str, place: Place) -> list[Path]:
    """Real configurations with other things in them, where a host has its own."""
    made = []
    for edit in hosts.get(name).edits(place):
        if isinstance(edit, Entry | Item) and edit.path not in made:
            edit.path.parent.mkdir(parents=True, exist_ok=True)
            source = FURNITURE.get(edit.path.suffix, "claude-settings.json")
            shutil.copy(FIXTURES / source, edit.path)
            made.append(edit.path)
    return made


@every_host
def test_installed_twice_and_taken_out_leaves_everything_as_it_was(
    name: str, scope: Scope, home: Path, project: Path
) -> None:
    place, host = place_of(home, project, scope), hosts.get(name)
    furnish(name, place)
    before = tree(home, project)
    assert install(host, place, state_folder())
    assert state(host, place) == "set up"
    once = tree(home, project)
    times = {path: Path(path).stat().st_mtime_ns for path in once}
    assert install(host, place, state_folder()) == []
    assert tree(home, project) == once
    assert {path: Path(path).stat().st_mtime_ns for path in once} == times
    assert uninstall(host, place, state_folder())
    assert tree(home, project) == before
    assert state(host, place) == "no"


@every_host
def test_where_there_was_nothing_nothing_is_left(
    name: str, scope: Scope, home: Path, project: Path
) -> None:
    place, host = place_of(home, project, scope), hosts.get(name)
    before = tree(home, project)
    install(host, place, state_folder())
    uninstall(host, place, state_folder())
    assert tree(home, project) == before


@every_host
def test_what_is_written_names_the_program_and_the_host(
    name: str, scope: Scope, home: Path, project: Path
) -> None:
    changes = install(hosts.get(name), place_of(home, project, scope), state_folder())
    written = b"".join(change.after or b"" for change in changes).decode("utf-8", "replace")
    assert PROGRAM[0] in written
    assert name in written or name == "pi"  # whose bridge names itself


@pytest.mark.parametrize("source", sorted(path.name for path in FIXTURES.iterdir()))
def test_every_configuration_gets_its_bytes_back(source: str, home: Path, project: Path) -> None:
    name = {".toml": "codex", ".yaml": "goose"}.get(Path(source).suffix, "cursor")
    place, host = place_of(home, project), hosts.get(name)
    path = next(e.path for e in host.edits(place) if isinstance(e, Entry))
    path.parent.mkdir(parents=True)
    shutil.copy(FIXTURES / source, path)
    install(host, place, state_folder())
    assert path.read_bytes() != (FIXTURES / source).read_bytes()
    install(host, replace(place, program=("/new/rag-agent",)), state_folder())
    assert b"/new/rag-agent" in path.read_bytes()
    uninstall(host, place, state_folder())
    assert path.read_bytes() == (FIXTURES / source).read_bytes()


def test_what_the_user_changed_meanwhile_stays(home: Path, project: Path) -> None:
    place, host = place_of(home, project), hosts.get("cursor")
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    shutil.copy(FIXTURES / "cursor.json", path)
    original = path.read_text()
    install(host, place, state_folder())
    edited = path.read_text().replace('"--readonly"', '"--readwrite", "--fast"')
    path.write_text(edited)
    install(host, place, state_folder())
    assert path.read_text() == edited
    uninstall(host, place, state_folder())
    assert path.read_text() == original.replace('"--readonly"', '"--readwrite", "--fast"')


def test_without_the_journal_our_entry_alone_is_taken_out(home: Path, project: Path) -> None:
    place, host = place_of(home, project), hosts.get("claude-code")
    (settings,) = furnish("claude-code", place)
    before = json.loads(settings.read_text())
    install(host, place, state_folder())
    shutil.rmtree(state_folder())
    uninstall(host, place, state_folder())
    left = json.loads(settings.read_text())
    assert {k: v for k, v in left.items() if v} == before
    assert not (home / ".claude" / "rag-agent" / ".claude-plugin" / "marketplace.json").exists()


def test_two_hosts_in_one_file_go_one_after_the_other(home: Path, project: Path) -> None:
    user, local = place_of(home, project), place_of(home, project, "project")
    cursor, junie = hosts.get("cursor"), hosts.get("junie")
    before = tree(home, project)
    for host in (cursor, junie):
        for place in (user, local):
            install(host, place, state_folder())
    for host in (junie, cursor):
        for place in (user, local):
            uninstall(host, place, state_folder())
    assert tree(home, project) == before


def test_one_file_that_does_not_parse_leaves_all_alone(home: Path, project: Path) -> None:
    place, host = place_of(home, project), hosts.get("codex")
    folder = home / ".codex"
    folder.mkdir()
    (folder / "hooks.json").write_text('{\n  "hooks": {\n')
    before = tree(home, project)
    with pytest.raises(HostError, match=r"hooks\.json: line 3"):
        install(host, place, state_folder())
    assert tree(home, project) == before


def test_a_file_of_ours_that_somebody_else_has_is_not_overwritten(
    home: Path, project: Path
) -> None:
    place, host = place_of(home, project), hosts.get("opencode")
    own = next(edit for edit in host.edits(place) if isinstance(edit, OwnFile))
    own.path.parent.mkdir(parents=True)
    own.path.write_text("mine")
    before = tree(home, project)
    with pytest.raises(HostError, match="is there already and not as we would have left it"):
        install(host, place, state_folder())
    assert tree(home, project) == before


def test_a_file_of_ours_that_was_changed_stays_when_we_go(home: Path, project: Path) -> None:
    place, host = place_of(home, project), hosts.get("opencode")
    install(host, place, state_folder())
    own = next(edit for edit in host.edits(place) if isinstance(edit, OwnFile))
    own.path.write_text("mine now")
    uninstall(host, place, state_folder())
    assert own.path.read_text() == "mine now"


def test_a_write_that_fails_in_the_midst_puts_everything_back(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, host = place_of(home, project), hosts.get("codex")
    furnish("codex", place)
    before = tree(home, project)
    real, count = Path.replace, 0

    def fails_at_the_second(self: Path, target: str | Path) -> Path:
        nonlocal count
        if self.name.endswith(".new") and not self.is_relative_to(state_folder()):
            count += 1
            if count == 2:
                raise OSError(28, "No space left on device", str(target))
        return real(self, target)

    monkeypatch.setattr(Path, "replace", fails_at_the_second)
    with pytest.raises(HostError, match="No space left on device; nothing was changed"):
        install(host, place, state_folder())
    assert tree(home, project) == before
    assert json.loads((state_folder() / "journal.json").read_text()) == {}
    assert list((state_folder() / "copies").iterdir()) == []


def test_dry_run_tells_and_writes_nothing(home: Path, project: Path) -> None:
    place, host = place_of(home, project), hosts.get("codex")
    furnish("codex", place)
    before = tree(home, project)
    changes = install(host, place, state_folder(), dry_run=True)
    assert {change.path.name for change in changes} == {"config.toml", "hooks.json", "SKILL.md"}
    assert tree(home, project) == before


@pytest.mark.skipif(os.name == "nt", reason="modes and links of POSIX")
def test_mode_and_link_of_a_configuration_stay(home: Path, project: Path) -> None:
    place, host = place_of(home, project), hosts.get("cursor")
    real = home / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    shutil.copy(FIXTURES / "cursor.json", real)
    real.chmod(0o600)
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").symlink_to(real)
    install(host, place, state_folder())
    assert (home / ".cursor" / "mcp.json").is_symlink()
    assert b"rag-agent" in real.read_bytes()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    uninstall(host, place, state_folder())
    assert (home / ".cursor" / "mcp.json").is_symlink()
    assert real.read_bytes() == (FIXTURES / "cursor.json").read_bytes()


def test_a_folder_where_the_file_is_to_be_is_an_error(home: Path, project: Path) -> None:
    (home / ".cursor" / "mcp.json").mkdir(parents=True)
    with pytest.raises(HostError, match=r"mcp\.json is not a file"):
        install(hosts.get("cursor"), place_of(home, project), state_folder())


def test_an_unknown_host_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(
        HostError, match="no host 'emacs'; there are claude-code, codex, gemini, opencode, pi, "
    ):
        hosts.get("emacs")


def test_files_of_a_project_name_the_program_as_others_would_find_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "bin" / ("rag-agent.exe" if os.name == "nt" else "rag-agent")
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(script)])
    on_path, elsewhere = {"PATH": str(script.parent)}, {"PATH": str(tmp_path)}
    assert program(on_path, "user") == (str(script),)
    assert program(on_path, "project") == ("rag-agent",)
    assert program(elsewhere, "project") == (str(script),)


# The verbs


def rag_agent(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rag_agent", *words],
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )


def test_the_verbs_set_up_show_and_take_back(home: Path, project: Path) -> None:
    before = tree(home, project)
    shown = rag_agent("install", "cursor", "--dry-run", cwd=project)
    assert '+    "rag": {' in shown.stdout
    assert "1 file would be changed" in shown.stdout
    assert tree(home, project) == before
    done = rag_agent("install", "cursor", "--project", cwd=project)
    assert done.stdout.startswith(f"made {project / '.cursor' / 'mcp.json'}")
    assert "already set up" in rag_agent("install", "cursor", "--project", cwd=project).stdout
    rows = json.loads(rag_agent("hosts", "--json", cwd=project).stdout)["hosts"]
    cursor = next(row for row in rows if row["host"] == "cursor")
    assert (cursor["user"], cursor["project"]) == ("no", "set up")
    assert "set up (project)" in rag_agent("doctor", cwd=project).stdout
    assert rag_agent("uninstall", "cursor", "--project", cwd=project).returncode == 0
    assert "is not set up" in rag_agent("uninstall", "cursor", "--project", cwd=project).stdout
    assert tree(home, project) == before


def test_doctor_says_when_a_host_starts_another_program(home: Path, project: Path) -> None:
    install(hosts.get("cursor"), place_of(home, project), state_folder())
    told = rag_agent("doctor", cwd=project)
    assert told.returncode == 1
    assert "Cursor" in told.stdout
    assert "`rag-agent install cursor` brings it up to date" in told.stdout


def test_two_installations_at_once_both_take_effect(home: Path, project: Path) -> None:
    names = ["cursor", "codex", "kiro", "zed"]
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "rag_agent", "install", name],
            cwd=project,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for name in names
    ]
    assert [process.communicate()[1] for process in processes] == [b""] * len(names)
    journal = json.loads((state_folder() / "journal.json").read_text())
    assert len(journal) == 6  # three of Codex


def test_a_hook_of_others_that_has_our_words_in_it_is_theirs(home: Path, project: Path) -> None:
    place, host = place_of(home, project), hosts.get("codex")
    theirs = {"hooks": [{"type": "command", "command": "audit.sh 'before the hook codex runs'"}]}
    path = home / ".codex" / "hooks.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"hooks": {"UserPromptSubmit": [theirs]}}))
    install(host, place, state_folder())
    found = json.loads(path.read_text())["hooks"]["UserPromptSubmit"]
    assert theirs in found
    assert len(found) == 2


def test_what_a_colleague_set_up_before_is_taken_out_and_not_put_back(
    home: Path, project: Path, tmp_path: Path
) -> None:
    host = hosts.get("cursor")
    colleague = replace(place_of(home, project, "project"), program=("/theirs/rag-agent",))
    install(host, colleague, tmp_path / "state of the colleague")
    mine = place_of(home, project, "project")
    install(host, mine, state_folder())
    uninstall(host, mine, state_folder())
    assert state(host, mine) == "no"


@pytest.mark.parametrize(
    "variable",
    [
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "GEMINI_CLI_HOME",
        "PI_CODING_AGENT_DIR",
        "XDG_CONFIG_HOME",
        "CLINE_DIR",
    ],
)
def test_a_variable_that_names_a_user_who_does_not_exist_keeps_no_host_from_its_edits(
    variable: str, tmp_path: Path
) -> None:
    place = Place("user", tmp_path, tmp_path, {variable: "~nosuchuser/here"}, PROGRAM)
    for name in hosts.names():
        host = hosts.get(name)
        assert "user" not in host.scopes or host.edits(place)
