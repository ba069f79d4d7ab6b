"""The marker `evalmark`: what a marked test says of itself."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import pytest

from evalmark.errors import ConfigError
from evalmark.evals import NOT_SAID, Threshold

from .items import case_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What `@pytest.mark.evalmark(...)` says."""

    suite: str = ""
    """What the cases go by in the run; else the file of the test."""
    data: Any = None
    """Cases, as `describe_eval` takes them: the test runs for each; None: the test is the case."""
    scorers: Sequence[Any] = ()
    """What judges the logged answer at the end of the test."""
    repeat: int = 1
    threshold: Threshold = NOT_SAID
    judge: Any = None


def read_mark(marker: pytest.Mark, place: str) -> Mark:
    """The marker's arguments.

    Raises:
        ConfigError: one is unknown, or of the wrong kind.
    """
    known = [f.name for f in fields(Mark)]
    if marker.args:
        raise ConfigError(f"{place}: @pytest.mark.evalmark takes its arguments by name: {', '.join(known)}.")
    if unknown := sorted(set(marker.kwargs) - set(known)):
        raise ConfigError(
            f"{place}: @pytest.mark.evalmark has no argument {unknown[0]!r}; it knows {', '.join(known)}."
        )
    mark = Mark(**{name: value for name, value in marker.kwargs.items() if value is not None or name == "threshold"})
    if isinstance(mark.repeat, bool) or not isinstance(mark.repeat, int) or mark.repeat < 1:
        raise ConfigError(f"{place}: repeat has to be a whole number of at least 1; found {mark.repeat!r}.")
    return mark


def ids_of(params: Sequence[tuple[Any, int]], repeats: int) -> list[str]:
    """The names of the tests for these rows and repeats: by case, as those of `describe_eval`."""
    names = Counter[str]()
    labels = {id(row): case_name(row, names) for row, repeat in params if row is not None and repeat == 0}
    return ["-".join(_parts(labels.get(id(row), ""), repeat, repeats)) for row, repeat in params]


def _parts(name: str, repeat: int, repeats: int) -> list[str]:
    known = [name] if name else []
    return [*known, str(repeat + 1)] if repeats > 1 else known
