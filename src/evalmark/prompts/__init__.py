"""Prompt files, specs, machine-checked rules, prompt metrics and test generation."""
