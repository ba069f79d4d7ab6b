"""Skips evals that are switched off, without loading the modules that run them."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evalmark.core.errors import ConfigError
from evalmark.core.text import count, one_line

if TYPE_CHECKING:
    from evalmark.harness.evals.eval_spec import EvalSpec

OFF = "evals may cost money; run them with --evalmark"
PLACE = pytest.StashKey[int]()
"""The index of a collected test; the same in every worker of xdist."""
LONGEST_NAME = 60
"""The most characters of an input in the name of a test."""


class SkippedEval(pytest.Function):
    """The test of a skipped eval; its data is not read."""

    def __init__(self, *, eval_spec: "EvalSpec", reason: str, **named: Any) -> None:
        super().__init__(callobj=placeholder, **named)
        self.eval_spec = eval_spec
        self.add_marker(pytest.mark.skip(reason=reason))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where the eval is defined."""
        return Path(self.eval_spec.file), max(0, self.eval_spec.line - 1), self.name


class Skips:
    """Counts skipped evals and reports them once, in the main process."""

    def __init__(self) -> None:
        self._skipped = 0

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count skipped evals."""
        if report.skipped and isinstance(report.longrepr, tuple) and OFF in str(report.longrepr[2]):
            self._skipped += 1

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print how to run evals."""
        if self._skipped:
            number = count(self._skipped, "eval")
            note = f"{number} skipped: {OFF}, or `evalmark_run = true` in the configuration."
            terminalreporter.write_line(note)


def placeholder() -> None:
    """Do nothing: pytest wants a function for each item."""


def skipped_items(collector: Any, evals: "Sequence[EvalSpec]") -> list[pytest.Item]:
    """Return one skipped test for each eval of a module.

    Raises:
        CollectError: two evals have the same name.
    """
    try:
        check_names(evals)
    except ConfigError as error:
        raise collector.CollectError(str(error)) from None
    return [skipped_item(collector, eval_spec, OFF) for eval_spec in evals]


def mark_skipped(items: Sequence[pytest.Item]) -> None:
    """Skip tests that are evals by their marker."""
    for item in items:
        item.add_marker(pytest.mark.skip(reason=OFF))


def skipped_item(collector: Any, eval_spec: "EvalSpec", reason: str) -> pytest.Item:
    """Return the skipped test of an eval."""
    item: SkippedEval = SkippedEval.from_parent(
        collector, name=node_name(eval_spec.name), eval_spec=eval_spec, reason=reason
    )
    return item


def check_names(evals: "Sequence[EvalSpec]") -> None:
    """Raise ConfigError where two evals of a module have the same name, and so the same test ids."""
    names = [node_name(eval_spec.name) for eval_spec in evals]
    for eval_spec, name in zip(evals, names, strict=True):
        if (number := names.count(name)) > 1:
            raise ConfigError(
                f"{eval_spec.place}: {number} evals of this file have the name {name!r}; give each its own name."
            )


def node_name(text: str) -> str:
    """Return a text as part of a test's id: in ASCII, without `::` and brackets, which have a meaning for pytest."""
    text = re.sub(r"::+", ":", one_line(text, LONGEST_NAME))
    return text.translate({ord("["): "(", ord("]"): ")", ord("…"): "..."}).encode("ascii", "backslashreplace").decode()
