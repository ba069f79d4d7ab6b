"""The dry run: which model calls a run would make and what they cost, before anything is sent."""
