"""What the README and CONTRIBUTING say is what the program does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import pytest

from rag_agent import errors
from rag_agent.cli import verbs  # noqa: F401 - registers the verbs of the command line
from rag_agent.commands.registry import VERBS, Verb
from rag_agent.config import Config, key_of
from rag_agent.embed.models import MODELS
from rag_agent.extract.languages import LANGUAGES
from rag_agent.server.tools import QueryArguments
from rag_agent.store.fields import FIELDS
from rag_agent.store.filters import boosts
from rag_agent.store.filters import compile as compile_filter
from rag_agent.store.grammar import GRAMMAR

_ROOT = Path(__file__).resolve().parent.parent
_README = (_ROOT / "README.md").read_text(encoding="utf-8")
_CONTRIBUTING = (_ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
_MAKEFILE = (_ROOT / "Makefile").read_text(encoding="utf-8")

_ERRORS = [
    name
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, errors.RagError)
]


def _section(title: str) -> str:
    """The text of the README under a heading of the second level."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", _README, re.M | re.S)
    assert found, f"README.md has no section {title!r}"
    return found[1]


@pytest.mark.parametrize("name", list(VERBS))
def test_every_verb_is_in_the_table_of_commands(name: str) -> None:
    assert re.search(rf"`rag-agent {name}[` ]", _section("Commands"))


def test_the_table_of_commands_names_no_verb_that_does_not_exist() -> None:
    names = {name for verb in VERBS for name in (verb, verb.partition(" ")[0])}
    table = "\n".join(line for line in _section("Commands").splitlines() if line[:1] == "|")
    assert set(re.findall(r"`rag-agent ([a-z]+)", table)) <= names


@pytest.mark.parametrize("name", list(VERBS))
def test_every_option_is_in_the_table_of_commands(name: str) -> None:
    row = re.search(rf"`rag-agent {name}[` ][^\n]*", _section("Commands"))
    assert row
    options = [argument.name for argument in VERBS[name].arguments if argument.option]
    assert [option for option in options if option not in row[0]] == []


@pytest.mark.parametrize("verb", VERBS.values(), ids=lambda verb: verb.name)
def test_every_verb_and_argument_has_help(verb: Verb) -> None:
    assert verb.help
    assert [argument.name for argument in verb.arguments if not argument.help] == []


def test_every_language_is_listed_and_no_other() -> None:
    block = _README.partition("<!-- languages:")[2].partition("-->")[2]
    block = block.partition("<!-- end of languages -->")[0]
    lists = re.findall(r"^\*\*\w+\*\*: (.*?)\.$", block, re.M | re.S)
    listed = {name.strip() for names in lists for name in names.split(",")}
    assert listed == {language.name for language in LANGUAGES.values()}


@pytest.mark.parametrize("setting", fields(Config), ids=lambda setting: setting.name)
def test_every_setting_is_listed_with_its_default(setting: Field[Any]) -> None:
    default = list(setting.default) if isinstance(setting.default, tuple) else setting.default
    row = f"| `{key_of(setting)}` | `{json.dumps(default)}` |"
    assert row in _section("Where things are")


def test_the_default_model_is_one_there_is() -> None:
    assert Config().embedding_model in MODELS


@pytest.mark.parametrize("name", list(FIELDS))
def test_every_filter_field_is_explained(name: str) -> None:
    assert f"`{name}:" in _section("Commands")


def test_the_grammar_of_filters_is_told_in_the_same_words_everywhere() -> None:
    told = " ".join(_section("Commands").split())
    assert GRAMMAR in told
    pi = _ROOT / "rag_agent" / "hosts" / "pi" / "package" / "extensions" / "rag.ts"
    where = QueryArguments.model_fields["where"].description
    assert where is not None
    assert where in pi.read_text(encoding="utf-8")
    assert where.endswith(GRAMMAR)
    assert GRAMMAR in next(a.help for a in VERBS["search"].arguments if a.name == "--where")


