"""Compares a run with an earlier one, case by case: better, worse, the same, or cannot tell.

`compare` is the entry point and returns a `Comparison` from `change`. `scoring_rules` puts both runs under the same
thresholds, `metric_values` and `case_matching` pair the cases, `missing_values` accounts for gaps, and `caveats` and
`rule_caveats` write warnings. `baseline_choice` finds earlier runs.
"""
