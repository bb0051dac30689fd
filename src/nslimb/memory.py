"""Memory that a process keeps for its next step, in place of giving it back to the system and asking again."""

from __future__ import annotations

import ctypes
import platform

# Of mallopt, in glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGEST = 32 * 2**20  # bytes of one array; older versions of glibc refuse more
_KEPT = 2**30


def keep_freed_memory() -> bool:
    """Let this process reuse the memory of arrays of up to 32 MiB instead of returning it; False where it cannot.

    A training step frees what the next one asks for. By default glibc hands arrays of some megabytes back to the
    system, and the system zeroes them anew, page by page: a seventh to a fifth of a step of LeNet. For processes of our
    own alone, since up to 1 GiB stays with the process.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return bool(mallopt(_MMAP_THRESHOLD, _LARGEST)) and bool(mallopt(_TRIM_THRESHOLD, _KEPT))
