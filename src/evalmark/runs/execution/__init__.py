"""Runs: plans from files or Python objects are executed, resumed, split into shards, merged and scored again.

Its names load at first use, so that `evalmark --help` need not wait for numpy.
"""
