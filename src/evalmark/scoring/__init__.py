"""How scorers are bound and run; the built-in ones, judges and RAG metrics."""
