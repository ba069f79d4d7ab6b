"""Embedding models: the local one without torch, and everybody else's behind one protocol.

Each name loads its file at first use, so that asking for weights does not load an array library.
"""
