"""Targets in worker processes of this machine, where a crash is an error of its case and of nothing else."""
