"""``python -m nslimb.experiment.results.page``: docs/results.md and its figures, docs/addition.md, and the tables of
docs/shortcuts.md, docs/knowledge.md and the README.

All of it from the CSV files in docs/results; where runs are missing, the page says so.
"""

from __future__ import annotations

import sys
from pathlib import Path

from nslimb.errors import NslimbError
from nslimb.experiment import places
from nslimb.experiment.results import addition, claims, costs, cure, difficulty, frontier, mitigation, score
from nslimb.experiment.results.data import FOLDER, Results, load
from nslimb.experiment.results.figures import FIGURES
from nslimb.experiment.results.layout import tables
from nslimb.experiment.results.readme import inserted
from nslimb.files import write_text
from nslimb.plotting import save

_NOTES = {  # below figures
    "figure_1": "The paper draws most digits of MAX-2 at 0 % after 20 and 40 epochs, and half of them below 20 % after "
    "100. With 3,000 samples none is lost here; with 200 the picture is of the paper's kind: few digits are learned "
    "after 20 epochs, several not after 40, and in two of three seeds one of them not after 100 either, which the mean "
    "over seeds hides. The paper does not say how many samples its figure has.",
}
_ABOUT = """\
Every number here that is ours comes from `runs.csv`, `classes.csv`, `marginals.csv`, `epochs.csv`, `formulas.csv`,
`clock.csv` and `predictions.csv` in `docs/results`; `make results` writes this page, its figures and the README's
opening table from them. Two protocols: `paper` is the paper's own (one proof a sample for MAX, SUM and HWF; 50
epochs, the linear program 50 more from the SL model, and 20 before them to fill the window of ILP(EMP)), `exact` sums
over the whole pre-image (30 epochs). On MAX and SUM all methods of `exact` but *SL* and *supervised* see the images
turned, shifted, scaled and sheared a little, as do *SL, augmented* and the recipe on HWF; photographs are always
flipped and cropped. MAX and SUM have the paper's samples and network; HWF (`lenet45`) and Smallest Parent (a narrow
network, 2,000 samples, one seed) are reduced. Seeds 1 to 3. Test accuracy (%) of the last epoch, mean ± standard
deviation over seeds.
`-`: not in the grid, or not run yet.

The *identifiable ceiling* is the share of the test images whose class the weak labels that were drawn tell apart from
every more frequent one: a network that learns these perfectly, and no other, has it. *Reachable* is the same where each
of these is learned as well as the supervised network of the seed learns it. The protocols draw different samples, so
that both differ between them. More words are in the [glossary](glossary.md)."""


def page(results: Results, reasons: dict[str, dict[str, str]]) -> str:
    """The whole page as Markdown."""
    drawn = FIGURES.items() if len(results.runs) else ()
    shown = [
        f"### {caption}\n\n![{caption}](results/{name}.png)\n" + (f"\n{_NOTES[name]}\n" if name in _NOTES else "")
        for name, (caption, _) in drawn
    ]
    in_columns = (
        "Beside each of the paper's numbers ours in both protocols. The best weakly supervised entry of each column "
        "is bold; `supervised` is the network trained on gold labels, in protocol `exact`. Adjustments that change "
        "nothing in any column have no row.\n"
    )
    parts = [
        "# Results\n",
        _ABOUT + "\n",
        "## The frontier\n",
        frontier.section(results),
        "## What mitigation is worth\n",
        mitigation.section(results),
        "## The reproduction score\n",
        score.section(results, reasons),
        "## The claims\n",
        claims.section(results),
        "## Class difficulty\n",
        difficulty.section(results),
        "## The tables\n",
        in_columns,
        *(f"### {title}\n\n{table}" for title, table in tables(results)),
        "## The figures\n",
        *(shown or ["They are drawn once a run has been published.\n"]),
        "## What it took\n",
        costs.costs(results),
        "## What has not been run yet\n",
        costs.missing(results),
    ]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def write_page(folder: Path, target: Path, readme: Path) -> None:
    """Write the page, the figures into ``folder``, and the README's block."""
    results = load(folder)
    write_text(target, page(results, score.read_reasons(folder / "reasons.yaml")))
    for name, (_, draw) in FIGURES.items() if len(results.runs) else ():
        save(draw(results), folder / f"{name}.png")
    write_text(readme, inserted(readme.read_text(encoding="utf-8"), results))


def main() -> None:
    try:
        write_page(FOLDER, places.ROOT / "docs" / "results.md", places.ROOT / "README.md")
        addition.write_page(FOLDER, places.ROOT / "docs" / "addition.md")
        cure.write_pages(FOLDER, places.ROOT)
    except NslimbError as error:
        sys.exit(f"nslimb: {error}")


if __name__ == "__main__":
    main()
