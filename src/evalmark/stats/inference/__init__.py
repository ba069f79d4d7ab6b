"""Numbers in, numbers out: intervals, means and tests, computed from plain lists and knowing nothing of runs."""
