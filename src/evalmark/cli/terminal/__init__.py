"""Shared parts of the commands: output streams, progress, argument parsing.

`run_command` runs a plan for the commands that evaluate. `supervisor` runs a command that executes users' code in a child
process, so that a crash still ends with a message and the right exit code.
"""
