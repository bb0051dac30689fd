"""Whether LA and CAROT are better chosen by weak accuracy or by weak likelihood, and what gain is enough.

    python benchmarks/selection_criteria.py config/ablation.yaml results/ablation docs/selection_criteria.csv

For every run of the grid whose model is there: test accuracy without adjustment, and with each adjustment as each
criterion chooses it on the weak validation samples, if it gains more than so many standard errors. Choices see no gold
label; accuracies are of the test images.
"""

from __future__ import annotations

import csv
import itertools
import sys
from pathlib import Path

import pandas as pd
import torch

from nslimb.adjustment.base import as_adjustment
from nslimb.adjustment.evaluation import AdjustmentProtocol, evaluate_adjustments
from nslimb.experiment import names
from nslimb.experiment.cells import run_path, runs
from nslimb.experiment.config import read_file
from nslimb.experiment.jobs.adjust import open_run, test_scores
from nslimb.experiment.jobs.recipe import Host
from nslimb.experiment.recipes import adjust_recipe
from nslimb.files import written_aside

torch.set_num_threads(1)
CRITERIA = ("accuracy", "likelihood")
CHANCES = (0.0, 1.0, 1.5, 2.0, 2.5, 3.0)  # standard errors
CHOICES = tuple(itertools.product(CRITERIA, CHANCES))


def main(config_file: Path, results: Path, out: Path) -> None:
    config = read_file(config_file)
    rows = []
    for cell, method in runs(config):
        folder = results / run_path(cell, method)
        if not (folder / names.MODEL).is_file():
            continue
        host = Host.from_config({**config.model_dump(mode="json"), "results": results}, cell.benchmark)
        run = open_run(adjust_recipe(config, cell, method), host, "", folder)
        scores, in_tuples = test_scores(run)
        validation = run.scores(run.samples.validation)
        for criterion, chance in CHOICES:
            found = evaluate_adjustments(
                scores,
                run.gold.test,
                validation,
                run.samples.validation_weak,
                run.sigma,
                run.ratios,
                adjustments={name: as_adjustment(name) for name in config.adjustments},
                protocol=AdjustmentProtocol(criterion=criterion, chance=chance),
                test_tuples=(in_tuples, run.gold.test_tuples) if run.ratios.ndim == 2 else None,
            )
            for name in config.adjustments:
                before = found[name].get("unadjusted_accuracy", found["none"]["accuracy"])
                rows.append(
                    {
                        **vars(cell),
                        "method": method,
                        "adjustment": name,
                        "criterion": criterion,
                        "chance": chance,
                        "chosen": found[name]["chosen"],
                        "before": round(100 * before, 3),
                        "after": round(100 * found[name]["accuracy"], 3),
                    }
                )
    with written_aside(out) as aside, aside.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    frame = pd.DataFrame(rows).assign(change=lambda found: found["after"] - found["before"])
    told = frame.groupby(["adjustment", "criterion", "chance"])["change"].agg(["mean", "min", "max", "count"])
    print(told.round(2).to_string())


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
