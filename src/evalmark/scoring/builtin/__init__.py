"""The scorers that need no chat model."""
