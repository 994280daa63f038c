"""Where servers listen for hooks: a socket that only the same user may open.

Read by the hook before anything else, so this imports next to nothing. The folder depends on the
user alone and not on TMPDIR or XDG_RUNTIME_DIR: hosts give servers and hooks different variables.
"""

from __future__ import annotations

import os
import stat
import sys
from binascii import crc32

TYPE_CHECKING = False  # as typing's, which costs more to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

STORE = (".pi", "rag")
"""The folder of a project's index, below that of the project."""

_PIPES = "\\\\.\\pipe\\"
_SUFFIX = ".sock"
# <sys/un.h> of macOS: the level and the option that tell who is at the other end (struct xucred).
_SOL_LOCAL, _LOCAL_PEERCRED = 0, 1


def folder() -> str:
    """The user's own folder for sockets, made if need be (POSIX).

    Raises:
        OSError: it cannot be made, or others have a say in it.
    """
    path = f"/tmp/rag_agent-{os.getuid()}"
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        os.mkdir(path, 0o700)  # noqa: PTH102
        found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PermissionError(f"{path} is not a folder of this user alone")
    return path


def nearest_store(folder: str, home: str | None) -> str | None:
    """The nearest existing ``.pi/rag`` from a folder upwards, below the home folder."""
    while True:
        if home is not None and os.path.normcase(folder) == os.path.normcase(home):
            return None
        store = os.path.join(folder, *STORE)  # noqa: PTH118
        # A .pi of another user, which may not be looked into, is none of ours.
        if os.path.isdir(store):  # noqa: PTH112
            return store
        above = os.path.dirname(folder)  # noqa: PTH120
        if above == folder:
            return None
        folder = above


def address(store_folder: str, pid: int) -> str:
    """Where the server with this process number listens for this store.

    Raises:
        OSError: there is no safe place.
    """
    name = f"{_key(store_folder)}-{pid}"
    return f"{_PIPES}rag_agent-{name}" if os.name == "nt" else f"{folder()}/{name}{_SUFFIX}"


def addresses(store_folder: str) -> list[str]:
    """Where servers may listen for this store, the newest first; some may be dead.

    Raises:
        OSError: there is no safe place.
    """
    if os.name == "nt":
        start = f"rag_agent-{_key(store_folder)}-"
        return [_PIPES + name for name in os.listdir(_PIPES) if name.startswith(start)]  # noqa: PTH208
    start = f"{_key(store_folder)}-"
    with os.scandir(folder()) as entries:
        found = [entry for entry in entries if entry.name.startswith(start)]
        found.sort(key=lambda entry: -entry.stat(follow_symlinks=False).st_mtime)
        return [entry.path for entry in found]


def remove_dead(path: str) -> None:
    """Remove a socket at which nobody listens, unless its server runs: it may be starting."""
    if os.name != "nt" and not _is_alive(_owner(path)):
        _unlink(path)


def remove_of(pid: int) -> None:
    """Remove the sockets of a process that ends."""
    _remove(lambda owner: owner == pid)


def remove_of_dead() -> None:
    """Remove the sockets of processes that were killed."""
    _remove(lambda owner: not _is_alive(owner))


def _remove(is_meant: Callable[[int], bool]) -> None:
    if os.name == "nt":
        return  # pipes go with their process
    try:
        names = os.listdir(folder())  # noqa: PTH208
    except OSError:
        return
    for name in names:
        if name.endswith(_SUFFIX) and is_meant(_owner(name)):
            _unlink(f"{folder()}/{name}")


def _owner(path: str) -> int:
    """The number of the process whose socket this is; 0, which is no process, if it is none."""
    number = path.removesuffix(_SUFFIX).rpartition("-")[2]
    return int(number) if number.isdecimal() else 0


def _unlink(path: str) -> None:
    try:
        os.unlink(path)  # noqa: PTH108
    except OSError:
        return


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # of another user
    return True


def is_same_user(link: socket) -> bool:
    """Whether the other end belongs to this user, where the system can tell; else true.

    The folder keeps others out already; this does so where somebody opened it to them.
    """
    import struct  # for a server alone

    if sys.platform.startswith("linux"):
        import socket

        credentials = struct.Struct("3i")  # process, user, group
        found = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, credentials.size)
        return bool(credentials.unpack(found)[1] == os.getuid())
    if sys.platform == "darwin":
        _, user = struct.unpack("2I", link.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 76)[:8])
        return bool(user == os.getuid())
    return True


def _key(store_folder: str) -> str:
    """Eight characters for a store; the server checks the folder itself."""
    return f"{crc32(os.fsencode(os.path.normcase(store_folder))):08x}"
