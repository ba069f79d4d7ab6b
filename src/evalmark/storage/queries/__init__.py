"""Runs and their results as somebody looks through them: a page at a time, in any order, however many there are."""
