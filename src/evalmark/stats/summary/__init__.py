"""Summarizes the results of one run, and applies its gate.

`summarise` reads the results once and returns a `Summary`; `gate` turns it into a verdict. `sequential_gate` with
`criteria` and `random_order` decides while a run is executing. `judge_panel` compares judges, `target_overview`
compares targets on prompt tests, and `pareto` computes costs.
"""
