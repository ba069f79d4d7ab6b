"""Lets a PostgreSQL server hold a store through the same interface as a SQLite file.

`addresses` parses addresses, `connection` runs statements that are written for SQLite, `dialect` translates them,
`wire` converts values, and `errors` explains failures.
"""
