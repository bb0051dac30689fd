"""Files that people bring who have no use for the pipeline: weak labels, ratios and scores as CSV, JSON and npz."""
