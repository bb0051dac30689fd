"""SoLar's window."""

from __future__ import annotations

import pytest
import torch

from nslimb.errors import InvalidInput
from nslimb.marginals import SlidingWindow


def test_it_starts_uniform_and_follows_the_schedule() -> None:
    window = SlidingWindow(num_classes=4, pre_epochs=2)
    assert torch.equal(window.ratios, torch.full((4,), 0.25, dtype=torch.float64))
    predictions = torch.zeros(10, 3, dtype=torch.int64)
    expected, ended = 0.25, []
    for weight in (0.05, 0.05, 0.01, 0.01):
        window.update(predictions)
        expected = (1 - weight) * expected + weight
        assert window.ratios[0].item() == pytest.approx(expected)
        assert window.ratios.sum().item() == pytest.approx(1)
        ended.append(window.phase_ended)
    assert ended == [False, True, False, False]


def test_positions_can_have_ratios_of_their_own() -> None:
    window = SlidingWindow(num_classes=3, arity=2, pre_epochs=0, momentum=1.0)
    ratios = window.update([[0, 2], [1, 2]])
    assert ratios.tolist() == [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]


def test_it_goes_on_from_a_checkpoint() -> None:
    window = SlidingWindow(num_classes=3, pre_epochs=1)
    window.update([[0, 1]])
    other = SlidingWindow(num_classes=3, pre_epochs=1)
    other.load_state_dict(window.state_dict())
    assert torch.equal(window.update([[2, 2]]), other.update([[2, 2]]))
    with pytest.raises(InvalidInput, match=r"state\['ratios'\]: expected shape \[4\], got shape \[3\]"):
        SlidingWindow(num_classes=4).load_state_dict(window.state_dict())


@pytest.mark.parametrize(
    ("predictions", "given"),
    [([0, 1], r"shape \[2\]"), ([[0, 3]], "3"), ([[-1, 0]], "-1"), (torch.zeros(0, 2).long(), r"shape \[0, 2\]")],
)
def test_bad_predictions_are_refused(predictions: object, given: str) -> None:
    with pytest.raises(InvalidInput, match=f"predictions: expected predicted labels 0 to 2 .* got {given}"):
        SlidingWindow(num_classes=3).update(predictions)


@pytest.mark.parametrize(
    "options", [{"num_classes": 0}, {"momentum": 1.5}, {"pre_momentum": -0.1}, {"pre_epochs": -1}, {"arity": 0}]
)
def test_bad_settings_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(options))):
        SlidingWindow(**{"num_classes": 3, **options})  # type: ignore[arg-type]
