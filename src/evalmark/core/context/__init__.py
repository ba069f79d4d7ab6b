"""The state of the running trial, which model calls and tools deep inside users' code can reach."""
