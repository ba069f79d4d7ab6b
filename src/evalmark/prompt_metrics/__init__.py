"""Metrics of a prompt under test: files beside it, its rules as a judge sees them, and as a machine checks them."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .compliance import Compliance, RuleVerdict, read_rule_verdicts
    from .disagreement import Disagreement, disagreements, keeps_to
    from .machine import Rules, checkable
    from .metric import PromptMetric, read_ok
    from .needs import needs_spec, with_spec
    from .reading import ENDING, find_metrics, read_prompt_metric

__all__ = [
    "ENDING",
    "Compliance",
    "Disagreement",
    "PromptMetric",
    "RuleVerdict",
    "Rules",
    "checkable",
    "disagreements",
    "find_metrics",
    "keeps_to",
    "needs_spec",
    "read_ok",
    "read_prompt_metric",
    "read_rule_verdicts",
    "with_spec",
]

__getattr__ = deferred(
    __name__,
    {
        "Compliance": "compliance",
        "Disagreement": "disagreement",
        "ENDING": "reading",
        "PromptMetric": "metric",
        "RuleVerdict": "compliance",
        "Rules": "machine",
        "checkable": "machine",
        "disagreements": "disagreement",
        "find_metrics": "reading",
        "keeps_to": "disagreement",
        "needs_spec": "needs",
        "read_ok": "metric",
        "read_prompt_metric": "reading",
        "read_rule_verdicts": "compliance",
        "with_spec": "needs",
    },
)
