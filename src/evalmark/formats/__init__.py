"""Other tools' files: results and suites read into values of ours, and written out of them."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .assertions import Assertions, JudgedAssertions, PythonAssertion
    from .github_models import to_github_models
    from .github_models_reading import import_github_models
    from .jsonl import import_jsonl
    from .promptfoo import to_promptfoo_files
    from .promptfoo_reading import import_promptfoo
    from .promptpex import import_promptpex, read_promptpex

__all__ = [
    "Assertions",
    "JudgedAssertions",
    "PythonAssertion",
    "import_github_models",
    "import_jsonl",
    "import_promptfoo",
    "import_promptpex",
    "read_promptpex",
    "to_github_models",
    "to_promptfoo_files",
]

__getattr__ = deferred(
    __name__,
    {
        "Assertions": "assertions",
        "JudgedAssertions": "assertions",
        "PythonAssertion": "assertions",
        "import_github_models": "github_models_reading",
        "import_jsonl": "jsonl",
        "import_promptfoo": "promptfoo_reading",
        "import_promptpex": "promptpex",
        "read_promptpex": "promptpex",
        "to_github_models": "github_models",
        "to_promptfoo_files": "promptfoo",
    },
)
