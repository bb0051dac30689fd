"""A fit that is logged: settings, epochs and the classifier itself, in a real store."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from bars import SIGMA, bars

from nslimb import WeakClassifier
from nslimb.classifier.tracking import check_mlflow
from nslimb.errors import MissingEngine

pytestmark = pytest.mark.filterwarnings("ignore")


def test_a_fit_is_logged_with_the_classifier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mlflow

    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.chdir(tmp_path)  # where MLflow keeps artifacts of such a store
    data = bars()
    fitted = WeakClassifier(SIGMA, method="sl", epochs=2, batch_size=16)
    fitted.fit(data.images, data.tuples, data.weak, experiment="bars")
    store = mlflow.MlflowClient()
    (run,) = store.search_runs([store.get_experiment_by_name("bars").experiment_id])
    assert run.info.status == "FINISHED"
    assert (run.data.params["method"], run.data.params["epochs"]) == ("sl", "2")
    assert run.data.metrics["weak_accuracy"] == fitted.weak_accuracy_
    losses = store.get_metric_history(run.info.run_id, "loss")
    assert [(point.step, point.value) for point in losses] == [(row.epoch, row.loss) for row in fitted.history_]
    kept = store.download_artifacts(run.info.run_id, "classifier.pt", str(tmp_path))
    again = WeakClassifier.load(kept)
    np.testing.assert_array_equal(again.predict(data.images), fitted.predict(data.images))


def test_without_mlflow_it_says_so_before_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(MissingEngine, match="experiment needs mlflow: pip install mlflow"):
        check_mlflow()
