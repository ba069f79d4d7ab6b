"""RAG metrics by embedding similarity, with the names and signatures of the first systems' functions."""
