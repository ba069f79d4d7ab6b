"""The store: SQLite or PostgreSQL, runs, results, the call log, recorded sessions, queries and merging."""
