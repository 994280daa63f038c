"""Work that nobody waits for gives way: to questions, the agent, the person's own programs."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress

_NICENESS = 10  # of 19: a tenth of what a thread that somebody waits for gets beside it
_BELOW_NORMAL = -1  # THREAD_PRIORITY_BELOW_NORMAL
_UTILITY = 0x11  # QOS_CLASS_UTILITY: work with a progress bar, if at all


def lower() -> None:
    """Let every other thread of the system go before the one that calls, for the rest of its life.

    A search beside embedding takes 45 ms instead of 100 where one alone takes 35 (two busy cores).
    Where the system refuses, nothing happens.
    """
    with suppress(OSError, AttributeError):
        if sys.platform == "linux":
            # Each thread has a niceness, whatever POSIX says of processes; new threads and
            # processes begin with that of the thread that starts them.
            own = threading.get_native_id()
            if os.getpriority(os.PRIO_PROCESS, own) < _NICENESS:
                os.setpriority(os.PRIO_PROCESS, own, _NICENESS)
        elif sys.platform == "darwin":
            import ctypes

            ctypes.CDLL(None).pthread_set_qos_class_self_np(_UTILITY, 0)
        elif sys.platform == "win32":
            import ctypes

            kernel = ctypes.WinDLL("kernel32", use_last_error=True)
            kernel.GetCurrentThread.restype = ctypes.c_void_p  # a handle is as wide as a pointer
            kernel.SetThreadPriority(ctypes.c_void_p(kernel.GetCurrentThread()), _BELOW_NORMAL)
