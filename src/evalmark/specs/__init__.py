"""What a prompt under test promises: its intent, its rules, and the tests that were made of them."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .lines import lines_of
    from .prompt_tests import file_of_tests, read_baseline, read_tests, sample_tests
    from .recognition import BASELINES, holds_tests
    from .spec import PromptSpec, Rule, folder_of, read_spec

__all__ = [
    "BASELINES",
    "PromptSpec",
    "Rule",
    "file_of_tests",
    "folder_of",
    "holds_tests",
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
        "Rule": "spec",
        "folder_of": "spec",
        "holds_tests": "recognition",
        "lines_of": "lines",
        "read_baseline": "prompt_tests",
        "read_spec": "spec",
        "read_tests": "prompt_tests",
        "sample_tests": "prompt_tests",
        "file_of_tests": "prompt_tests",
    },
)
