"""Quality control at run time: check an answer before it is shown, and retry, replace or block a bad one."""

from typing import TYPE_CHECKING

from evalmark.core.lazy import lazy_getattr

if TYPE_CHECKING:
    from evalmark.runs.guardrails.assess import Assessment, assess_answer
    from evalmark.runs.guardrails.dspy_metrics import dspy_metric
    from evalmark.runs.guardrails.guard import Guard
    from evalmark.runs.guardrails.improvement import improve_answer, improve_answer_async
    from evalmark.runs.guardrails.verdicts import BlockedError, GuardVerdict
    from evalmark.scoring.builtin.answer_quality import QualityRules

__all__ = [
    "Assessment",
    "BlockedError",
    "Guard",
    "GuardVerdict",
    "QualityRules",
    "assess_answer",
    "dspy_metric",
    "improve_answer",
    "improve_answer_async",
]

__getattr__ = lazy_getattr(
    __name__,
    {
        "Assessment": "evalmark.runs.guardrails.assess",
        "BlockedError": "evalmark.runs.guardrails.verdicts",
        "Guard": "evalmark.runs.guardrails.guard",
        "GuardVerdict": "evalmark.runs.guardrails.verdicts",
        "QualityRules": "evalmark.scoring.builtin.answer_quality",
        "assess_answer": "evalmark.runs.guardrails.assess",
        "dspy_metric": "evalmark.runs.guardrails.dspy_metrics",
        "improve_answer": "evalmark.runs.guardrails.improvement",
        "improve_answer_async": "evalmark.runs.guardrails.improvement",
    },
)
