"""Runs on a Ray cluster.

The coordinator, in the process of the run, assigns trials to workers, owns everything they share (call log, limits,
budget, caches) and writes all results. Workers run targets and scorers. They exchange messages: a worker's model call is
admitted by the coordinator and sent by the worker, and other requests are services of the coordinator. Items of a lost
worker go to other workers.
"""
