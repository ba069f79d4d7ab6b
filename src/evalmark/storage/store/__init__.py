"""Runs and the vectors of texts, in one SQLite file or on a PostgreSQL server."""
