"""`EvalSpec`: what an eval consists of, for the modules that plan and run it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from os import path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from evalmark.core.errors import ConfigError

from .thresholds import UNSET, Threshold

if TYPE_CHECKING:  # a suite that skips its evals loads nothing that would run them
    from evalmark.core.protocols import ChatModel
    from evalmark.runs.planning.judges import ScorerLike

    from .rows import Data

DEFAULT_TIMEOUT = 60.0
"""Seconds that a task gets for one case by default."""
Judges: TypeAlias = "str | ChatModel | Sequence[str | ChatModel]"


class ExpectOptions(TypedDict, total=False):
    """Options of `to_eval` besides the expected output, the task and the scorers."""

    threshold: Threshold
    """The value each score has to reach, from 0 to 1: one for all scorers, or `{name: number}`; None: nothing can fail."""
    judge: Judges
    """The chat model of scorers that need one; by default EVALMARK_JUDGE."""
    embeddings: str | Callable[..., Any]
    """The embedding model of scorers that need one; by default the one in the settings."""
    timeout: float | None
    """Seconds that a case may take, 60 by default; None: no limit."""


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


def check_options(call: str, names: Iterable[str], options: type) -> None:
    """Raise ConfigError for the first name that is not an option of a call."""
    known = options.__annotations__
    if unknown := sorted(set(names) - set(known)):
        raise ConfigError(f"{call} has no option {unknown[0]!r}; its options are {', '.join(known)}.")


def short_path(file: str) -> str:
    """Return the path relative to the working directory, where the file lies below it."""
    try:
        near = path.relpath(file)
    except ValueError:  # another drive
        return file
    return file if near.startswith("..") else near
