"""Runs trials in other processes and on other machines: a desk that decides and writes, and hands that do."""
