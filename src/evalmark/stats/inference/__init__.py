"""Intervals, means and tests, computed from plain numbers without any knowledge of runs.

`means` and `intervals` estimate one quantity; `differences` compares two targets case by case, with `sign_flips`,
`paired`, `dirichlet` and `missing`; `power` plans the number of cases; `sequential` has intervals for early stopping;
`multiple_tests` adjusts p-values.
"""
