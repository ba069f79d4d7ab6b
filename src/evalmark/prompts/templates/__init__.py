"""Prompt files as values, and their rendering: templates are data, and no value can open a message."""
