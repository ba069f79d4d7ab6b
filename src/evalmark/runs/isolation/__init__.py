"""Run targets in worker processes of this machine, so that a crash is the error of one case.

The process of the run keeps everything else: model calls, tool recordings, scorers and the store. A worker sends requests
for these over a pipe and waits for the result.
"""
