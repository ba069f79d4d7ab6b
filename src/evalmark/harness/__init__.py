"""Evals as tests: `describe_eval`, the pytest plugin and unit tests."""
