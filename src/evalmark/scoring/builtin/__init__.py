"""The built-in scorers: checks, similarity and RAG metrics."""
