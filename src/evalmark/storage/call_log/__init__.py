"""Calls of chat models and of tools, as the store keeps them: written, found by key, listed, handed on as a file."""
