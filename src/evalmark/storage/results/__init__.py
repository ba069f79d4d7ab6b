"""Stores runs and results as rows of the database, and reads them back one at a time.

`rows` converts values to rows, `masking` masks secrets before that, `stored_runs` reads headers and results, and
`run_ids` makes and matches ids of runs.
"""
