"""Intervals, tests, agreement, summaries and gates, comparison and calibration."""
