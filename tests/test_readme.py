"""The code in the README and in the documentation runs as printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("page", ["README.md", "docs/knowledge.md"])
def test_the_code_runs_as_printed(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        torch.manual_seed(0)  # one draw in twenty has no sample of zeros alone, of which Algorithm 1 warns
        exec(compile(block, page, "exec"), {})
