"""Scorers: binding, comparison of data, built-in scorers, judges and the RAG functions.

`binding` turns any callable into a `BoundScorer` and finds scorers by name. `matching` compares expected and actual
data. `builtin` holds the scorers that need no chat model, `judges` those that ask one. `rag` offers the RAG metrics as
plain functions. `builtin` and `judges` are independent of each other.
"""
