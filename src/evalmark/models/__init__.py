"""The model door: the local embedding model, and every other embedder behind one protocol."""
