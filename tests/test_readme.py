"""The code in the README and in the documentation runs as printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parent.parent


# Of 3,000 triples of digits, one draw in twenty has no (0, 0, 0), of which Algorithm 1 rightly warns.
@pytest.mark.filterwarnings("ignore::nslimb.marginals.NotIdentified")
@pytest.mark.parametrize("page", ["README.md", "docs/knowledge.md"])
def test_the_code_runs_as_printed(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        torch.manual_seed(0)
        exec(compile(block, page, "exec"), {})
