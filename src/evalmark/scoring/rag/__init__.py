"""The RAG metrics as functions that take texts and return numbers."""
