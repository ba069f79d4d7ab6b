"""Runs trials: answers, judges, records; knows only roles."""
