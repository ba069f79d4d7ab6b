"""Warns if scores come from another distribution than those that a threshold was learned from."""

ALARM = 0.05
"""Scores whose distribution is less probable than this after no change raise an alarm, over all metrics of a run."""
