"""Compute a subset of JavaScript: the expressions and short functions that assertions are written in.

Nothing is compiled or run by an engine: `syntax` parses the text, and `evaluation` computes it within limits, with the
`methods` of values and the `global_functions`. What is not in the subset is refused before anything is computed.
"""
