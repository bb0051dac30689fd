"""torchvision comes in through one door, also next to a CPU build of torch."""

from __future__ import annotations

import re
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
    direct = re.compile(r"^\s*(import|from) torchvision", re.MULTILINE)
    assert direct.search("    from torchvision import transforms")
    users = [path.name for path in SOURCES.rglob("*.py") if direct.search(path.read_text())]
    assert users == ["vision.py"]


def test_other_failures_of_the_import_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    import nslimb.vision

    def broken(_: str) -> None:
        raise RuntimeError("out of luck")

    monkeypatch.setattr(nslimb.vision.importlib, "import_module", broken)
    monkeypatch.delitem(vars(nslimb.vision), "torchvision", raising=False)
    with pytest.raises(RuntimeError, match="out of luck"):
        nslimb.vision.torchvision  # noqa: B018


def test_other_names_are_refused() -> None:
    import nslimb.vision

    with pytest.raises(AttributeError, match="it has 'torchvision'"):
        nslimb.vision.torchaudio  # noqa: B018


def test_importing_nslimb_loads_neither_torch_nor_torchvision() -> None:
    code = "import sys, nslimb, nslimb.cli; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
