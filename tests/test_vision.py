"""torchvision comes in through one door, also next to a CPU build of torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent.parent / "src" / "nslimb"


def test_models_and_transforms_work() -> None:
    code = """
import torch
from nslimb.vision import torchvision
network = torchvision.models.resnet18(num_classes=10).eval()
assert network(torch.zeros(2, 3, 32, 32)).shape == (2, 10)
assert torchvision.transforms.RandomCrop(32, padding=4)(torch.zeros(3, 32, 32)).shape == (3, 32, 32)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_nothing_else_imports_torchvision() -> None:
    users = [p.name for p in SOURCES.rglob("*.py") if "import torchvision" in p.read_text() and p.name != "vision.py"]
    direct = [name for name in users if "from nslimb.vision import torchvision" not in (SOURCES / name).read_text()]
    assert direct == []


def test_other_names_are_refused() -> None:
    import nslimb.vision

    with pytest.raises(AttributeError, match="it has 'torchvision'"):
        nslimb.vision.torchaudio  # noqa: B018


def test_importing_nslimb_loads_neither_torch_nor_torchvision() -> None:
    code = "import sys, nslimb, nslimb.cli; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
