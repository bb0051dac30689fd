"""A GPU of its own for each job on a host with several: a lease that the kernel ends with the process.

Snakemake counts devices (``--resources gpu=K``) but does not say which is free. Each device has a lock file on the
host; a job takes the first that it can lock and sees that device alone. A killed job's lock goes with it.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import IO

from nslimb.errors import DataError
from nslimb.files import take_lock

_VISIBLE = "CUDA_VISIBLE_DEVICES"
_DRIVER = Path("/proc/driver/nvidia/gpus")
_HELD: list[IO[str]] = []  # locks, dropped by the kernel with the process


def devices(environment: Mapping[str, str] = os.environ, driver: Path = _DRIVER) -> tuple[str, ...]:
    """The names of the devices that a job may use, as CUDA reads them.

    Examples
    --------
    >>> devices({"CUDA_VISIBLE_DEVICES": "0, 2"})
    ('0', '2')
    >>> devices({"CUDA_VISIBLE_DEVICES": "0,-1,2"})  # CUDA stops at the first that there cannot be
    ('0',)
    """
    if _VISIBLE not in environment:
        return tuple(str(index) for index in range(_count(driver)))
    names: list[str] = []
    for name in environment[_VISIBLE].split(","):
        if not re.fullmatch(r"\d+|(GPU|MIG)-[\w/-]+", name.strip()):
            break
        names.append(name.strip())
    return tuple(names)


def _count(driver: Path) -> int:
    if driver.is_dir():
        return len(list(driver.iterdir()))
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return 0
    return sum(line.startswith("GPU ") for line in listed.splitlines())


def lease_device(
    wanted: str, environment: MutableMapping[str, str] = os.environ, folder: Path | None = None, pause: float = 0.5
) -> str | None:
    """Wait for a device that no other job holds, and let this process see that one alone, until it ends.

    ``wanted`` is the configuration's ``training.device``. Nothing is leased, and None returned, for the CPU and for a
    device named by number, where there is no device, and where one alone is visible by CUDA_VISIBLE_DEVICES: then
    somebody else, Slurm for one, has chosen. It must come before the first use of CUDA, which reads the variable once.
    """
    names = devices(environment) if wanted in ("auto", "cuda") else ()
    if not names or (len(names) == 1 and _VISIBLE in environment):
        return None
    where = _lock_folder() if folder is None else folder
    told = False
    while True:
        for name in names:
            lock = take_lock(where / f"{re.sub(r'[^0-9A-Za-z-]', '_', name)}.lock")
            if lock is None:
                continue
            _HELD.append(lock)
            environment[_VISIBLE] = name
            print(f"device {name} of {len(names)} leased")
            return name
        if not told:
            print(f"all {len(names)} devices are leased to other jobs; waiting for one")
            told = True
        time.sleep(pause)


def _lock_folder() -> Path:
    """A folder of the user's own on this host: devices are the host's, while results may be on a shared disk."""
    folder = Path(tempfile.gettempdir()) / f"nslimb-devices-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise DataError(f"{folder}: belongs to another user, and the leases of devices go there; remove it")
    return folder
