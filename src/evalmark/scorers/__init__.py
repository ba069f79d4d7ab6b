"""Scorers: checks, similarity and the RAG metrics, and the binding of any function as one."""
