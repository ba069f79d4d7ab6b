"""Metrics of a prompt under test: metric prompts, rule compliance by a judge, and rule checks by machine."""
