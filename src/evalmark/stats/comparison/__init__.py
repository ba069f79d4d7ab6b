"""A run beside an earlier one: better, worse, the same, or cannot be told."""
