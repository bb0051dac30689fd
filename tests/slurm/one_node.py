"""A Slurm cluster of one node on loopback, in a folder of its own: started as root, gone when the block ends."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

PACKAGES = ("munge", "slurm-client", "slurmctld", "slurmd")
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol")
CPUS, MEMORY_MB = 2, 8000

# Nothing here needs systemd or control groups: processes are followed through /proc, tasks are not pinned.
# The two GPUs are null devices: Slurm hands them out and sets CUDA_VISIBLE_DEVICES, torch finds none and takes the CPU.
SLURM_CONF = """
ClusterName=onenode
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge=300
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} Gres=gpu:2
PartitionName=cpu Nodes={host} Default=YES State=UP
PartitionName=gpu Nodes={host} State=UP
"""


def missing() -> list[str]:
    """The programs that are not there."""
    return [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]


def install() -> str | None:
    """Debian's packages, where that is allowed, within minutes; else the reason why not."""
    if os.geteuid() != 0:
        return "Slurm's daemons need root"
    if not missing():
        return None
    if shutil.which("apt-get") is None:
        return f"{', '.join(missing())} not found, and no apt-get to install them"
    if not _services_stay_down():
        return f"{', '.join(missing())} not found, and installing them here would start services (no policy-rc.d)"
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *PACKAGES]):
        try:
            done = subprocess.run(
                ["apt-get", "-o", "Acquire::http::Timeout=20", "-o", "DPkg::Lock::Timeout=60", *command],
                env=quiet,
                capture_output=True,
                text=True,
                timeout=240,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"apt-get {command[0]} took longer than 240 s"
        if done.returncode:
            return f"apt-get {command[0]} failed: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}"
    return f"{', '.join(missing())} not found after the installation" if missing() else None


def _services_stay_down() -> bool:
    """Whether Debian's policy, as in most images of containers, keeps installed services from being started."""
    try:
        return subprocess.run(["/usr/sbin/policy-rc.d", "munge", "start"], check=False, timeout=20).returncode == 101
    except (OSError, subprocess.TimeoutExpired):
        return False


@contextlib.contextmanager
def one_node() -> Iterator[dict[str, str]]:
    """The environment in which Slurm's commands talk to a fresh cluster with the partitions cpu and gpu."""
    folder = Path(tempfile.mkdtemp(prefix="one-node-"))
    folder.chmod(0o755)  # munge wants its socket within everyone's reach
    environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf"), "PATH": f"{folder}/bin{os.pathsep}{_path()}"}
    for name in [name for name in environment if name.startswith(("SLURM_", "SBATCH_", "SRUN_"))]:
        if name != "SLURM_CONF":
            del environment[name]
    daemons: list[subprocess.Popen[bytes]] = []
    try:
        _configure(folder)
        for command in _commands(folder):
            with (folder / f"{command[0]}.out").open("wb") as output:
                daemons.append(
                    subprocess.Popen(
                        command, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
                    )
                )
            if command[0] == "munged":
                _wait(lambda: (folder / "munge.socket").exists(), folder)
        _wait(lambda: "idle" in _said(["sinfo", "--noheader", "--format=%T"], environment), folder)
        yield environment
    finally:
        _said(["scancel", "--state=RUNNING"], environment)
        _said(["scancel", "--state=PENDING"], environment)
        with contextlib.suppress(TimeoutError):
            _wait(lambda: not _said(["squeue", "--noheader"], environment).strip(), folder)
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in reversed(daemons):
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait(timeout=20)
        shutil.rmtree(folder, ignore_errors=True)


def _path() -> str:
    """The daemons are in sbin, which is not on everyone's path."""
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/bin"])


def _configure(folder: Path) -> None:
    for name in ("state", "spool", "bin"):
        (folder / name).mkdir()
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o600)
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        controller, node = first.getsockname()[1], second.getsockname()[1]
    host = socket.gethostname().split(".")[0]
    (folder / "slurm.conf").write_text(
        SLURM_CONF.format(folder=folder, host=host, controller=controller, node=node, cpus=CPUS, memory=MEMORY_MB)
    )
    # The plugin's jobs lose SLURM_CONF, which clusters with a configuration under /etc do not need.
    srun = folder / "bin" / "srun"
    srun.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {shutil.which("srun")} "$@"\n')
    srun.chmod(0o755)
    (folder / "gres.conf").write_text("Name=gpu File=/dev/null\nName=gpu File=/dev/zero\n")
    # slurmd loads this plugin in any case; with an empty mount point of our own it touches no control group.
    (folder / "cgroup.conf").write_text(f"CgroupPlugin=cgroup/v1\nCgroupMountpoint={folder}/cgroup\n")


def _commands(folder: Path) -> list[list[str]]:
    munge = [f"--{name}={folder}/munge.{end}" for name, end in _MUNGE.items()]
    return [
        ["munged", "--foreground", "--force", *munge],
        ["slurmctld", "-D", "-c", "-f", str(folder / "slurm.conf")],
        ["slurmd", "-D", "-c", "-f", str(folder / "slurm.conf")],
    ]


_MUNGE = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}


def _said(command: list[str], environment: dict[str, str]) -> str:
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=20, check=False)
    except (subprocess.TimeoutExpired, FileNotFoundError):
        return ""
    return done.stdout


def _wait(done: Callable[[], bool], folder: Path, seconds: float = 60) -> None:
    """Until ``done`` holds; if it never does, what the daemons said."""
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            said = "\n".join(
                f"{path.name}: {path.read_text(errors='replace')[-1500:]}" for path in folder.glob("*.out")
            )
            raise TimeoutError(f"the cluster did not get there in {seconds:.0f} s\n{said}")
        time.sleep(0.2)
