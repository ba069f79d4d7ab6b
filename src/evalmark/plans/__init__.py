"""Plans: what is to be run, made of suites, flags or Python objects, and checked before anything is spent.

Its names load at first use, so that `evalmark --help` need not wait for numpy.
"""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .checking import Checked, check, refuse
    from .going_on import refuse_other_run
    from .judging import FromFile, Judge, Wanted, asked_for, asked_in_python, judge_named, judged
    from .lending import Lender, chat_model
    from .locking import NO_LOCK
    from .models import Configured, Door, Models
    from .overrides import Overrides
    from .plan import (
        AS_IT_IS,
        Asked,
        Bound,
        Loader,
        Note,
        Plan,
        Source,
        as_it_is,
        ask,
        embedder_for,
        file_source,
        load_embedder,
        model_of,
        unheard,
    )
    from .prompting import is_metric, is_prompt
    from .recorded import OpenRecorded, recorded_source
    from .references import with_references
    from .suite import plan_suite

__all__ = [
    "AS_IT_IS",
    "NO_LOCK",
    "Asked",
    "Bound",
    "Checked",
    "Configured",
    "Door",
    "FromFile",
    "Judge",
    "Lender",
    "Loader",
    "Models",
    "Note",
    "OpenRecorded",
    "Overrides",
    "Plan",
    "Source",
    "Wanted",
    "as_it_is",
    "ask",
    "asked_for",
    "asked_in_python",
    "chat_model",
    "check",
    "embedder_for",
    "file_source",
    "is_metric",
    "is_prompt",
    "judge_named",
    "judged",
    "load_embedder",
    "model_of",
    "plan_suite",
    "recorded_source",
    "refuse",
    "refuse_other_run",
    "unheard",
    "with_references",
]

__getattr__ = deferred(
    __name__,
    {
        "NO_LOCK": "locking",
        "AS_IT_IS": "plan",
        "Asked": "plan",
        "Bound": "plan",
        "Checked": "checking",
        "Configured": "models",
        "Door": "models",
        "FromFile": "judging",
        "Judge": "judging",
        "Lender": "lending",
        "Loader": "plan",
        "Models": "models",
        "Note": "plan",
        "Overrides": "overrides",
        "Plan": "plan",
        "Source": "plan",
        "Wanted": "judging",
        "as_it_is": "plan",
        "ask": "plan",
        "asked_for": "judging",
        "asked_in_python": "judging",
        "chat_model": "lending",
        "check": "checking",
        "embedder_for": "plan",
        "file_source": "plan",
        "is_metric": "prompting",
        "is_prompt": "prompting",
        "judge_named": "judging",
        "judged": "judging",
        "load_embedder": "plan",
        "unheard": "plan",
        "model_of": "plan",
        "plan_suite": "suite",
        "OpenRecorded": "recorded",
        "recorded_source": "recorded",
        "refuse": "checking",
        "refuse_other_run": "going_on",
        "with_references": "references",
    },
)
