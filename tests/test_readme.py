"""The code in the README and in the documentation runs as printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

import nslimb

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


def test_every_way_to_state_a_sigma_is_in_the_table() -> None:
    table = (ROOT / "docs" / "knowledge.md").read_text().split("## Ways to state a sigma")[1].split("Compile times")[0]
    ways = [f"sigma.{name}" for name in nslimb.sigma.__all__ if name.islower()]
    ways += [f"Sigma.{name}" for name in vars(nslimb.Sigma) if name.startswith("from_")]
    assert [way for way in ways if f"`{way}" not in table] == []
