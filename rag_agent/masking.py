"""Secrets cut out of text by their well-known forms, and text shortened without halving one."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from functools import cached_property

# Part of what an index was built with: raise it when more is masked, so that files are read again.
VERSION = "2"

REMOVED = "[secret removed]"

# Characters: a private key with its marks, the longest of the forms below.
_LONGEST = 21_000

_KEY_KIND = r"(?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_PRIVATE_KEY = rf"-----BEGIN {_KEY_KIND}"
# What follows where the end is lacking, as in an output that was cut or a key that was pasted in
# part: headers and lines of base64, also in the literals of a program, and the line it breaks in.
_BETWEEN = r"(?:[\s\"'`+>#*|,;]|\\[nr])*"
_KEY_LINES = (
    rf"(?:{_BETWEEN}[A-Z][A-Za-z-]+: [^\n]{{1,200}}){{0,5}}(?:{_BETWEEN}[A-Za-z0-9+/=]{{40,}})+"
    rf"(?:{_BETWEEN}(?=[A-Za-z+/]*\d)[A-Za-z0-9+/]+={{0,2}}(?m:$))?"
)


def is_private_key(data: bytes) -> bool:
    """Whether a file begins as private keys do."""
    head = data[:200].decode("latin-1").lstrip("\xef\xbb\xbf \t\r\n")
    return re.match(rf"{_PRIVATE_KEY}|PuTTY-User-Key-File-\d|AGE-SECRET-KEY-1", head) is not None


_TEMPLATE = re.compile(
    r"[\s{}<>$%()\[\]]|://|^[./~]|\.\.|^arn:|(?i:example)|^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
)  # the last is a UUID: an identifier, no secret


def _random_looking(value: str) -> bool:
    """Whether a quoted value looks made by a machine, and not like words, a path or a template.

    A password that is made of words is not found; source code is full of such literals.
    """
    if len(value) < 16 or _TEMPLATE.search(value):
        return False
    digits = sum(character.isdigit() for character in value)
    letters = sum(character.isalpha() for character in value)
    if digits < 3 or letters < 4 or len(set(value)) < 9:
        return False
    # Names joined by punctuation (my-token-2024-01) are not: the longest run must be long.
    if max(map(len, re.split(r"[-_.:/]", value))) < 12:
        return False
    counts = Counter(value)
    bits = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    return bits >= 3.2  # hexadecimal keys have 3.4 to 4, base64 above 4; runs like 0123 have less


# What stands for a password in a URL: a variable or a field of a template, ...
_FIELD = re.compile(
    r"[{}]|^\$(?:\d|[A-Za-z_]+|[A-Z_][A-Z0-9_]*)$|\$\(|^%[sdrv]$|^%\(|^%\w+[%#]$|^\[.*\]$|^\(.*\)$"
)
# ... the same character again and again, or words that say no more than that it is one.
_ONE_CHARACTER = re.compile(r"(.)\1*")
_STAND_INS = re.compile(
    r"password|passwd|passphrase|passcode|pass|word|psw|pwd|pw|secret|token|key|credentials?"
    r"|username|user|usr|name|login|auth|database|db|api|access|my|your|the|some|any|new|old"
    r"|example|sample|test|dummy|fake|demo|placeholder|change|replace|insert|it|me|with|here"
    r"|todo|redacted|removed|hidden|masked|secure|none|null|undefined|empty|foo|bar|baz|qux"
)


def _no_stand_in(value: str) -> bool:
    """Whether a password in a URL, where every word may be one, is no obvious stand-in.

    Those of up to three letters are of examples.
    """
    from urllib.parse import unquote

    if _FIELD.search(value):
        return False
    words = re.sub(r"[-_.:;?#\s]", "", unquote(value)).lower()
    if len(words) <= 3 or _ONE_CHARACTER.fullmatch(words):
        return False
    rest = _STAND_INS.sub("", words)
    return len(rest) > 3 or not (rest.isdigit() or rest == "")


def _holds_base64(value: str) -> bool:
    """False for code that only looks for the two marks of a key."""
    return re.search(r"[A-Za-z0-9+/=]{40}", value) is not None


def _any_value(value: str) -> bool:
    return True


class _Shape:
    """A form of secret. ``anchors`` are looked for first, as they are cheap to find.

    The group ``value`` is what is removed, the whole match without one. The expression is compiled
    when it is first used: a hook masks a prompt, which has few of the anchors.
    """

    def __init__(
        self, anchors: str, pattern: str, accept: Callable[[str], bool] = _any_value
    ) -> None:
        self.anchors = tuple(anchors.split())
        self.accept = accept
        self._pattern = pattern

    @cached_property
    def expression(self) -> re.Pattern[str]:
        return re.compile(self._pattern)


_NAMES = "password passwd secret token api_key apikey api-key access_key accesskey private_key"
# A "next token" or "page token" is a place in a list. That the first letters come first, as a set,
# makes the search four times as fast.
_NAME = (
    r"[PpSsTtAa](?<![Nn]ext.)(?<![Pp]age.)(?<!ination.)(?<!inuation.)"
    r"(?i:(?<=p)assw(?:or)?d|(?<=s)ecret|(?<=t)oken|(?<=a)pi[-_]?key|(?<=a)ccess[-_]?key"
    r"|(?<=p)rivate[-_]?key)"
)

_SHAPES: tuple[_Shape, ...] = (
    _Shape(
        "PRIVATE",
        rf"{_PRIVATE_KEY}(?:[\s\S]{{40,20000}}?-----END {_KEY_KIND}|{_KEY_LINES})",
        _holds_base64,
    ),
    _Shape("AKIA ASIA", r"\bA(?:KIA|SIA)[A-Z2-7]{16}\b"),
    _Shape(
        "aws AWS",
        r"(?i:aws_?secret_?(?:access_?)?key)\W{1,6}(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    _Shape("ghp_ gho_ ghu_ ghs_ ghr_", r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b"),
    _Shape("github_pat_", r"\bgithub_pat_[A-Za-z0-9_]{40,255}\b"),
    _Shape("glpat-", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    _Shape("xox xapp-", r"\b(?:xox[abeoprs]|xapp)-\d[A-Za-z0-9-]{20,}"),
    _Shape("hooks.slack.com", r"hooks\.slack\.com/services/(?P<value>T\w+/B\w+/\w{20,})"),
    _Shape("k_live_ whsec_", r"\b(?:[sr]k_live|whsec)_[A-Za-z0-9]{16,}"),
    _Shape("AIza", r"\bAIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    _Shape("GOCSPX-", r"\bGOCSPX-[A-Za-z0-9_-]{28}"),
    _Shape("sk-", r"\bsk-(?=[A-Za-z_-]*\d)(?=[a-z0-9_-]*[A-Z])[A-Za-z0-9_-]{32,}"),
    _Shape("npm_", r"\bnpm_[A-Za-z0-9]{36}\b"),
    _Shape("pypi-AgE", r"\bpypi-AgE[A-Za-z0-9_-]{50,}"),
    _Shape("hf_", r"\bhf_[A-Za-z0-9]{34,}\b"),
    _Shape("SG.", r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    _Shape("dop_v1_", r"\bdop_v1_[a-f0-9]{64}\b"),
    _Shape("shpat_ shpss_ shpca_", r"\bshp(?:at|ss|ca)_[a-fA-F0-9]{32}\b"),
    _Shape("AGE-SECRET-KEY-1", r"\bAGE-SECRET-KEY-1[A-Z0-9]{58}\b"),
    _Shape("AccountKey=", r"AccountKey=(?P<value>[A-Za-z0-9+/]{86}==)"),
    _Shape("eyJ", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,}"),
    _Shape("Bearer", r"\bBearer\s+(?P<value>[A-Za-z0-9_.~+/-]{20,}=*)", _random_looking),
    # Not the name again (guest:guest), and no port. An @ that should have been written %40 belongs
    # to the password; after a dot or a comma it belongs to an address that follows.
    _Shape(
        "://",
        r"://(?P<user>[^\s/:@\"'`]*):(?!(?P=user)@|\d{1,5}[?#,;)\]&|])"
        r"(?P<value>[^\s/@\"'`<>\\]{1,256}(?:@[^\s/@\"'`<>\\.:,;()&|]{1,64}){0,3})@",
        _no_stand_in,
    ),
    _Shape(
        _NAMES,
        rf"{_NAME}\w*[\"']?\s{{0,4}}(?::=|=>|=|:)\s{{0,4}}[a-z]?(?P<quote>[\"'`])"
        r"(?P<value>[^\"'`\n]{16,200})(?P=quote)",
        _random_looking,
    ),
    _Shape(
        _NAMES,
        rf"(?m:^)[ \t]*(?:-[ \t]+|export[ \t]+)?[\w.-]*{_NAME}\w*[ \t]*[=:][ \t]*"
        r"(?P<value>[A-Za-z0-9+/_=-]{20,200})[ \t]*(?m:$)",
        _random_looking,
    ),
)


def mask(text: str) -> tuple[str, int]:
    """The text with well-known forms of secrets replaced, and how many; lines stay as many."""
    removed = 0

    def without(match: re.Match[str]) -> str:
        nonlocal removed
        whole = match[0]
        start, end = match.span("value" if "value" in match.re.groupindex else 0)
        value = match.string[start:end]
        if value == REMOVED or not shape.accept(value):
            return whole
        removed += 1
        before, after = whole[: start - match.start()], whole[end - match.start() :]
        return before + REMOVED + "\n" * value.count("\n") + after

    for shape in _present(text):
        text = shape.expression.sub(without, text)
    return text, removed


def cut(text: str, most: int) -> str:
    """The beginning of a text, at most so many characters; a secret is in it whole or not at all.

    Half of one has no form that ``mask`` knows.
    """
    if len(text) <= most:
        return text
    within = text[: most + _LONGEST]
    places = sorted(
        (match.span() for shape in _present(within) for match in shape.expression.finditer(within)),
        reverse=True,
    )
    for start, end in places:
        if start < most < end:
            most = start
    return text[:most]


def _present(text: str) -> list[_Shape]:
    """The forms of which a text has an anchor."""
    lower = text.lower()
    return [
        shape
        for shape in _SHAPES
        if any(anchor in (lower if anchor.islower() else text) for anchor in shape.anchors)
    ]
