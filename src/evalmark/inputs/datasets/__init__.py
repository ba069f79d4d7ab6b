"""Readers: files and Python values in, cases out, with every fault in its place."""
