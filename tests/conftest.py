"""Settings and fixtures shared by all tests."""

import os
from pathlib import Path

import pytest
import torch
from grids import checkout, snakemake, tiny
from hypothesis import Phase, settings

# A virtual machine may name the processor's matrix unit (AMX) and not let it be used: mixed precision then ends in an
# illegal instruction.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")
# The tensors here are small: threads that wait for each other cost more than they save.
torch.set_num_threads(1)

# No shrinking: a failure prints its draw at once, and these problems are small as they are.
settings.register_profile(
    "nslimb", deadline=None, max_examples=100, derandomize=True, phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("nslimb")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share a grid which takes a minute to run stay together where tests run side by side."""
    for item in items:
        if "undisturbed" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("undisturbed"))


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small grid that ran from beginning to end, on a copy of the package that a test may edit."""
    folder = checkout(tmp_path_factory.mktemp("grid"))
    snakemake("--configfile", str(tiny(folder)), folder=folder, root=folder)
    return folder
