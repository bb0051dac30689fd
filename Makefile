# nslimb: `make run` and `make test` are all a newcomer needs. Everything lives in .venv; nothing else is touched.
PYTHON ?= python3
PY := .venv/bin/python
READY := .venv/.ready

SNAKEMAKE := .venv/bin/snakemake
CORES ?= 2
# Not `all`, which swallows errors too.
QUIET := --quiet host rules reason
QUICK := --cores $(CORES) --configfile config/quick.yaml

.PHONY: help run look cell bundle restore predictions results test soak lint format docs dist bench peers lock audit clean

help:  ## show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 13

run: $(READY)  ## install, then run the quick grid: all methods, tables, figures, report (minutes, no download)
	@echo "==> the quick grid (config/quick.yaml)"
	@$(SNAKEMAKE) $(QUICK) $(QUIET)
	@echo "==> the report"
	@$(SNAKEMAKE) $(QUICK) $(QUIET) --report results/quick/report.html
	@$(PY) -m nslimb.experiment.front config/quick.yaml
	@echo
	@echo "tables:   results/quick/tables (tidy CSV, Markdown, LaTeX), figures: results/quick/figures"
	@echo "report:   results/quick/report.html"
	@echo "all runs: .venv/bin/mlflow ui --host 127.0.0.1 --port 5000 --backend-store-uri sqlite:///results/quick/mlflow.db \\"
	@echo "              --artifacts-destination results/quick/artifacts"
	@echo "          then open http://127.0.0.1:5000/#/experiments/1/runs?workflowType=machine_learning"

look: $(READY)  ## install, then a first look: what sigma hides, and digits learned from their maxima (two minutes)
	@echo "==> what sigma hides: MAX-3 with uniform digits"
	@.venv/bin/nslimb diagnose max --arity 3
	@echo "==> digits learned from their maxima alone: one proof a sample against the whole pre-image"
	@$(PY) examples/first_look.py

# By default a cell of the quick grid, which downloads nothing; M, rho and the seed may be others than the grid's.
cell: CONFIG = config/quick.yaml
cell: BENCHMARK = max
cell: M = 3
cell: RHO = 50
cell: SEED = 1
cell: $(READY)  ## run one cell: make cell BENCHMARK=max M=3 RHO=50 SEED=1 [CONFIG=config/config.yaml]
	@target=$$($(PY) -m nslimb.experiment.targets $(CONFIG) $(BENCHMARK) $(M) $(RHO) $(SEED)) \
		&& $(SNAKEMAKE) --cores $(CORES) --configfile $(CONFIG) $(QUIET) -- $$target \
		&& echo && $(PY) -m nslimb.experiment.targets result $(CONFIG) $(BENCHMARK) $(M) $(RHO) $(SEED)

BUNDLES := docs/results/runs
GRIDS := cpu_paper cpu_exact split ablation transport noise confirmation addition shortcuts spaces
FROM ?= results

bundle: $(READY)  ## keep the small files of finished runs in docs/results/runs [FROM=another results folder]
	@for grid in $(GRIDS); do test ! -d $(FROM)/$$grid || $(PY) -m nslimb.experiment.bundle pack \
		config/$$grid.yaml $(BUNDLES)/$$grid.tar.xz --results $(FROM)/$$grid || exit 1; done

restore: $(READY)  ## put the runs kept in docs/results/runs back as finished runs
	@for grid in $(GRIDS); do test ! -f $(BUNDLES)/$$grid.tar.xz \
		|| $(PY) -m nslimb.experiment.bundle restore config/$$grid.yaml $(BUNDLES)/$$grid.tar.xz || exit 1; done

predictions: $(READY)  ## which classes are hard, as known before training, for new cells of docs/results (minutes)
	@$(PY) -m nslimb.experiment.results.predictions

results: $(READY)  ## write docs/results.md, its figures, docs/addition.md, and the tables of README, shortcuts and knowledge from the CSV files in docs/results
	@$(PY) -m nslimb.experiment.results.page

test: $(READY)  ## install, then run the whole test suite
	@echo "==> the test suite"
	@$(PY) -m pytest --numprocesses $(CORES) --dist loadgroup

soak: $(READY)  ## kill schedulers, jobs and tracking of a small grid twenty times at random (minutes)
	@PYTHONPATH=tests $(PY) tests/soak.py --kills 20 --seed 1

