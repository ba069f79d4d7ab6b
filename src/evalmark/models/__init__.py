"""Chat models and embedding models.

`providers` has the clients for chat and embedding models over HTTP, `embeddings` the local embedding model and adapters for
users' own. `middleware` wraps a chat model with call log, replay, budget, retries and rate limits. The package depends on
`core` and `inputs` only.
"""
