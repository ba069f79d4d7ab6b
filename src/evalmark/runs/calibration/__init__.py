"""Learns thresholds and audits judges from the labels in the store.

`calibrate` finds the labels, plans what has to be scored, and writes learned thresholds to the lock file. `audit` compares
the scores of a judge with labels, with machine-checked rules or with another metric. The statistics are in
`evalmark.stats`.
"""
