from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import packages_distributions, requires, version
from pathlib import Path

import pytest

import rag_agent

_ROOT = Path(__file__).resolve().parent.parent

# What `import rag_agent` and `rag-agent --version` must not pay for (STYLE: import late).
_HEAVY = (
    "anyio", "apsw", "charset_normalizer", "fastembed", "mammoth", "markdownify", "matplotlib",
    "mcp", "numpy", "onnxruntime", "pathspec", "pdfminer", "pydantic", "pypdfium2", "rich",
    "semble_grammars", "tokenizers", "tree_sitter", "yaml",
)  # fmt: skip
_PUBLIC = ("__version__", "open", "Index")  # a new one is a promise: think twice

# Measuring coverage loads much of what is not to be loaded.
_WITHOUT_COVERAGE = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE")}

# Parts of another dependency that its interface is made of.
_COMES_WITH = {
    "huggingface-hub": "fastembed",
    "loguru": "fastembed",
    "mcp-types": "mcp",
    "tokenizers": "fastembed",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel and a source archive, built as a release is."""
    target = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(target)]
    subprocess.run(command, cwd=_ROOT, check=True, capture_output=True)
    return target


def _loaded_by(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after running this code."""
    shown = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint('\\n'.join(sys.modules))"],
        check=True,
        capture_output=True,
        encoding="utf-8",
    ).stdout
    return {name.partition(".")[0] for name in shown.splitlines()}


@pytest.mark.parametrize(
    "code",
    [
        "import rag_agent",
        "from rag_agent.cli import main; main(['--version'])",
        "from rag_agent.cli import main; main(['--help'])",
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(code: str) -> None:
    loaded = _loaded_by(code)
    assert "rag_agent" in loaded
    assert loaded.isdisjoint(_HEAVY)


def test_what_answers_without_a_server_loads_next_to_nothing() -> None:
    # A process for every prompt: test_words.py looks at what is loaded while it answers, too.
    code = "import rag_agent.hook.words, rag_agent.hook.lookup, rag_agent.store.memory"
    shown = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint('\\n'.join(sys.modules))"],
        env=_WITHOUT_COVERAGE,
        check=True,
        capture_output=True,
        encoding="utf-8",
    ).stdout
    loaded = set(shown.splitlines())
    assert {"rag_agent.hook.words", "rag_agent.search.question"} <= loaded
    ours = {f"rag_agent.{name}" for name in ("config", "embed", "index", "sync", "types", "status")}
    assert loaded.isdisjoint(ours | {"dataclasses", "inspect", "logging"})
    assert loaded.isdisjoint(set(_HEAVY) - {"apsw"})


def test_the_public_names_are_these_and_each_can_be_had() -> None:
    assert sorted(rag_agent.__all__) == sorted(_PUBLIC)
    assert [name for name in rag_agent.__all__ if not hasattr(rag_agent, name)] == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        rag_agent.nothing_of_that_name  # noqa: B018 - looking it up is what is tested


def test_the_version_is_the_installed_one() -> None:
    assert rag_agent.__version__ == version("rag_agent")


def test_the_wheel_carries_the_model_its_notice_and_the_type_marker(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    assert sizes["rag_agent/embed/minilm/model.onnx"] > 20_000_000
    assert sizes["rag_agent/embed/minilm/tokenizer.json"] > 400_000
    assert sizes["rag_agent/embed/minilm/NOTICE"] > 0
    assert "rag_agent/py.typed" in sizes


def test_the_wheel_holds_the_package_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        top = {name.partition("/")[0] for name in archive.namelist()}
    assert top == {"rag_agent", f"rag_agent-{rag_agent.__version__}.dist-info"}


def test_the_source_archive_can_run_the_tests(built: Path) -> None:
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"Makefile", "pyproject.toml", "requirements/dev.txt", "scripts/setup.sh"} <= names
    assert {"tests/conftest.py", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"} <= names


@pytest.mark.parametrize("name", ["runtime", "dev"])
def test_every_pin_has_hashes_and_names_no_registry(name: str) -> None:
    text = (_ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    entries = re.split(r"\n(?=[\w.-]+==)", text)
    assert len(entries) > 50
    assert [entry.split()[0] for entry in entries[1:] if "--hash=sha256:" not in entry] == []
    assert re.search(r"://|--index|--extra|--find-links|@ file", text) is None


def test_every_dependency_is_pinned() -> None:
    pins = (_ROOT / "requirements" / "runtime.txt").read_text(encoding="utf-8")
    pinned = set(re.findall(r"^([\w-]+)==", pins, re.MULTILINE))
    assert _dependencies()
    assert _dependencies() - pinned == set()


@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="packages_distributions() knows only some packages"
)
def test_what_is_imported_is_declared_and_what_is_declared_is_imported() -> None:
    distributions = packages_distributions()
    imported = {
        _COMES_WITH.get(_normalised(distribution), _normalised(distribution))
        for name in _imported_by_the_package() - set(sys.stdlib_module_names) - {"rag_agent"}
        for distribution in distributions[name]
    }
    assert imported == _dependencies() | _dependencies(optional=True)


def _dependencies(*, optional: bool = False) -> set[str]:
    """Names of what the installed package requires, or what only its extras do."""
    lines = [line for line in requires("rag_agent") or () if ("extra ==" in line) == optional]
    return {_normalised(re.split(r"[^\w.-]", line)[0]) for line in lines}


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _imported_by_the_package() -> set[str]:
    """Top-level names in all import statements, wherever they stand, and in find_spec calls."""
    names = set()
    for path in (_ROOT / "rag_agent").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("find_spec"):
                names |= {ast.literal_eval(argument) for argument in node.args}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                names.add(node.module.partition(".")[0])
    return names
