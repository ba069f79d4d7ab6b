"""Strict JSON and YAML: text in, plain data and the places of it out."""
