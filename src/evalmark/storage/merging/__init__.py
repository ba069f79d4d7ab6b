"""Combines several runs into one.

`merged_run` joins runs in memory, `shards` builds the header of a run from its shards, and `missing` reports shards
that are not there.
"""
