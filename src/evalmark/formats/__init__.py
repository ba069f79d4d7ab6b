"""Other tools' files: results and suites read into values of ours, and written out of them."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .github_models import to_github_models
    from .github_models_reading import import_github_models
    from .jsonl import import_jsonl
    from .promptpex import import_promptpex, read_promptpex

__all__ = [
    "import_github_models",
    "import_jsonl",
    "import_promptpex",
    "read_promptpex",
    "to_github_models",
]

__getattr__ = deferred(
    __name__,
    {
        "import_github_models": "github_models_reading",
        "import_jsonl": "jsonl",
        "import_promptpex": "promptpex",
        "read_promptpex": "promptpex",
        "to_github_models": "github_models",
    },
)
