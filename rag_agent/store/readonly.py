"""Connections that cannot write."""

from __future__ import annotations

from pathlib import Path, PurePath

import apsw


def connect_readonly(path: Path, parameters: str = "mode=ro") -> apsw.Connection:
    """The database at an absolute path; ``parameters`` are those of SQLite's URIs."""
    return apsw.Connection(
        f"{uri(path)}?{parameters}", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    )


def uri(path: PurePath) -> str:
    r"""The path as SQLite takes it, which knows no authority: a share is ``file:////server/…``."""
    written = path.as_uri()  # of \\server\share it is file://server/share
    if written.startswith("file:///"):
        return written
    return f"file://{written.removeprefix('file:')}"
