"""Why a file is not indexed: the words that ``status`` counts skipped files by.

Reasons of extractors (``encrypted``, ``damaged``, …) come beside these.
"""

from __future__ import annotations

IGNORED = "ignored"
OPTED_OUT = "rag: false"
EXCLUDED_TAG = "excluded tag"
EXCLUDED = "excluded"
SECRET = "secret"
FILE_TYPE = "file type"
TOO_LARGE = "too large"
BINARY = "binary"
MINIFIED = "minified"
GENERATED = "generated"
LONG_LINES = "long lines"
LINK_OUTSIDE = "symlink outside"
LINK_INSIDE = "symlink"
LINK_BROKEN = "broken symlink"
NOT_A_FILE = "not a regular file"
NAME = "file name"
UNREADABLE = "unreadable"
MISSING = "missing"
SMALL_PICTURE = "small picture"
PICTURES = "too many pictures"
