"""``nslimb diagnose``: what sigma hides."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nslimb.cli.messages import told_plainly
from nslimb.cli.sigmas import ArityOption, ClassesOption, LeftToRightOption, SigmaArgument, build_sigma, read_classes
from nslimb.cli.threads import compute_with_few_threads

if TYPE_CHECKING:
    from rich.console import Console

    from nslimb.diagnosis import Diagnosis


def command(
    sigma: SigmaArgument,
    arity: ArityOption = None,
    classes: ClassesOption = None,
    samples: Annotated[
        int, typer.Option(min=1, help="Number of weak samples, to say how many of each to expect.")
    ] = 3000,
    ratios: Annotated[
        Path | None, typer.Option(help="Ratios of the hidden labels in a .csv or .json file (uniform if not given).")
    ] = None,
    support: Annotated[
        Path | None,
        typer.Option(
            help="A CSV file with the label vectors that occur, where not all do (column probability: how often)."
        ),
    ] = None,
    risk: Annotated[
        list[float] | None, typer.Option(help="A partial risk for the bounds; may be repeated (0.01, 0.05, 0.1).")
    ] = None,
    thorough: Annotated[
        bool,
        typer.Option("--thorough", help="Search bounds for large sigma too, and certify them where possible (slow)."),
    ] = False,
    left_to_right: LeftToRightOption = False,
    rows: Annotated[int, typer.Option(min=1, help="Show at most this many weak labels.")] = 40,
    plot: Annotated[Path | None, typer.Option(help="Draw it into this .png, .svg or .pdf file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Show what sigma hides: how often each weak label occurs, and which classes it will make hard to learn."""
    import json

    compute_with_few_threads()
    from nslimb.plotting import check_plot

    with told_plainly():
        check_plot(plot)
        built = build_sigma(sigma, arity, read_classes(classes), left_to_right)
        from nslimb.cli.formats.ratios import of_any_position, read_ratios
        from nslimb.cli.formats.support import read_support_file
        from nslimb.diagnosis import diagnose

        given = None if ratios is None else read_ratios(ratios)
        if given is not None and len(built.spaces) == 1:
            given = of_any_position(given)
        listed = None if support is None else read_support_file(support, built)
        found = diagnose(built, given, samples, risk or (0.01, 0.05, 0.1), support=listed, thorough=thorough)
        if plot is not None:
            found.plot(plot)
    if as_json:
        typer.echo(json.dumps(found.as_dict(), indent=1))
        return
    from rich.console import Console

    console = Console(highlight=False)
    _print_weak_labels(console, found, rows)
    _print_classes(console, found)
    _print_readings(console, found)
    for sentence in found.summary:
        console.print(f"- {sentence}", markup=False)
    for note in found.notes:
        console.print(f"({note})", markup=False)


def _print_weak_labels(console: Console, found: Diagnosis, rows: int) -> None:
    from rich.markup import escape
    from rich.table import Table

    from nslimb.diagnosis.words import short

    table = Table(title=found.sigma, title_justify="left")
    table.add_column("weak label")
    for column in ("label vectors", "probability", f"expected in {found.samples}"):
        table.add_column(column, justify="right")
    listed = zip(found.weak_labels, found.preimage_sizes, found.probabilities, found.expected, strict=True)
    for label, size, probability, expected in list(listed)[:rows]:
        table.add_row(escape(str(label)), short(size), f"{probability:.3g}", f"{expected:,.1f}")
    console.print(table)
    if len(found.weak_labels) > rows:
        console.print(f"{len(found.weak_labels) - rows} more weak labels; --rows shows more")
    valid = short(sum(found.preimage_sizes))
    console.print(f"{valid} valid label vectors, {found.states:,} states in the diagram")


def _print_classes(console: Console, found: Diagnosis) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title="classes: how often proven to be there or seen alone, and the worst risk", title_justify="left")
    table.add_column("class")
    for column in ("ratio", "proven", "alone"):
        table.add_column(column, justify="right")
    bounds = found.bounds
    if bounds is not None:
        for risk in found.partial_risks:
            table.add_column(f"risk at {risk:g}", justify="right")
    for label, name in enumerate(found.classes):
        shares = (found.ratios[label], found.proven[label], found.alone[label])
        worst = [] if bounds is None else [f"{value:.3f}" for value in bounds.upper[:, label]]
        table.add_row(escape(name), *(f"{share:.3g}" for share in shares), *worst)
    console.print(table)


def _print_readings(console: Console, found: Diagnosis) -> None:
    from rich.markup import escape
    from rich.table import Table

    known = found.confusions
    if known is None or len(found.classes) == 1:
        return
    table = Table(title="readings: what each class is most easily taken for", title_justify="left")
    table.add_column("class")
    table.add_column("read as")
    table.add_column(f"of {found.samples:,} samples speak against it", justify="right")
    any_lost = bool(known.lost.any())
    if any_lost:
        table.add_column("")
    for label, other in enumerate(known.nearest):
        evidence = known.evidence[label, other]
        shown = f"{evidence:,.1f}" if evidence >= 1 else f"{evidence:.2g}"
        names = (escape(found.classes[label]), escape(found.classes[other]))
        lost = ["lost" if known.lost[label] else ""] if any_lost else []
        table.add_row(*names, shown, *lost)
    console.print(table)
    console.print(f"identifiable ceiling: {100 * known.ceiling:.1f} % of hidden labels")
