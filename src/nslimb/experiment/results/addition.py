"""docs/addition.md: MNIST-Add-N beside what others have published, from docs/results/addition.csv."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from nslimb.errors import DataError
from nslimb.experiment import places, sums
from nslimb.experiment.chance import interval
from nslimb.experiment.tables import markdown
from nslimb.files import write_text

Frame = pd.DataFrame
PLAIN, AUGMENTED = "sl-decay", "sl-decay-affine"
_PRINTED = {
    PLAIN: "nslimb",
    AUGMENTED: "nslimb, affine maps of the images",
    "supervised-decay": "the same network, every digit seen",
    "supervised-decay-affine": "the same network, every digit seen, affine maps",
}
_GOALS = {(4, PLAIN): 93, (4, AUGMENTED): 95, (15, PLAIN): 78, (15, AUGMENTED): 85}
_MINUTES = {(15, PLAIN): 10, (15, AUGMENTED): 10}  # a run
_SEEDS = 3  # that a goal asks for
_SEEN = {PLAIN: "supervised-decay", AUGMENTED: "supervised-decay-affine"}  # the same with every digit seen
_COLUMNS = ["M", "seed", "method", "accuracy", "test_weak_accuracy", "seconds"]
_ABOUT = """\
# Sums of numbers

MNIST-Add-N: two numbers of N digits as images, of which only the sum is observed. LeNet, from scratch, by the exact
semantic loss (`sigma.addition(N)`), on one CPU core. No image is in two sums: of the 60,000 training images and of the
10,000 test images as many are used as make whole sums. N = 1 and 2 train in batches of 32 sums, N = 4 and 15 in batches
of 8. All figures are of the last of 36 epochs, or of 72 with affine maps. How batches, steps and epochs were chosen,
and what is to be held against it, is told in [decisions](decisions.md#mnist-add-n-as-the-field-has-it).
`config/addition.yaml` is the grid, `snakemake --configfile config/addition.yaml -- publish` writes its runs into
`docs/results/addition.csv`, and `make results` this page. `examples/addition.py` is a training loop of its own
in 60 lines."""
_CAPTION = (
    "Sums right (%) on the test images: mean over seeds with its 95 % interval (Student's t), and in brackets the "
    "digits right. Every digit seen: trained on the gold labels of the same images with the same steps, which is what "
    "the network allows. What others report is from table 1 of the NeSyDM paper. With 333 test sums at N = 15 a single "
    "run has a standard error of 2 points."
)


def read(path: Path) -> Frame:
    """The published runs; none where nothing has been published."""
    if not path.exists():
        return pd.DataFrame(columns=_COLUMNS)
    frame: Frame = pd.read_csv(path)
    missing = [name for name in _COLUMNS if name not in frame]
    if missing:
        raise DataError(f"{path}: has no column {', '.join(missing)}; publish it again")
    return frame


def page(runs: Frame, published: Frame) -> str:
    """The whole page as Markdown."""
    if not len(runs):
        return f"{_ABOUT}\n\nNothing has been run yet.\n"
    found = by_size(runs)
    parts = [_ABOUT, markdown(sums.laid_out(found, published), _CAPTION), _goals(runs), _price(runs), _times(runs)]
    return "\n\n".join(part.rstrip() for part in parts if part) + "\n"


def by_size(runs: Frame) -> Frame:
    """Sums and digits right by N and method, with what ``sums.laid_out`` asks for."""
    rows = [
        {
            "N": size,
            "method": method,
            "training": _PRINTED.get(str(method), str(method)),
            "seeds": len(part),
            "accuracy_mean": part["accuracy"].mean(),
            **sums.sums_right(part["test_weak_accuracy"].tolist()),
        }
        for (method, size), part in runs.assign(N=runs["M"] // 2).groupby(["method", "N"])
    ]
    return pd.DataFrame(rows)


def _goals(runs: Frame) -> str:
    """Each goal beside the mean of the sums right, or beside the longest run."""
    lines = []
    for (size, method), goal in _GOALS.items():
        right = _of(runs, size, method, "test_weak_accuracy")
        told = _told(f"{right.mean():.1f} %", right.mean() >= goal, len(right))
        lines.append(f"- N = {size}, {_PRINTED[method]}: goal {goal} %, {told}.")
    for (size, method), most in _MINUTES.items():
        longest = (minutes := _of(runs, size, method, "seconds") / 60).max()
        told = _told(f"at most {longest:.1f}", longest < most, len(minutes))
        lines.append(f"- N = {size}, {_PRINTED[method]}: goal under {most} minutes a run, {told}.")
    return "\n".join(lines)


def _price(runs: Frame) -> str:
    """What it costs to see sums and no digits, paired by N and seed; empty where no digit was seen."""
    keys, lines = ["M", "seed"], []
    for method, seen in _SEEN.items():
        weak, gold = (runs[runs["method"] == name].set_index(keys)["test_weak_accuracy"] for name in (method, seen))
        for arity, lost in (gold - weak).dropna().groupby(level="M"):
            mean, low, high = interval(lost)
            lines.append(
                f"- N = {int(arity) // 2}, {_PRINTED[method]}: {gold.loc[arity].mean():.1f} % of the sums right with "
                f"every digit seen; to see sums alone costs {mean:.1f} points [{low:.1f}, {high:.1f}] "
                f"(seeds: {len(lost)})."
            )
    head = "What the same network and steps make of the same images with every digit seen:\n"
    return "\n".join([head, *lines]) if lines else ""


def _of(runs: Frame, size: int, method: str, column: str) -> pd.Series[float]:
    """A column of the runs of one N and method."""
    return runs.loc[(runs["M"] == 2 * size) & (runs["method"] == method), column]


def _told(value: str, good: bool, seeds: int) -> str:
    """What became of a goal; a verdict takes three seeds."""
    verdict = " so far" if seeds < _SEEDS else ", reached" if good else ", missed"
    return f"{value}{verdict} (seeds: {seeds})" if seeds else "not run yet"


def _times(runs: Frame) -> str:
    """How long the runs took."""
    minutes = runs.groupby("M")["seconds"].agg(["min", "max"]) / 60
    told = [f"N = {int(arity) // 2}: {low:.1f} to {high:.1f}" for arity, (low, high) in minutes.iterrows()]
    return f"Minutes a run, by the clock, one core, beside whatever else the machine did: {'; '.join(told)}."


def write_page(folder: Path, target: Path) -> None:
    """Write the page from the published runs of a folder."""
    published = sums.read_published(places.REFERENCE / "addition.csv")
    write_text(target, page(read(folder / "addition.csv"), published))
