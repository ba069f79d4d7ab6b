"""Readers: files of any known format in, cases out, one at a time."""
