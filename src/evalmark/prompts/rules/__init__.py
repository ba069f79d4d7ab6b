"""Derives checks from rules in plain English, and applies them to outputs without a model."""
