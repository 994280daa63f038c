"""Any TOML that people could have written keeps all of it."""

from __future__ import annotations

from pathlib import Path

from hypothesis import assume, given
from hypothesis import strategies as st

from rag_agent.hosts import toml
from rag_agent.hosts.contents import has_edit, values, with_edit, without_edit
from rag_agent.hosts.types import Entry

EDIT = Entry(
    Path("/somewhere/config.toml"),
    ("mcp_servers", "rag"),
    {"command": "/opt/rag-agent", "args": ["serve", "--for", "codex"], "timeout": 30},
)

# With a number in the place of N, so that none stands there twice.
_keys = st.sampled_from(
    ["aN", '"N.[x]#"', "'l=i\"tN'", "bN.c", 'cN . "d e"', "mcp_servers.sN", "eN.mcp_servers.rag"]
)
_values = st.sampled_from(
    [
        "1",
        "1979-05-27T07:32:00Z",
        '"# [no] = \\" x"',
        "'C:\\Users\\'",
        '"""\n[mcp_servers.rag]\n\\"""# "" \n"""',
        "'''\n[x]\n# ''\n'''",
        '[ 1, # one ]\n  [ "]" ],\n]',
        "{ k = [1, 2], 'l' = { m = '}' } }",
        "[]",
    ]
)
_headers = st.sampled_from(
    ["tN", ' uN . "v.w" ', "mcp_servers.sN", "mcp_servers.'rag N'", "mcp_servers.sN.env", "rag.N"]
)


@st.composite
def _lines(draw: st.DrawFn) -> str:
    indent = draw(st.sampled_from(["", "", "  ", "\t"]))
    comment = draw(st.sampled_from(["", "", '  # note [x] = "', " #"]))
    kind = draw(st.sampled_from(["value", "value", "table", "tables", "comment", ""]))
    if kind == "value":
        spaced = draw(st.sampled_from(["=", " = ", "\t=  "]))
        return f"{indent}{draw(_keys)}{spaced}{draw(_values)}{comment}"
    if kind == "table":
        return f"{indent}[{draw(_headers)}]{comment}"
    if kind == "tables":
        return f"{indent}[[list.{draw(st.sampled_from('xy'))}]]{comment}"
    return f"{indent}# [mcp_servers.rag]" if kind else indent


@st.composite
def _documents(draw: st.DrawFn, first: int = 1) -> str:
    lines = draw(st.lists(_lines(), max_size=7))
    lines = [line.replace("N", str(number)) for number, line in enumerate(lines, first)]
    return "\n".join([*lines, *draw(st.sampled_from([[], [""], ["", ""]]))])


def _parses(text: str) -> bool:
    try:
        toml.read(text)
    except toml.TomlError:
        return False
    return True


@given(_documents(), st.booleans())
def test_all_that_stands_in_it_stays_with_our_table_and_without_it_again(
    text: str, windows: bool
) -> None:
    assume(_parses(text))
    content = (text.replace("\n", "\r\n") if windows else text).encode()
    after = with_edit(content, EDIT)
    assert has_edit(after, EDIT) is True
    assert with_edit(after, EDIT) == after
    assert after.startswith(content)
    back = without_edit(after, EDIT)
    assert values(back, EDIT.path) == values(content, EDIT.path)
    # But for the line end that a last line may not have had.
    assert back.rstrip() == content.rstrip()


@given(_documents(), _documents(first=10), st.booleans())
def test_our_table_in_the_midst_is_updated_and_removed_alone(
    above: str, below: str, windows: bool
) -> None:
    ours = '[mcp_servers.rag]\ncommand = "/old/rag-agent" # mine\nargs = ["serve"]\n'
    parts = [f"{above}\n", ours, f"[next]\n{below}"]
    assume(_parses("".join(parts)))
    before, own, behind = (
        (part.replace("\n", "\r\n") if windows else part).encode() for part in parts
    )
    after = with_edit(before + own + behind, EDIT)
    assert has_edit(after, EDIT) is True
    assert after.startswith(before)
    assert after.endswith(behind)
    assert b'command = "/opt/rag-agent" # mine' in after
    left = without_edit(after, EDIT)
    assert values(left, EDIT.path) == values(before + behind, EDIT.path)
    assert left.endswith(behind)
    # A blank line above ours goes with it.
    assert left.removesuffix(behind).rstrip() == before.rstrip()
