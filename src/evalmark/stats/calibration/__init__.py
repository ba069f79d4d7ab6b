"""Learns thresholds from human labels, stores them in a lock file, and audits judges.

`evidence` collects labels, `threshold_calibration` learns thresholds, `lock_file` and `lock_reader` handle the lock
file, and `label_drift` warns when its thresholds are outdated. `audit` compares a judge with labels and returns the
types of `audit_results`; `canaries` tests it with outputs that must fail.
"""
