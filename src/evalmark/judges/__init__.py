"""Judges: metrics whose question is put to a chat model, and strict readers of what it says."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .faithfulness import Claim, Faithfulness, read_claims
    from .faults import Fault
    from .measure import Measure, Option
    from .metric import MetricFile
    from .pairwise import Pairwise
    from .reading import read_metric
    from .rubric import Rubric
    from .shipped import ClosedQA, Criteria, Factuality
    from .verdict import Verdict, read_verdict, read_word

__all__ = [
    "Claim",
    "ClosedQA",
    "Criteria",
    "Factuality",
    "Faithfulness",
    "Fault",
    "Measure",
    "MetricFile",
    "Option",
    "Pairwise",
    "Rubric",
    "Verdict",
    "read_claims",
    "read_metric",
    "read_verdict",
    "read_word",
]

__getattr__ = deferred(
    __name__,
    {
        "Claim": "faithfulness",
        "ClosedQA": "shipped",
        "Criteria": "shipped",
        "Factuality": "shipped",
        "Faithfulness": "faithfulness",
        "Fault": "faults",
        "Measure": "measure",
        "MetricFile": "metric",
        "Option": "measure",
        "Pairwise": "pairwise",
        "Rubric": "rubric",
        "Verdict": "verdict",
        "read_claims": "faithfulness",
        "read_metric": "reading",
        "read_verdict": "verdict",
        "read_word": "verdict",
    },
)
