"""Pi's package: what it repeats of the server, what it names, and where it is put."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from rag_agent.hosts.pi import HOST, PACKAGE
from rag_agent.hosts.types import Item, OwnFile, Place, Scope
from rag_agent.server.tools import tools
from rag_agent.version import __version__

EXTENSION = (PACKAGE / "extensions" / "rag.ts").read_text(encoding="utf-8")


def test_the_extension_describes_the_tools_as_the_server_does() -> None:
    for tool in tools():
        assert tool.description in EXTENSION
        for name, argument in tool.input_schema["properties"].items():
            assert f"{name}: {{" in EXTENSION
            assert argument["description"] in EXTENSION


def test_the_package_names_what_it_holds() -> None:
    package = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))

    assert package["version"] == __version__
    assert "pi-package" in package["keywords"]
    assert "dependencies" not in package
    for paths in package["pi"].values():
        assert all((PACKAGE / path).exists() for path in paths)


@pytest.mark.parametrize(
    ("scope", "environ", "expected"),
    [
        ("user", {}, "home/.pi/agent"),
        ("user", {"PI_CODING_AGENT_DIR": "{root}/elsewhere"}, "elsewhere"),
        ("project", {"PI_CODING_AGENT_DIR": "{root}/elsewhere"}, "project/.pi"),
    ],
)
def test_the_package_lies_beside_the_settings_that_name_it(
    tmp_path: Path, scope: Scope, environ: Mapping[str, str], expected: str
) -> None:
    place = Place(
        scope,
        tmp_path / "home",
        tmp_path / "project",
        {name: value.format(root=tmp_path) for name, value in environ.items()},
        ("/opt/ünter uns/rag-agent",),
    )

    *files, item = HOST.edits(place)

    folder = tmp_path / expected
    assert isinstance(item, Item)
    assert (item.path, item.keys) == (folder / "settings.json", ("packages",))
    assert item.mark in json.dumps(item.value)
    contents = {file.path: file.content for file in files if isinstance(file, OwnFile)}
    package = folder / str(item.value)
    assert contents[package / "extensions" / "rag.ts"].decode() == EXTENSION
    assert json.loads(contents[package / "program.json"]) == ["/opt/ünter uns/rag-agent"]
