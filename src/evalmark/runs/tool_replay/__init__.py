"""Tools of agents under test: what they gave is recorded, and used again."""