def test_every_term_of_the_grammar_is_one() -> None:
    terms = re.findall(r'(?<=\s)([a-z]+:(?:"[^"]*"|[^\s;]+))', f" {GRAMMAR}")
    assert {term.partition(":")[0] for term in terms} == set(FIELDS)
    for term in terms:
        assert compile_filter(term) is not None or boosts(term)


@pytest.mark.parametrize("name", _ERRORS)
def test_every_error_is_explained(name: str) -> None:
    assert re.search(rf"\b{name}\b", _README + _CONTRIBUTING)


def test_every_make_target_that_the_documents_name_exists() -> None:
    named = set(re.findall(r"\bmake ([a-z]+)\b", "\n".join(_code(_README + _CONTRIBUTING))))
    targets = set(re.findall(r"^([a-z]+):", _MAKEFILE, re.M))
    assert {"demo", "test"} <= named
    assert named <= targets


def test_every_link_to_a_file_leads_to_one() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", _README + _CONTRIBUTING)
    assert links
    assert [link for link in links if not (_ROOT / link).exists()] == []


@pytest.mark.parametrize(("number", "first"), [(0, "1 new files, 1 chunks"), (1, "webhooks.py 1 ")])
def test_the_python_examples_of_the_readme_run(tmp_path: Path, number: int, first: str) -> None:
    example = re.findall(r"```python\n(.*?)```", _section("Python"), re.S)[number]
    (tmp_path / "webhooks.py").write_text(
        '"""Stripe webhooks."""\n\n\ndef verify_signature(payload, header, secret):\n'
        '    """Webhooks fail when the Stripe signature does not match."""\n',
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.stderr == ""
    assert done.stdout.startswith(first)
    assert re.search(r"webhooks\.py(:1-| 1 )", done.stdout)


def test_the_mcp_configuration_of_the_readme_is_json() -> None:
    (example,) = re.findall(r"```json\n(.*?)```", _section("Use it from your agent"), re.S)
    server = json.loads(example)["mcpServers"]["rag"]
    assert server["command"] == "rag-agent"
    assert server["args"][0] in VERBS


def test_the_demonstration_answers_with_file_lines_and_score(tmp_path: Path) -> None:
    folder = tmp_path / "a project"
    folder.mkdir()
    (folder / "greeting.py").write_text(
        "def say_hello(name):\n    return f'Hello, {name}!'\n", encoding="utf-8"
    )
    command = [sys.executable, str(_ROOT / "scripts" / "demo.py"), str(folder)]
    done = subprocess.run(
        [*command, "who says hello"], capture_output=True, encoding="utf-8", timeout=120
    )
    assert done.stderr == ""
    assert re.search(r"^files: 1 · chunks: 1 · vectors: 1 · ready after \d", done.stdout, re.M)
    assert re.search(r"^Question: who says hello", done.stdout, re.M)
    assert re.search(r"greeting\.py:1-2\s+score=\d", done.stdout)
    assert (folder / ".pi" / "rag" / "rag.db").exists()


def test_the_demonstration_of_a_folder_without_files_is_an_error_that_says_so(
    tmp_path: Path,
) -> None:
    (tmp_path / "empty").mkdir()
    command = [sys.executable, str(_ROOT / "scripts" / "demo.py"), str(tmp_path / "empty")]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120)
    assert done.returncode == 1
    assert "error: No indexable files found in " in done.stderr


def test_the_demonstration_says_when_its_folder_does_not_exist(tmp_path: Path) -> None:
    command = [sys.executable, str(_ROOT / "scripts" / "demo.py"), str(tmp_path / "nothing")]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "is not a folder" in done.stderr


def _code(text: str) -> list[str]:
    """Code spans and fenced blocks of a Markdown text."""
    return re.findall(r"```.*?```|`[^`\n]+`", text, re.S)
