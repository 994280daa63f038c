"""Zip-based formats: what may be unpacked, checked before anything is."""

from __future__ import annotations

import io
import zipfile

from rag_agent.errors import ExtractError, TooLarge

UNPACKED = 512 * 1024**2
"""Bytes that a document may declare for all its parts together."""
# Compound File Binary header ([MS-CFB] 2.2): old Office files, and new ones under a password.
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def open_archive(data: bytes, path: str, required: str, limit: int = UNPACKED) -> zipfile.ZipFile:
    """The archive, which declares at most ``limit`` bytes and has the part ``required``.

    Declared sizes are enough: ``zipfile`` never unpacks more of a part than it declares.

    Raises:
        TooLarge: the parts declare more than the limit.
        ExtractError: not such an archive.
    """
    if data.startswith(_COMPOUND):
        raise ExtractError(
            path, "encrypted or old format", "save it without a password, as a current format"
        )
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        parts = archive.infolist()
    except zipfile.BadZipFile as error:
        raise ExtractError(path, "cannot be parsed", f"not a zip archive: {error}") from error
    declared = sum(part.file_size for part in parts)
    if declared > limit:
        megabytes = f"{declared // 1024**2:,} MB, more than {limit // 1024**2:,}"
        raise TooLarge(path, "unpacks to too much", megabytes)
    if required not in archive.namelist():
        raise ExtractError(path, "cannot be parsed", f"the archive has no {required}")
    return archive
