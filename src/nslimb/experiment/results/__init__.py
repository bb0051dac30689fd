"""The page of results: tables, figures and judgements from the small CSV files in docs/results, and nothing else."""
