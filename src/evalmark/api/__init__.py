"""Where the rooms meet: a plan out of files or Python objects, and a run out of a plan.

Its names load at first use, so that `evalmark --help` need not wait for numpy.
"""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .checking import Checked, check
    from .conduct import Conduct, check_usable, execute
    from .doctor import examine, own_version
    from .door import now
    from .evaluation import evaluate, evaluate_async
    from .files import save, write_whole
    from .forecast import foresee
    from .ledger import Ledger, Memory
    from .models import chat_model
    from .plan import Plan, Source
    from .rag import RagJob, plan_rag
    from .rescoring import Rescore, plan_rescore
    from .suite import Overrides, plan_suite
    from .validation import validate

__all__ = [
    "Checked",
    "Conduct",
    "Ledger",
    "Memory",
    "Overrides",
    "Plan",
    "RagJob",
    "Rescore",
    "Source",
    "chat_model",
    "check",
    "check_usable",
    "evaluate",
    "evaluate_async",
    "examine",
    "execute",
    "foresee",
    "now",
    "own_version",
    "plan_rag",
    "plan_rescore",
    "plan_suite",
    "save",
    "validate",
    "write_whole",
]

__getattr__ = deferred(
    __name__,
    {
        "Checked": "checking",
        "Conduct": "conduct",
        "Ledger": "ledger",
        "Memory": "ledger",
        "Overrides": "suite",
        "Plan": "plan",
        "RagJob": "rag",
        "Rescore": "rescoring",
        "Source": "plan",
        "chat_model": "models",
        "check": "checking",
        "check_usable": "conduct",
        "evaluate": "evaluation",
        "evaluate_async": "evaluation",
        "examine": "doctor",
        "execute": "conduct",
        "foresee": "forecast",
        "now": "door",
        "own_version": "doctor",
        "plan_rag": "rag",
        "plan_rescore": "rescoring",
        "plan_suite": "suite",
        "save": "files",
        "validate": "validation",
        "write_whole": "files",
    },
)