lint: $(READY)  ## ruff, ruff format, mypy --strict, snakefmt and snakemake --lint
	@echo "==> ruff"
	@.venv/bin/ruff check --output-format concise .
	@.venv/bin/ruff format --check .
	@echo "==> mypy"
	@.venv/bin/mypy
	@echo "==> snakefmt and snakemake --lint"
	@if [ -x $(SNAKEMAKE) ]; then .venv/bin/snakefmt --check Snakefile workflow/rules \
		&& $(SNAKEMAKE) --lint --configfile config/quick.yaml; \
		else echo "no Snakemake for this Python: needs 3.11"; fi

format: $(READY)  ## let ruff format the code
	@.venv/bin/ruff format .
	@.venv/bin/ruff check --fix --output-format concise .

docs: $(READY)  ## build the documentation into site/; every warning is an error
	@echo "==> the documentation"
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --quiet
	@$(PY) docs/check_site.py
	@echo "open site/index.html"

dist: $(READY)  ## build sdist and wheel into dist/, and run the sdist's own quick tests
	@$(PY) -m build --outdir dist .
	@rm -rf build/sdist && mkdir -p build/sdist && tar -xzf dist/nslimb-*.tar.gz -C build/sdist --strip-components 1
	@cd build/sdist && PYTHONPATH=$$PWD/src $(CURDIR)/$(PY) -m pytest -q -m "not slow" tests/test_readme.py tests/test_layers.py tests/experiment/test_config.py

bench: $(READY)  ## measure every claim of speed, as ratios (docs/speed.csv)
	@for file in benchmarks/bench_*.py; do echo "==> $$file"; $(PY) $$file || failed=1; done; test -z "$$failed"

PEERS := .venv-peers

peers: $(READY) $(PEERS)/.ready  ## measure nslimb beside KLay, ABLkit, DeepProbLog and Scallop: docs/peers.md (needs Python 3.11)
	@.venv/bin/nslimb data fetch mnist
	@$(PEERS)/bin/python benchmarks/peers/run.py data

$(PEERS)/.ready: benchmarks/peers/requirements.txt
	@echo "==> installing the peers into $(PEERS)"
	@$(PYTHON) -m venv $(PEERS)
	@for peer in $$(grep -v '^#' $<); do \
		$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $< $$peer \
		|| echo "==> $$peer cannot be installed: its rows will say so"; done
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock \
		--editable . matplotlib pandas
	@touch $@

# torch names the exact CUDA packages of its own build, so they stay out of the lock file and CPU machines stay free of
# them.
lock: $(PY)  ## write requirements.lock and requirements-cluster.lock (workflow, slurm) anew from pyproject.toml and constraints.txt
	@$(PY) -m pip install --quiet uv
	@.venv/bin/uv pip compile pyproject.toml --universal --python-version 3.10 --all-extras --group dev --group docs \
		--constraint constraints.txt --no-annotate --no-header --quiet --output-file .venv/compiled.txt
	@.venv/bin/uv pip compile pyproject.toml --universal --python-version 3.11 --extra workflow --extra slurm \
		--constraint .venv/compiled.txt --no-annotate --no-header --quiet --output-file .venv/cluster.txt
	@for list in compiled:requirements cluster:requirements-cluster; do \
		(echo "# Exact versions for Python 3.10 to 3.13, written by 'make lock'. Do not edit."; \
		grep -vE '^(nvidia|cuda|triton)' .venv/$${list%%:*}.txt) > .venv/lock && mv .venv/lock $${list##*:}.lock; done

audit: $(READY)  ## look the installed packages up among known vulnerabilities (needs internet)
	@$(PY) -m pip install --quiet --disable-pip-version-check pip-audit
	@.venv/bin/pip-audit --skip-editable

clean:  ## remove the environment and caches, keep results
	rm -rf .venv .venv-peers .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(PY):
	@echo "==> creating .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 10) <= v <= (3, 13) else f"nslimb needs Python 3.10 to 3.13, and $(PYTHON) is {v[0]}.{v[1]}; try: make PYTHON=python3.11")'
	@$(PYTHON) -m venv .venv

$(READY): $(PY) requirements.lock pyproject.toml
	@echo "==> installing the pinned environment (requirements.lock); the first time takes a few minutes"
	@$(PY) -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@
