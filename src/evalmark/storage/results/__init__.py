"""Stores runs and results as rows of the database, and reads them back one at a time.

`stored_results` converts results to rows without secrets and back, `stored_runs` does so with headers of runs and finds
runs, and `run_ids` makes and matches ids of runs.
"""
