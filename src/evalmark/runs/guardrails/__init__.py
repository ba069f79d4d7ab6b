"""Checks of answers at run time, behind `evalmark.quality`.

`assess` checks an answer without a model, `guard` wraps a function with scorers, `improvement` lets a model rewrite an
answer, and `dspy_metrics` offers scorers to DSPy. `checks` binds scorers and opens their models.
"""
