"""A job of Windows: what is in it ends with this process, and takes no more memory than it may.

Layout of the structures: winnt.h, JOBOBJECT_EXTENDED_LIMIT_INFORMATION.
"""

from __future__ import annotations

import ctypes
import logging
import sys
from contextlib import suppress

_log = logging.getLogger(__name__)

_EXTENDED_LIMITS = 9  # JobObjectExtendedLimitInformation
_PROCESS_MEMORY = 0x100  # JOB_OBJECT_LIMIT_PROCESS_MEMORY
_KILL_ON_CLOSE = 0x2000  # JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE


class _Basic(ctypes.Structure):
    _fields_ = [
        ("per_process_user_time", ctypes.c_int64),
        ("per_job_user_time", ctypes.c_int64),
        ("flags", ctypes.c_uint32),
        ("minimum_working_set", ctypes.c_size_t),
        ("maximum_working_set", ctypes.c_size_t),
        ("active_processes", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority", ctypes.c_uint32),
        ("scheduling", ctypes.c_uint32),
    ]


class Limits(ctypes.Structure):
    """What a job allows; numbers are bytes."""

    _fields_ = [
        ("basic", _Basic),
        ("io_counters", ctypes.c_uint64 * 6),
        ("process_memory", ctypes.c_size_t),
        ("job_memory", ctypes.c_size_t),
        ("peak_process_memory", ctypes.c_size_t),
        ("peak_job_memory", ctypes.c_size_t),
    ]


class Job:
    """Holds one process and what it starts; on other systems than Windows it does nothing.

    Closing it ends them, and the system closes it when this process ends, however it does.
    """

    def __init__(self, process: object, memory: int) -> None:
        self._handle: int | None = None
        if sys.platform == "win32":
            try:
                self._handle = _confined(int(process._handle), memory)  # type: ignore[attr-defined]
            except OSError as error:
                _log.info("parsers are not confined to a job: %s", error)

    def close(self) -> None:
        """End what is in it."""
        handle, self._handle = self._handle, None
        if sys.platform == "win32" and handle is not None:
            with suppress(OSError):
                _kernel().CloseHandle(handle)


if sys.platform == "win32":
    from ctypes import wintypes

    def _kernel() -> ctypes.WinDLL:
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel.CreateJobObjectW.argtypes = (wintypes.LPVOID, wintypes.LPCWSTR)
        kernel.CreateJobObjectW.restype = wintypes.HANDLE
        kernel.SetInformationJobObject.argtypes = (
            wintypes.HANDLE, ctypes.c_int, wintypes.LPVOID, wintypes.DWORD,
        )  # fmt: skip
        kernel.AssignProcessToJobObject.argtypes = (wintypes.HANDLE, wintypes.HANDLE)
        kernel.CloseHandle.argtypes = (wintypes.HANDLE,)
        return kernel

    def _confined(process: int, memory: int) -> int:
        """The handle of a job that the process is in."""
        kernel = _kernel()
        job = kernel.CreateJobObjectW(None, None)
        if not job:
            raise ctypes.WinError(ctypes.get_last_error())
        limits = Limits()
        limits.basic.flags = _KILL_ON_CLOSE | (_PROCESS_MEMORY if memory else 0)
        limits.process_memory = memory
        size = ctypes.sizeof(limits)
        if not (
            kernel.SetInformationJobObject(job, _EXTENDED_LIMITS, ctypes.byref(limits), size)
            and kernel.AssignProcessToJobObject(job, process)
        ):
            error = ctypes.WinError(ctypes.get_last_error())
            kernel.CloseHandle(job)
            raise error
        return int(job)
