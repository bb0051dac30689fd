"""Archives of finished runs: what goes in comes back as finished, and nothing else does."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from fabricated import run_file, write_run, write_whole
from grids import tiny, tiny_values

from nslimb.errors import DataError
from nslimb.experiment import names
from nslimb.experiment.bundle import main, pack, restore
from nslimb.experiment.cells import Cell, run_path, runs
from nslimb.experiment.config import Config, read_config, read_file
from nslimb.experiment.finished import is_restored, is_settled
from nslimb.experiment.gather import gather
from nslimb.experiment.recipes import train_recipe
from nslimb.experiment.runs.base import write_schema

FIRST = Cell("max", "3", "0", "1")


def files(results: Path) -> dict[str, bytes]:
    """What the archive keeps of a results folder."""
    kept = (names.METRICS, names.HISTORY, names.RUN_FILE, names.MARGINALS)
    return {str(p.relative_to(results)): p.read_bytes() for p in sorted(results.rglob("*")) if p.name in kept}


@pytest.fixture
def here(tmp_path: Path) -> Config:
    """A grid with two of its five runs finished."""
    config = read_config(tiny_values(tmp_path / "here"), tmp_path)
    for place, (cell, method) in enumerate(list(runs(config))[:2]):
        write_whole(config, cell, method, 0.5 + 0.1 * place)
    return config


@pytest.fixture
def there(tmp_path: Path) -> Config:
    """The same grid in another folder, where nothing has run."""
    return read_config(tiny_values(tmp_path / "there"), tmp_path)


def test_runs_come_back_byte_by_byte_and_as_finished(here: Config, there: Config, tmp_path: Path) -> None:
    archive = tmp_path / "runs.tar.xz"
    (here.results / run_path(FIRST, "sl") / names.MODEL).write_bytes(b"a model")
    assert pack(here, archive) == 2
    assert restore(there, archive) == list(runs(here))[:2]
    assert files(there.results) == files(here.results)
    assert len(files(there.results)) == 7
    assert not list(there.results.rglob(names.MODEL))
    assert [run.finished for run in gather(there, runs(there))] == [True, True, False, False, False]
    assert restore(there, archive) == []


def test_equal_runs_give_equal_bytes(here: Config, there: Config, tmp_path: Path) -> None:
    first, again = tmp_path / "first.tar.xz", tmp_path / "again.tar.xz"
    pack(here, first)
    restore(there, first)
    pack(there, again)
    assert again.read_bytes() == first.read_bytes()


def test_a_poorer_folder_takes_nothing_out_of_an_archive(here: Config, there: Config, tmp_path: Path) -> None:
    archive = tmp_path / "runs.tar.xz"
    pack(here, archive)
    assert pack(there, archive) == 2
    other = list(runs(there))[2]
    write_whole(there, *other, 0.9)
    assert pack(there, archive) == 3
    fresh = there.model_copy(update={"results": tmp_path / "fresh"})
    assert len(restore(fresh, archive)) == 3


def test_what_is_there_stays(here: Config, there: Config, tmp_path: Path) -> None:
    archive = tmp_path / "runs.tar.xz"
    pack(here, archive)
    own = write_whole(there, FIRST, "sl", 0.123)
    before = (own / names.METRICS).read_bytes()
    assert restore(there, archive) == [(FIRST, "ilp-alg1")]
    assert (own / names.METRICS).read_bytes() == before
    assert not is_restored(own)


def test_unfinished_runs_and_runs_of_other_settings_stay_out(here: Config, there: Config, tmp_path: Path) -> None:
    archive = tmp_path / "runs.tar.xz"
    (here.results / run_path(FIRST, "ilp-alg1") / names.RUN_FILE).unlink()
    assert pack(here, archive) == 1
    longer = there.model_copy(update={"training": there.training.model_copy(update={"epochs": 9})})
    assert restore(longer, archive) == []
    assert pack(longer.model_copy(update={"results": here.results}), tmp_path / "other.tar.xz") == 0


def test_restored_runs_of_older_code_count_and_own_ones_do_not(here: Config, there: Config, tmp_path: Path) -> None:
    path = here.results / run_path(FIRST, "sl") / names.METRICS
    made = gather(here, [(FIRST, "sl")])[0].done
    write_schema(path, made.model_copy(update={"code": {"train": "of last year"}}))
    assert not gather(here, [(FIRST, "sl")])[0].finished
    assert gather(here, [(FIRST, "sl")], any_code=True)[0].finished
    pack(here, tmp_path / "runs.tar.xz")
    restore(there, tmp_path / "runs.tar.xz")
    assert gather(there, [(FIRST, "sl")])[0].finished


def test_a_restored_run_is_settled_unless_an_unfinished_one_starts_from_it(tmp_path: Path) -> None:
    values = tiny_values(tmp_path / "here")
    values["benchmarks"]["max"]["methods"] = ["sl", "records", {"on": {"method": "ilp-alg1", "start_from": "sl"}}]
    here = read_config(values, tmp_path)
    for method in ("sl", "records", "on"):
        write_whole(here, FIRST, method, 0.5)
    archive, there = tmp_path / "runs.tar.xz", here.model_copy(update={"results": tmp_path / "there"})
    pack(here, archive)
    restore(there, archive)
    assert all(is_settled(there, FIRST, method) for method in ("sl", "records", "on"))
    assert not is_settled(here, FIRST, "sl")  # nothing was restored there
    missing = there.results / run_path(FIRST, "on") / names.METRICS
    missing.unlink()
    assert [is_settled(there, FIRST, method) for method in ("sl", "records", "on")] == [False, True, False]
    changed = there.model_copy(update={"training": there.training.model_copy(update={"epochs": 9})})
    assert not is_settled(changed, FIRST, "records")  # to be made again
    (there.results / run_path(FIRST, "records") / names.MODEL).write_bytes(b"trained here")
    assert not is_settled(there, FIRST, "records")


def test_hwf_runs_come_back_where_nobody_says_which_symbols(tmp_path: Path) -> None:
    """The configuration names no file; the runs say which they were trained on."""
    values = tiny_values(tmp_path / "here")
    small = {"samples": 10, "M": [3], "network": "lenet45"}
    values.update(benchmarks={"hwf": {"source": "hwf", "methods": ["sl"], **small}}, tables=["hwf"], studies=[])
    symbols = tmp_path / "symbols.npz"
    np.savez(symbols, images=np.zeros((13, 45, 45), np.uint8), labels=np.array(list("0123456789+-*")))
    named, unnamed = read_config({**values, "hwf_path": str(symbols)}), read_config(values)
    (run,) = runs(named)
    folder = write_run(named, *run, 0.5)
    described = run_file(*run)
    source = {"spec": "hwf", "digest": "another file", "own_split": False}
    write_schema(folder / names.RUN_FILE, described.model_copy(update={"recipe": {"source": source}}))
    assert pack(unnamed, tmp_path / "runs.tar.xz") == 0
    source = train_recipe(named, *run)["source"]
    write_schema(folder / names.RUN_FILE, described.model_copy(update={"recipe": {"source": source}}))
    assert pack(unnamed, tmp_path / "runs.tar.xz") == 1


@pytest.mark.parametrize("name", ["/etc/metrics.json", "../metrics.json", "benchmark=max/model.pt", "a/link"])
def test_strange_archives_are_refused(there: Config, tmp_path: Path, name: str) -> None:
    archive = tmp_path / "runs.tar.xz"
    with tarfile.open(archive, "w:xz") as tar:
        entry = tarfile.TarInfo(name)
        if name.endswith("link"):
            entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(entry, io.BytesIO(b""))
    with pytest.raises(DataError, match="expected small files of runs below a results folder"):
        restore(there, archive)
    assert not files(there.results)


def test_a_broken_or_missing_archive_is_named(here: Config, there: Config, tmp_path: Path) -> None:
    archive = tmp_path / "runs.tar.xz"
    with pytest.raises(DataError, match="there is no such archive"):
        restore(there, archive)
    pack(here, archive)
    archive.write_bytes(archive.read_bytes()[:-100])
    for act in (pack, restore):
        with pytest.raises(DataError, match=r"runs\.tar\.xz: cannot be read"):
            act(there, archive)


def test_the_command_takes_the_results_folder_of_another_clone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tiny(tmp_path)
    config = read_file(path)
    elsewhere = config.model_copy(update={"results": tmp_path / "clone" / "results"})
    write_whole(elsewhere, FIRST, "sl", 0.5)
    archive = tmp_path / "docs" / "runs.tar.xz"
    main(["pack", str(path), str(archive), "--results", str(elsewhere.results)])
    main(["restore", str(path), str(archive)])
    told = capsys.readouterr().out
    assert f"{archive}: 1 of 5 runs" in told
    assert f"{config.results}: 1 of 5 runs restored" in told
    assert files(config.results) == files(elsewhere.results)
    with pytest.raises(SystemExit, match=r"nslimb: .*there is no such archive"):
        main(["restore", str(path), str(tmp_path / "none.tar.xz")])
