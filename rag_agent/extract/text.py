"""Files that are text already: source code, data, prose without a module of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rag_agent.extract.encoding import decode
from rag_agent.extract.languages import Language, language_of, language_of_shebang
from rag_agent.masking import cut
from rag_agent.types import Document

_TITLE_WITHIN = 20_000  # characters; a title further down is not the title
_UNKNOWN = Language("", "prose")

_ADORNED = r"""[=\-~`:'"^_*+#<>.]"""  # the characters that docutils recommends for underlines
# How a title is written, by language. The group is the title.
_TITLES: Mapping[str, re.Pattern[str]] = {
    "asciidoc": re.compile(r"^= +(\S.*)$", re.MULTILINE),
    "latex": re.compile(r"\\title(?:\[[^\]\n]*\])?\{([^{}]+)\}"),
    "org": re.compile(r"^#\+title: *(\S.*)$", re.MULTILINE | re.IGNORECASE),
    "pod": re.compile(r"^=head1 +(\S.*)$", re.MULTILINE),
    "rdoc": re.compile(r"^= +(\S.*)$", re.MULTILINE),
    "rst": re.compile(rf"^ ?(\w.*)\n({_ADORNED})\2{{2,}} *$", re.MULTILINE),
    "texinfo": re.compile(r"^@settitle +(\S.*)$", re.MULTILINE),
    "typst": re.compile(r"^= +(\S.*)$", re.MULTILINE),
    "wikitext": re.compile(r"^=+ *([^=\n]+?) *=+$", re.MULTILINE),
}
# How a document says the rest about itself. The groups are the name and the value.
_FIELDS: Mapping[str, re.Pattern[str]] = {
    "asciidoc": re.compile(
        r"^:(authors?|revdate|description|keywords|lang): +(\S.*)$", re.MULTILINE
    ),
    "latex": re.compile(r"\\(author|date)\{([^{}]+)\}"),
    "org": re.compile(
        r"^#\+(author|date|description|filetags|keywords|language): *(\S.*)$",
        re.MULTILINE | re.IGNORECASE,
    ),
    "rst": re.compile(
        r"^ *:(authors?|date|description|keywords|language): +(\S.*)$",
        re.MULTILINE | re.IGNORECASE,
    ),
}
_KEYS: Mapping[str, str] = {
    "authors": "author",
    "date": "created",
    "revdate": "created",
    "lang": "language",
    "filetags": "keywords",
}


def read(data: bytes, path: str) -> Document:
    """The file as it is, decoded; the language by its name, else by its first line."""
    text, warnings = decode(data)
    first_line = text[:200].partition("\n")[0]
    language = language_of(path) or language_of_shebang(first_line) or _UNKNOWN
    title = _TITLES.get(language.name)
    has_fields = language.name in _FIELDS
    beginning = cut(text, _TITLE_WITHIN) if title or has_fields else ""
    match = title.search(beginning) if title else None
    said = _said(beginning, language.name) if has_fields else {}
    return Document(
        path=path,
        kind=language.kind,
        text=text,
        language=language.name,
        warnings=warnings,
        **{**said, "title": match[1] if match else ""},
    )


def _said(text: str, language: str) -> dict[str, Any]:
    from rag_agent.extract.metadata import properties

    found = properties(
        (_KEYS.get(name.lower(), name.lower()), _value(name.lower(), written))
        for name, written in _FIELDS[language].findall(text)
    )
    return found.fields()


def _value(name: str, written: str) -> str:
    if name == "filetags":  # :harbour:log:
        return written.strip(": ").replace(":", ",")
    return written.strip("<[ ").replace("\\and", ";") if name in ("date", "author") else written
