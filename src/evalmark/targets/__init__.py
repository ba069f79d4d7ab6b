"""What is under test, brought to one protocol."""

from .function import FunctionTarget, as_target
from .given import Given

__all__ = ["FunctionTarget", "Given", "as_target"]
