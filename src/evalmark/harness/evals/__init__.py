"""Evals as tests: whole tables of cases with `describe_eval`, and single ones with `expect(...).to_eval(...)`."""
