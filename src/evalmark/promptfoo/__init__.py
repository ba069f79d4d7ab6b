"""promptfoo: its configs and results read as suites and runs, and runs written as its files."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .python import PythonAssertion
    from .reading import import_promptfoo
    from .writing import to_promptfoo_files

__all__ = ["PythonAssertion", "import_promptfoo", "to_promptfoo_files"]

__getattr__ = deferred(
    __name__,
    {
        "PythonAssertion": "python",
        "import_promptfoo": "reading",
        "to_promptfoo_files": "writing",
    },
)
