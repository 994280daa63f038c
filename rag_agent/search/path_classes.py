"""What a path says of its file: the name people know it by, and the classes of files it is in."""

from __future__ import annotations

from functools import lru_cache
from pathlib import PurePosixPath

from rag_agent.tokens import words

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Names that say nothing: the folder they lie in is what people call them.
_PLAIN_NAMES = frozenset({"mod", "lib", "index", "__init__", "init", "main", "__main__"})


class PathFacts:
    """A path taken apart, the same for every question.

    ``name`` are the stems of the telling name, ``stem`` that name as it is written in lower case,
    ``file`` the whole file name in lower case, ``folder`` the stems of the nearest folder that is
    not the name already, ``folders`` those of all, ``classes`` the names of the ``CLASSES``.
    """

    __slots__ = (
        "classes",
        "depth",
        "file",
        "folder",
        "folders",
        "is_plain",
        "name",
        "stem",
        "words",
    )

    def __init__(self, path: str) -> None:
        pure = PurePosixPath(path)
        stem = pure.name.split(".", 1)[0] or pure.name
        self.is_plain = stem in _PLAIN_NAMES and bool(pure.parent.name)
        telling = pure.parent.name if self.is_plain else stem
        above = pure.parent.parts[:-1] if self.is_plain else pure.parent.parts
        self.name = _distinct(telling)
        self.stem = telling.lower()
        self.file = pure.name.lower()
        self.folder = _distinct(above[-1]) if above else ()
        self.folders = frozenset(stem for folder in above for stem in words(folder))
        self.words = frozenset(words(path))
        self.depth = len(pure.parent.parts)
        folders = [folder.lower() for folder in pure.parent.parts]
        self.classes = tuple(name for name, kind in CLASSES.items() if kind.has(folders, pure.name))


class PathClass:
    """A class of files: how their paths look, and the stems of a question that is about them.

    ``folders`` are names of folders, ``parts`` of parts of the file's name between dots, dashes and
    underscores (``first``: the first of them), ``humps`` what a name in capitals ends with,
    ``anywhere`` parts of the name or of a folder, ``endings`` of the file's name.
    """

    # Sets and endings instead of patterns, which would cost a hook some milliseconds to compile.
    __slots__ = ("anywhere", "asked", "endings", "first", "folders", "humps", "parts")

    def __init__(
        self,
        folders: str = "",
        *,
        parts: str = "",
        first: str = "",
        humps: str = "",
        anywhere: str = "",
        endings: str = "",
        asked: str = "",
    ) -> None:
        self.folders = frozenset(folders.split())
        self.parts = frozenset(parts.split())
        self.first = frozenset(first.split())
        self.humps = tuple(humps.split())
        self.anywhere = frozenset(anywhere.split())
        self.endings = tuple(endings.split())
        self.asked = frozenset(words(asked))

    def has(self, folders: Sequence[str], name: str) -> bool:
        """Whether a path is in it; ``folders`` are in lower case."""
        lower = name.lower()
        parts = _parts(lower)
        return (
            not self.folders.isdisjoint(folders)
            or not self.parts.isdisjoint(parts)
            or parts[0] in self.first
            or lower.endswith(self.endings)
            or _ends_in_hump(name, self.humps)
            or (bool(self.anywhere) and self._is_anywhere(folders, parts))
        )

    def _is_anywhere(self, folders: Sequence[str], parts: Sequence[str]) -> bool:
        inner = (part for folder in folders for part in _parts(folder))
        return not self.anywhere.isdisjoint(parts) or not self.anywhere.isdisjoint(inner)


CLASSES: Mapping[str, PathClass] = {
    "test": PathClass(
        "test tests __tests__ testing spec specs __mocks__ mock mocks fixture fixtures testdata "
        "e2e snapshots __snapshots__",
        parts="test tests spec specs mock mocks conftest",
        humps="Test Tests Spec Specs Mock",
        asked="test tests testing spec mock fixture assert assertion e2e snapshot pytest unittest",
    ),
    "example": PathClass(
        "example examples demo demos sample samples tutorial tutorials benchmark benchmarks "
        "bench docs_src playground",
        parts="example examples demo demos sample samples bench benchmark benchmarks",
        asked="example demo sample tutorial benchmark bench playground",
    ),
    "vendored": PathClass(
        "vendor vendored _vendor third_party third-party thirdparty 3rdparty external extern deps "
        "node_modules bundled dist",
        endings=".min.js .min.css",
        asked="vendor vendored third party external bundled dist",
    ),
    "changelog": PathClass(
        "newsfragments changelog.d changelogs",
        first="changes changelog history news release releases whatsnew",
        asked="change changed changelog history release released version news",
    ),
    "internal": PathClass(
        "internal _internal impl _impl detail details private _private compat _compat",
        parts="internal impl detail",
    ),
    "legacy": PathClass(
        anywhere="legacy deprecated old compat obsolete v1",
        asked="legacy deprecated old compat obsolete v1",
    ),
    "generated": PathClass(
        "generated gen __generated__ dist build",
        parts="pb pb2 generated gen lock",
        endings=".min.js .min.css .d.ts .pyi .snap",
        asked="generated typing types stub declaration lock build",
    ),
    "documentation": PathClass(
        "doc docs documentation website site man wiki rfc rfcs guide guides"
    ),
    "settings": PathClass(
        endings=".json .yaml .yml .toml .ini .cfg .xml .properties .csv .lock .in .mk .cmake "
        ".gradle .kts .cabal .nix .html .htm .css .scss .svg makefile cmakelists.txt dockerfile",
        asked="setting settings config configuration build ci makefile cmake docker dependency",
    ),
    "translation": PathClass(
        "i18n l10n locale locales translation translations lang",
        asked="translation locale language i18n l10n",
    ),
    "tooling": PathClass(
        "script scripts tool tools ci .github .circleci build cmake packaging release contrib "
        "plugin plugins project projects",
        asked="script tool ci build release package plugin",
    ),
    "header": PathClass(endings=".h .hpp .hh .hxx .inl", asked="header include"),
}


@lru_cache(maxsize=20_000)
def path_facts(path: str) -> PathFacts:
    """What a path says; remembered, since questions meet the same files again and again."""
    return PathFacts(path)


def _distinct(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words(text)))


def _parts(name: str) -> list[str]:
    return name.replace("-", ".").replace("_", ".").split(".")


def _ends_in_hump(name: str, humps: tuple[str, ...]) -> bool:
    """Whether a name in capitals (``UrlTest.java``) ends with one of these words."""
    stem = name.split(".", 1)[0]
    return any(
        stem.endswith(hump)
        and stem[: -len(hump)][-1:].isalnum()
        and not stem[-len(hump) - 1].isupper()
        for hump in humps
    )
