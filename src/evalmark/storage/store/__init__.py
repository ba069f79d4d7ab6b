"""The store: runs, results, calls, sessions and vectors in one SQLite file or on a PostgreSQL server.

`store` has the public class `Store`. `access` owns the connections and the writer thread, `run_transactions` changes
runs, `open_run` holds the state of a run that is written, `merge` joins shards, `salvage` rescues damaged files, and
`health` checks a store.
"""
