"""Tables of ours in TOML files of other people."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_agent.errors import HostError
from rag_agent.hosts.contents import has_edit, values, with_edit, without_edit
from rag_agent.hosts.types import Entry

SERVER = {"command": "/new/rag-agent", "args": ["serve", "--for", "codex"], "timeout": 30}
EDIT = Entry(Path("/somewhere/config.toml"), ("mcp_servers", "rag"), SERVER)
OLD = 'command = "/old/rag-agent" # mine\nargs = [\n  "serve", # [x]\n]\ntimeout = 90\n'
UPDATED = 'command = "/new/rag-agent" # mine\nargs = ["serve", "--for", "codex"]\ntimeout = 90\n'


@pytest.mark.parametrize(
    "header", ["[mcp_servers.rag]", '  [ mcp_servers . "rag" ] # ours', "['mcp_servers'.rag]"]
)
def test_an_update_keeps_comments_and_what_the_user_chose(header: str) -> None:
    text = f"a = 1\n{header}\n{OLD}# note\n\n[mcp_servers.b]\ncommand = 'b'\n"
    assert has_edit(text.encode(), EDIT) is None
    after = with_edit(text.encode(), EDIT)
    assert after.decode() == text.replace(OLD, UPDATED)
    assert has_edit(after, EDIT) is True
    assert with_edit(after, EDIT) == after


def test_what_the_host_notes_of_our_server_goes_with_it_wherever_it_stands() -> None:
    text = (
        f"[mcp_servers.rag]\n{OLD}\n[mcp_servers.rag.tools.a]\napproval = 'never'\n\n"
        "# b\n[mcp_servers.b]\ncommand = 'b'\n\n[mcp_servers.rag.tools.c]\napproval = 'ask'\n\n"
        "[d]\ne = 1\n"
    )
    after = with_edit(text.encode(), EDIT)
    assert values(after, EDIT.path)["mcp_servers"]["rag"]["tools"] == {
        "a": {"approval": "never"},
        "c": {"approval": "ask"},
    }
    left = without_edit(after, EDIT).decode()
    assert left == "\n# b\n[mcp_servers.b]\ncommand = 'b'\n\n[d]\ne = 1\n"


def test_what_only_looks_like_a_header_is_none() -> None:
    text = (
        'a = """\n[mcp_servers.rag]\ncommand = "rag-agent serve"\n"""\n'
        "b = '''\n[mcp_servers.rag]'''\nc = [\n  [1],\n]\n"
    )
    after = with_edit(text.encode(), EDIT)
    assert after.decode().startswith(text)
    assert without_edit(after, EDIT).decode() == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '[mcp_servers]\nrag = { command = "/old/rag-agent", args = ["serve"] } # x\nb = {}\n',
            '[mcp_servers]\nrag = { command = "/new/rag-agent", '
            'args = ["serve", "--for", "codex"], timeout = 30 } # x\nb = {}\n',
        ),
        (
            'mcp_servers.rag = { args = ["serve"], command = "rag-agent" }\n[b]\n',
            'mcp_servers.rag = { args = ["serve", "--for", "codex"], '
            'command = "/new/rag-agent", timeout = 30 }\n[b]\n',
        ),
    ],
)
def test_an_entry_in_one_line_is_updated_and_removed_in_place(before: str, after: str) -> None:
    assert with_edit(before.encode(), EDIT).decode() == after
    left = without_edit(after.encode(), EDIT).decode()
    assert left == "".join(line for line in before.splitlines(True) if "rag-agent" not in line)


def test_what_cannot_be_changed_safely_is_left_to_the_user() -> None:
    ours = 'rag = { command = "rag-agent", args = ["serve"] }'
    text = f'mcp_servers = {{ b = {{ command = "x" }}, {ours} }}\n'
    for change in (with_edit, without_edit):
        with pytest.raises(HostError, match=r"add or remove mcp_servers\.rag by hand"):
            change(text.encode(), EDIT)


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\n\n\n", "\n# end", "\r\n", "\r\n\r\n"])
def test_what_stands_at_the_end_of_a_file_stays(end: str) -> None:
    newline = "\r\n" if "\r" in end else "\n"
    text = f"[a]{newline}b = 1{end}"
    left = without_edit(with_edit(text.encode(), EDIT), EDIT).decode()
    # A last line that did not end has an end now; only the journal knows.
    assert left in (text, text + newline)
    assert left == text or not text.endswith("\n")


def test_what_the_user_adds_below_our_table_stays() -> None:
    text = "[a]\nb = 1\n"
    after = with_edit(text.encode(), EDIT).decode() + "\n# mine\n[c]\nd = 1\n"
    assert without_edit(after.encode(), EDIT).decode() == text + "\n# mine\n[c]\nd = 1\n"
