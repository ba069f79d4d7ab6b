"""Import promptfoo's configs and results as suites and runs, and export runs to them."""
