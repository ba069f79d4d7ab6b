"""Judges: metrics whose question is put to a chat model, and strict readers of what it says."""
