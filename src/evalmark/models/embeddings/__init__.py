"""Embedding models: a local model that needs no torch, and adapters for functions, LangChain and sentence-transformers.

The local model is a BERT-like encoder run by ONNX Runtime or OpenVINO; its weights are found by name and checked by SHA-256.
`cached_embedder.CachedEmbedder` batches requests and caches vectors.
"""
