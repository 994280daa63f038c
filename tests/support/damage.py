"""Ways in which a file of derived data is found damaged."""

from __future__ import annotations

from pathlib import Path

DAMAGES = ("cut", "garbage", "empty", "foreign", "gone")


def damage(file: Path, how: str) -> None:
    """Damage a file in one of the ``DAMAGES``; "foreign" is the header of another database."""
    whole = file.read_bytes()
    broken = {
        "cut": whole[:-4],
        "garbage": b"x" * len(whole),
        "empty": b"",
        "foreign": whole[:8] + b"0" * 32 + whole[40:],
        "gone": None,
    }[how]
    # Another file, and not other bytes in this one, which readers may have mapped.
    file.unlink()
    if broken is not None:
        file.write_bytes(broken)
