"""What is under test, brought to one protocol."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .function import FunctionTarget, as_target
    from .given import Given
    from .model import ModelTarget
    from .prompt import PromptTarget

__all__ = [
    "FunctionTarget",
    "Given",
    "ModelTarget",
    "PromptTarget",
    "as_target",
]

__getattr__ = deferred(
    __name__,
    {
        "FunctionTarget": "function",
        "Given": "given",
        "ModelTarget": "model",
        "PromptTarget": "prompt",
        "as_target": "function",
    },
)
