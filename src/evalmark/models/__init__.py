"""Embedding models, chat providers, and the middleware that a call passes."""
