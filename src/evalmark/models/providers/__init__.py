"""The door to chat and embedding models over HTTP: one call is one attempt, and nothing is kept or repeated here.

Each name loads its file at first use, so that looking a model's name up does not load an HTTP client.
"""
