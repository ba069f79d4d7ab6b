"""Quality control at run time: whether an answer is fit to be shown, and what to do where it is not."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from evalmark.scorers.answer_quality import Rules

    from .assess import Assessment, assess_answer
    from .guard import Guard
    from .improvement import improve_answer, improve_answer_async
    from .programs import dspy_metric
    from .verdicts import BlockedError, GuardVerdict

__all__ = [
    "Assessment",
    "BlockedError",
    "Guard",
    "GuardVerdict",
    "Rules",
    "assess_answer",
    "dspy_metric",
    "improve_answer",
    "improve_answer_async",
]

__getattr__ = deferred(
    __name__,
    {
        "Assessment": "assess",
        "BlockedError": "verdicts",
        "Guard": "guard",
        "GuardVerdict": "verdicts",
        "Rules": "assess",
        "assess_answer": "assess",
        "dspy_metric": "programs",
        "improve_answer": "improvement",
        "improve_answer_async": "improvement",
    },
)
