"""`EvalSpec`: what an eval consists of, for the modules that plan and run it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import path
from typing import TYPE_CHECKING, Any, TypeAlias

from .thresholds import UNSET, Threshold

if TYPE_CHECKING:  # a suite that skips its evals loads nothing that would run them
    from evalmark.core.protocols import ChatModel
    from evalmark.runs.planning.judges import ScorerLike

    from .rows import Data

DEFAULT_TIMEOUT = 60.0
"""Seconds that a task gets for one case by default."""
Judges: TypeAlias = "str | ChatModel | Sequence[str | ChatModel]"


@dataclass(frozen=True, kw_only=True)
class EvalSpec:
    """The parts of an eval; nothing of it has run."""

    name: str
    data: "Data"
    task: Any
    scorers: "tuple[ScorerLike, ...]"
    threshold: Threshold = UNSET
    judge: "Judges | None" = None
    embeddings: str | Callable[..., Any] | None = None
    repeat: int = 1
    timeout: float | None = DEFAULT_TIMEOUT
    skip_if: bool = False
    file: str = ""
    """The file that defines it; empty where that is unknown."""
    line: int = 0

    @property
    def place(self) -> str:
        """`file:line` for messages; the name where that is unknown."""
        return f"{short_path(self.file)}:{self.line}" if self.file else self.name


def short_path(file: str) -> str:
    """Return the path relative to the working directory, where the file lies below it."""
    try:
        near = path.relpath(file)
    except ValueError:  # another drive
        return file
    return file if near.startswith("..") else near
