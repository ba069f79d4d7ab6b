"""Clients for chat and embedding models over HTTP.

One call sends one request (and one more for each form of structured output that the server rejects). Retries, limits and the
call log are in `evalmark.models.middleware`. `endpoint.find_endpoint` resolves the name of a model; the HTTP library is loaded
with the first request.
"""
