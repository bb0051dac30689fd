"""Large arrays come from the heap, where freed memory stays, instead of from the system each time."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from nslimb import memory

# The number of arrays that malloc has asked the system for one by one: one more for 30 MiB, or not.
_ASKED = """
import ctypes, sys
from nslimb.memory import keep_freed_memory
if sys.argv[1] == "keep":
    assert keep_freed_memory()
class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usm fsm uord ford keep".split()]
library = ctypes.CDLL(None)
library.mallinfo2.restype, library.malloc.restype = Info, ctypes.c_void_p
before = library.mallinfo2().hblks
assert library.malloc(ctypes.c_size_t(30 * 2**20))
print(library.mallinfo2().hblks - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no mallopt")
@pytest.mark.parametrize(("how", "asked"), [("default", 1), ("keep", 0)])
def test_large_arrays_are_not_asked_of_the_system_one_by_one(how: str, asked: int) -> None:
    usual = {key: value for key, value in os.environ.items() if not key.startswith(("MALLOC_", "GLIBC_TUNABLES"))}
    done = subprocess.run([sys.executable, "-c", _ASKED, how], capture_output=True, check=True, env=usual)
    assert int(done.stdout) == asked


def test_nothing_is_done_without_glibc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: pytest.fail("called"))
    assert not memory.keep_freed_memory()
