"""Runs and vectors on disk: one SQLite file, one writer, durable before a result counts."""
