"""Runs trials: calls the targets, runs the scorers, and writes the results.

`work` defines what an engine gets and returns. `trial` evaluates one trial; errors become part of its result. `pipeline`
runs many trials concurrently and writes their results in batches. The engine calls targets, scorers and the store through
protocols, so it runs the same way in one process, with worker processes and on Ray.
"""
