"""What a prompt under test promises: its intent, its rules, and the tests that were made of them."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .lines import is_check, lines_of
    from .prompt_tests import file_of_tests, read_baseline, read_tests, sample_tests
    from .recognition import BASELINES, holds_tests
    from .spec import RULES_FILE, PromptSpec, Rule, StatedCheck, folder_of, read_spec

__all__ = [
    "BASELINES",
    "RULES_FILE",
    "PromptSpec",
    "Rule",
    "StatedCheck",
    "file_of_tests",
    "folder_of",
    "holds_tests",
    "is_check",
    "lines_of",
    "read_baseline",
    "read_spec",
    "read_tests",
    "sample_tests",
]

__getattr__ = deferred(
    __name__,
    {
        "BASELINES": "recognition",
        "PromptSpec": "spec",
        "RULES_FILE": "spec",
        "Rule": "spec",
        "StatedCheck": "spec",
        "folder_of": "spec",
        "holds_tests": "recognition",
        "is_check": "lines",
        "lines_of": "lines",
        "read_baseline": "prompt_tests",
        "read_spec": "spec",
        "read_tests": "prompt_tests",
        "sample_tests": "prompt_tests",
        "file_of_tests": "prompt_tests",
    },
)
