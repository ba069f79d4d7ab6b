"""Runs and results as rows of a database, and read back one at a time."""
