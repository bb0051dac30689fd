"""Files of another version, and broken ones: the reader names the file and says what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from fabricated import epochs_of, metrics_of, run_file
from torch import nn

from nslimb.errors import BrokenFile, InvalidInput
from nslimb.experiment.runs.base import Schema, read_schema, write_schema
from nslimb.experiment.runs.marginals import Marginals
from nslimb.experiment.runs.metrics import Metrics
from nslimb.experiment.runs.run import RunFile
from nslimb.experiment.runs.timing import Timing
from nslimb.files import write_sealed
from nslimb.learning.checkpoint import load_weights, save_model
from nslimb.learning.history import read_history, write_history
from nslimb.learning.methods import make_method
from nslimb.sigma import maximum

MARGINALS = Marginals(
    ratios=[0.5, 0.5], log_likelihood=-1.0, iterations=3, converged=True, not_identified=[], seconds=0.1
)
TIMING = Timing(minutes_per_epoch={"exact": {"SL": 0.1}}, peak_mb={"exact": {"SL": 400.0}}, samples=9, measured_on=3)
FILES: dict[str, Schema] = {
    "metrics.json": metrics_of(0.5),
    "marginals.json": MARGINALS,
    "timing.json": TIMING,
    "run.yaml": run_file(),
}


def rewrite(path: Path, **changes: Any) -> None:
    """The file with other entries (None: without them), sealed anew where it has a seal."""
    content = yaml.safe_load(path.read_text())
    content.pop("sha256", None)
    content = {key: value for key, value in {**content, **changes}.items() if value is not None}
    if path.suffix == ".json":
        write_sealed(path, content)
    else:
        path.write_text(yaml.safe_dump(content))


@pytest.mark.parametrize("name", FILES)
def test_what_was_written_is_read(tmp_path: Path, name: str) -> None:
    write_schema(tmp_path / name, FILES[name])
    assert read_schema(tmp_path / name, type(FILES[name])) == FILES[name]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(("version", "told"), [(7, "7"), (None, "none")])
def test_a_file_of_another_version_says_what_to_do(tmp_path: Path, name: str, version: int | None, told: str) -> None:
    path = tmp_path / name
    write_schema(path, FILES[name])
    rewrite(path, version=version)
    with pytest.raises(BrokenFile) as caught:
        read_schema(path, type(FILES[name]))
    assert str(caught.value) == (
        f"{path}: is of version {told}, and this nslimb reads 1; "
        "let the workflow make it anew, or read it with the nslimb that wrote it"
    )
    assert caught.value.path == path  # a job sets it aside, and the next run makes it anew


@pytest.mark.parametrize("name", FILES)
def test_entries_that_are_missing_unknown_or_of_another_kind_are_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    key = next(key for key in type(FILES[name]).model_fields if key not in ("version", "ceiling"))
    for change, message in (
        ({key: None}, rf"{key}: Field required"),
        ({"surplus": 1}, r"surplus: Extra inputs are not permitted"),
        ({key: {"of": ["another kind"]}}, rf"{key}"),
    ):
        write_schema(path, FILES[name])
        rewrite(path, **change)
        with pytest.raises(BrokenFile, match=message):
            read_schema(path, type(FILES[name]))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", [b"", b"{", b"a: [1", b"- 1\n", b"\xff\xfe\x00", b"null\n"])
def test_no_content_leads_to_another_error(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BrokenFile, match=name):
        read_schema(tmp_path / name, type(FILES[name]))


def test_a_history_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    history = epochs_of(5, look_every=2)
    write_history(path, history)
    assert read_history(path) == history
    assert [row.epoch for row in history if row.test_accuracy is None] == [1, 3]


def edit(path: Path, change: Callable[[str], str]) -> None:
    path.write_text(change(path.read_text()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace(",1\n", ",9\n"), r"is of version 9, and this nslimb reads 1; remove it and run"),
        (
            lambda text: text.replace(",1\n", "\n").replace(",version", ""),
            r"is of version none, and this nslimb reads 1",
        ),
        (lambda text: "epoch,loss\n1,2.0\n", r"is of version none"),
        (lambda text: text.replace("training", "1,training", 1), r"version|cannot be read"),
        (lambda text: text.replace("2.0", "two", 1), r"cannot be read \(ValueError"),
        (lambda text: text[: text.rindex("[")], r"is of version none|cannot be read"),
        (lambda text: "", r"cannot be read"),
    ],
)
def test_a_history_that_cannot_be_read_says_so(tmp_path: Path, change: Callable[[str], str], message: str) -> None:
    path = tmp_path / "history.csv"
    write_history(path, epochs_of(3))
    edit(path, change)
    with pytest.raises(BrokenFile, match=rf"history\.csv: .*({message})"):
        read_history(path)


def test_a_history_of_other_bytes_says_so(tmp_path: Path) -> None:
    (tmp_path / "history.csv").write_bytes(b"epoch,\xff\xfe\n1,2\n")
    with pytest.raises(BrokenFile, match=r"history\.csv"):
        read_history(tmp_path / "history.csv")


@pytest.mark.parametrize(("version", "told"), [(9, "9"), (None, "none")])
def test_a_model_of_another_version_says_what_to_do(tmp_path: Path, version: int | None, told: str) -> None:
    path = tmp_path / "model.pt"
    network = nn.Linear(2, 3)
    save_model(path, network, make_method("sl", maximum(2)))
    state = load_weights(path)
    assert torch.equal(state["network"]["weight"], network.weight)
    state.pop("version")
    torch.save({**state, **({} if version is None else {"version": version})}, path)
    with pytest.raises(BrokenFile) as caught:
        load_weights(path)
    assert str(caught.value) == (
        f"{path}: is of format version {told}, and this nslimb reads 1; "
        "remove it and train again, or read it with the nslimb that wrote it"
    )


def test_an_old_models_bare_weights_are_no_model(tmp_path: Path) -> None:
    torch.save(nn.Linear(2, 3).state_dict(), tmp_path / "model.pt")
    with pytest.raises(BrokenFile, match=r"model\.pt: is of format version none"):
        load_weights(tmp_path / "model.pt")


def test_metrics_are_plain_numbers(tmp_path: Path) -> None:
    """What cannot be written as JSON is refused when it is written, not when it is read."""
    write_schema(tmp_path / "metrics.json", metrics_of(0.25))
    content = json.loads((tmp_path / "metrics.json").read_text())
    assert content["adjustments"]["none"]["accuracy"] == 0.25
    with pytest.raises(ValueError, match="settings"):
        Metrics(**{**metrics_of(0.5).model_dump(), "settings": object()})
    with pytest.raises(ValueError, match="cell"):
        RunFile(**{**run_file().model_dump(), "cell": 3})


def test_settings_of_a_method_are_typed() -> None:
    with pytest.raises(InvalidInput, match="gamma: expected a finite number of at least 0"):
        make_method("sl", maximum(2), gamma=-1.0)
