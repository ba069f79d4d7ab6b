"""A judge that is asked in a test, and the scorers that ask it."""

import asyncio

from evalmark import Case, Factuality, Output
from evalmark.judges import ClosedQA, Criteria, Faithfulness, MetricFile, Pairwise, Rubric
from evalmark.scoring.judges.measure import Measure
from evalmark.testing.chat import ScriptedModel

CASE = Case(
    id="1", input="The capital of Norway?", expected="Oslo", contexts=("Oslo is the capital.", "Bergen is not.")
)
OUTPUT = Output(value="It is Oslo.")


def metric(measure, **fields):
    """A metric that asks for a verdict of this measure."""
    return MetricFile(name="tone", description="Is it friendly?", measure=measure, **fields)


def ask(scorer, replies, case=CASE, output=OUTPUT):
    """The score, and the model that was asked."""
    model = replies if isinstance(replies, ScriptedModel) else ScriptedModel(replies)
    return asyncio.run(scorer(case, output, model)), model


FIVE = Measure(kind="scale", description="5 is friendliest", low=1, high=5)
BUILT_IN = {
    "factuality": Factuality(),
    "criteria": Criteria(criteria="It names a city."),
    "closed_qa": ClosedQA(criteria="It names a city."),
    "faithfulness": Faithfulness(),
    "pairwise": Pairwise(),
    "scale": Rubric(metric=metric(FIVE)),
    "percentage": Rubric(metric=metric(Measure(kind="percentage", description="share of friendly words"))),
}
"""One scorer of each kind, those of metric files too."""
BEST = {
    "factuality": {"reason": "mine", "answer": "C"},
    "criteria": {"reason": "mine", "answer": "A"},
    "closed_qa": {"reason": "mine", "pass": True},
    "faithfulness": {"claims": [{"claim": "mine", "reason": "mine", "context": 1, "supported": True}]},
    "pairwise": {"reason": "mine", "answer": "TIE"},
    "scale": {"reason": "mine", "score": 5},
    "percentage": {"reason": "mine", "score": 100},
}
WORST = {
    "factuality": {"reason": "mine", "answer": "D"},
    "criteria": {"reason": "mine", "answer": "E"},
    "closed_qa": {"reason": "mine", "pass": False},
    "faithfulness": {"claims": [{"claim": "mine", "reason": "mine", "context": 0, "supported": False}]},
    "pairwise": {"reason": "mine", "answer": "TIE"},
    "scale": {"reason": "mine", "score": 1},
    "percentage": {"reason": "mine", "score": 0},
}
