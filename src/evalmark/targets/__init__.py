"""What is under test, brought to one protocol."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .function import FunctionTarget, as_target
    from .given import Given

__all__ = [
    "FunctionTarget",
    "Given",
    "as_target",
]

__getattr__ = deferred(
    __name__,
    {
        "FunctionTarget": "function",
        "Given": "given",
        "as_target": "function",
    },
)
