"""Where the rooms meet: a plan out of files or Python objects, and a run out of a plan.

Its names load at first use, so that `evalmark --help` need not wait for numpy.
"""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .baselines import LAST_GREEN, NO_BASELINE, Baseline, baseline_of
    from .book import Book, begin, grown_by
    from .conduct import Conduct, check_usable, execute
    from .doctor import examine, own_version
    from .door import Loop, now
    from .evaluation import evaluate, evaluate_async
    from .files import save, save_comparison
    from .generation import GenerateJob, broken_rules, foresee_tests, generate_tests
    from .keeping import keep, keep_all
    from .ledger import Ledger, Memory
    from .merging import Merged, merge_shards
    from .promises import evidence_now, labels_on
    from .rag import RagJob, plan_rag
    from .recorded import as_row, recorded_cases
    from .rescoring import Rescore, plan_rescore
    from .sharing import rows_asked, shard_faults
    from .sitting import Seat, Sitting
    from .validation import validate

__all__ = [
    "LAST_GREEN",
    "NO_BASELINE",
    "Baseline",
    "Book",
    "Conduct",
    "GenerateJob",
    "Ledger",
    "Loop",
    "Memory",
    "Merged",
    "RagJob",
    "Rescore",
    "Seat",
    "Sitting",
    "as_row",
    "baseline_of",
    "begin",
    "broken_rules",
    "check_usable",
    "evaluate",
    "evaluate_async",
    "evidence_now",
    "examine",
    "execute",
    "foresee_tests",
    "generate_tests",
    "grown_by",
    "keep",
    "keep_all",
    "labels_on",
    "merge_shards",
    "now",
    "own_version",
    "plan_rag",
    "plan_rescore",
    "recorded_cases",
    "rows_asked",
    "save",
    "save_comparison",
    "shard_faults",
    "validate",
]

__getattr__ = deferred(
    __name__,
    {
        "Baseline": "baselines",
        "LAST_GREEN": "baselines",
        "NO_BASELINE": "baselines",
        "baseline_of": "baselines",
        "Book": "book",
        "as_row": "recorded",
        "recorded_cases": "recorded",
        "Loop": "door",
        "Seat": "sitting",
        "Sitting": "sitting",
        "begin": "book",
        "grown_by": "book",
        "Conduct": "conduct",
        "Ledger": "ledger",
        "Memory": "ledger",
        "Merged": "merging",
        "merge_shards": "merging",
        "RagJob": "rag",
        "Rescore": "rescoring",
        "check_usable": "conduct",
        "evaluate": "evaluation",
        "evaluate_async": "evaluation",
        "examine": "doctor",
        "evidence_now": "promises",
        "execute": "conduct",
        "labels_on": "promises",
        "GenerateJob": "generation",
        "broken_rules": "generation",
        "foresee_tests": "generation",
        "generate_tests": "generation",
        "keep": "keeping",
        "keep_all": "keeping",
        "now": "door",
        "own_version": "doctor",
        "plan_rag": "rag",
        "plan_rescore": "rescoring",
        "rows_asked": "sharing",
        "save": "files",
        "save_comparison": "files",
        "shard_faults": "sharing",
        "validate": "validation",
    },
)
