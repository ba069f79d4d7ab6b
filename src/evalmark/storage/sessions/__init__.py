"""Stores recorded sessions, spans and labels, and builds test cases from labelled answers.

`store` has the operations, `rows` converts values to rows, `filter` and `pages` list sessions, `trees` arranges
spans, `examples` builds cases, and `transfer` copies labels to another store.
"""
