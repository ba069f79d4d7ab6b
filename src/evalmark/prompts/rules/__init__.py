"""Rules in plain English that a machine can check: found in their words, conservatively, and held against outputs."""
