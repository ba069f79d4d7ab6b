"""promptfoo: its configs and results read as suites and runs, and runs written as its files."""
