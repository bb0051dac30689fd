"""Studies: their numbers against what is known of them, and that they can be drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fabricated import write_run
from test_config import sigma_of, values
from typer.testing import CliRunner

from nslimb.cli import app
from nslimb.errors import DataError
from nslimb.experiment.config import Config, read_config
from nslimb.experiment.studies import STUDIES
from nslimb.theory import class_risk_bounds


@pytest.fixture(scope="module")
def bounds() -> pd.DataFrame:
    return STUDIES.get("risk_bounds").compute(None)


def test_figure_two_has_both_cases_and_known_values(bounds: pd.DataFrame) -> None:
    assert len(bounds) == 2 * 20 * 10
    assert (bounds["certified"] >= bounds["local"]).all()
    assert (bounds["certified"] - bounds["local"]).max() < 1e-5
    uniform, weak = (part for _, part in bounds.groupby("case", sort=False))
    assert weak["ratio"].iloc[0] == pytest.approx(np.sqrt(0.1))
    # Class 0 is seen only in pairs whose maximum is 0: one in a hundred.
    of_zero = uniform[uniform["class"] == 0].set_index("partial_risk")["certified"]
    assert (of_zero[of_zero.index > 0.01] == 1).all()
    figure = STUDIES.get("risk_bounds").draw(bounds)
    assert [len(axis.lines) for axis in figure.axes] == [10, 10]


def test_the_counterexample_has_twins_of_equal_height() -> None:
    frame = STUDIES.get("counterexample").compute(None)
    curve = frame[frame["kind"] == "curve"]
    t = curve["t"].to_numpy()
    exact = t**4 + 6 * t**2 * (1 - t) ** 2 + 4 * t * (1 - t) ** 3
    assert np.abs(curve["weak_ratio"] - exact).max() < 1e-12
    for _, pair in frame[frame["kind"] != "curve"].groupby("kind"):
        assert pair["t"].nunique() >= 2
        assert np.ptp(pair["weak_ratio"]) < 1e-3  # read off the curve
    assert len(STUDIES.get("counterexample").draw(frame).axes) == 1


def finished(config: Config, accuracy: Any) -> None:
    """Runs as the workflow leaves them, with class accuracies of the test's choice."""
    for cell, method in STUDIES.get("order").needs(config):
        write_run(config, cell, method, 0.5, accuracy)


def small(results: Path) -> Config:
    changed = values()
    changed.update(results=str(results), benchmarks={"max": {**changed["benchmarks"]["max"], "rho": ["0"]}})
    return read_config(changed)


@pytest.mark.parametrize(("sign", "expected"), [(-1, 1.0), (1, -1.0)])
def test_the_order_study_tells_agreement_from_its_opposite(tmp_path: Path, sign: int, expected: float) -> None:
    config = small(tmp_path)
    phi = class_risk_bounds(sigma_of(config, "max", 3), np.full(10, 0.1), 0.01, certify=False).upper
    finished(config, 0.5 + sign * phi / 2)
    frame = STUDIES.get("order").compute(config)
    assert frame["spearman"].tolist() == pytest.approx([expected] * len(frame))
    assert set(frame["method"]) == {"sl", "ilp-alg1"}
    assert f"rank correlation {expected:.2f}" in STUDIES.get("order").draw(frame).axes[0].get_title()


def test_studies_of_models_say_what_they_need(tmp_path: Path) -> None:
    config = small(tmp_path)
    with pytest.raises(DataError, match=r"order: no run .* has finished yet"):
        STUDIES.get("order").compute(config)
    assert STUDIES.get("carot_robustness").needs(config)[0][1] == "sl"
    for name in ("order", "carot_robustness"):
        done = CliRunner().invoke(app, ["study", name, "--out", str(tmp_path)])
        assert done.exit_code == 2
        assert f"nslimb: {name}: needs" in done.output


def test_a_study_from_the_command_line(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["study", "counterexample", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"counterexample.{form}" for form in ("csv", "png", "svg")
    ]


@pytest.mark.parametrize(("content", "message"), [("a: [", "is no YAML file"), ("", "a mapping of keys to values")])
def test_a_bad_configuration_is_told_plainly(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "grid.yaml"
    path.write_text(content)
    done = CliRunner().invoke(app, ["study", "order", "--config", str(path), "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert message in done.output
