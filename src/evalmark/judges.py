"""The scorers that ask a chat model to judge, and the functions that read metric files and replies."""

from typing import TYPE_CHECKING

from evalmark.core.lazy import lazy_getattr

if TYPE_CHECKING:
    from evalmark.scoring.judges.builtin import ClosedQA, Criteria, Factuality
    from evalmark.scoring.judges.faithfulness import Faithfulness
    from evalmark.scoring.judges.metric import MetricFile
    from evalmark.scoring.judges.metric_files import read_metric
    from evalmark.scoring.judges.pairwise import Pairwise
    from evalmark.scoring.judges.rubric import Rubric
    from evalmark.scoring.judges.verdict import Verdict, read_verdict

__all__ = [
    "ClosedQA",
    "Criteria",
    "Factuality",
    "Faithfulness",
    "MetricFile",
    "Pairwise",
    "Rubric",
    "Verdict",
    "read_metric",
    "read_verdict",
]

__getattr__ = lazy_getattr(
    __name__,
    {
        "ClosedQA": "evalmark.scoring.judges.builtin",
        "Criteria": "evalmark.scoring.judges.builtin",
        "Factuality": "evalmark.scoring.judges.builtin",
        "Faithfulness": "evalmark.scoring.judges.faithfulness",
        "MetricFile": "evalmark.scoring.judges.metric",
        "Pairwise": "evalmark.scoring.judges.pairwise",
        "Rubric": "evalmark.scoring.judges.rubric",
        "Verdict": "evalmark.scoring.judges.verdict",
        "read_metric": "evalmark.scoring.judges.metric_files",
        "read_verdict": "evalmark.scoring.judges.verdict",
    },
)
