"""`check_factuality`: a scorer that compares facts with a chat model."""

from evalmark.scoring.judges.builtin import Factuality

check_factuality = Factuality()
"""Whether the facts in the answer agree with the expected answer, as a model judges.

Worth 0.4 (a consistent part of it), 0.6 (more than it, and consistent), 1 (the same), 0 (a contradiction) or 1 (a difference
that does not matter). Only 1 passes, unless a threshold says otherwise. The judge is named with `judge=` or EVALMARK_JUDGE.
The question and the scale are those of OpenAI's evals, as `autoevals` has them.
"""
