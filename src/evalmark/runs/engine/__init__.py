"""Runs trials: calls targets, runs scorers, writes results. The engine knows only protocols."""
