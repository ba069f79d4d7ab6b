"""Binds scorers to a run, finds them by name, and converts what they return into scores."""
