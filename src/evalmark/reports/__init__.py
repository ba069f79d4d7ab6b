"""Runs and comparisons as text, terminal tables, HTML, files and the viewer."""
