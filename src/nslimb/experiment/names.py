"""What the files of a cell, of a run and of a timing are called."""

SAMPLES, GOLD, MARGINALS, TRACKED = "samples.npz", "gold.npz", "marginals.json", "tracked.json"
MODEL, HISTORY, METRICS, RUN_FILE = "model.pt", "history.csv", "metrics.json", "run.yaml"
TIMING_FILE = "timing.json"
