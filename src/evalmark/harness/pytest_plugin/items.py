"""The tests of an eval: one for each case and repeat, named by case."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from evalmark.core.errors import EvalmarkError
from evalmark.core.text import safe_for_ci
from evalmark.core.values.case import Case, Output
from evalmark.core.values.score import Result, Trial
from evalmark.harness.evals.eval_plan import prepare_eval
from evalmark.harness.evals.eval_spec import EvalSpec
from evalmark.harness.evals.failure import EvalFailedError
from evalmark.inputs.datasets.options import BadRow
from evalmark.runs.session.run_session import PreparedPlan

from .marker import case_name
from .skips import placeholder
from .state import PluginState


@dataclass
class EvalGroup:
    """The shared state of the tests of one eval."""

    eval_spec: EvalSpec
    title: str
    """The name of its tests."""
    target: str
    """The name of its task."""
    state: PluginState
    rows: Sequence[Case | BadRow]
    run: Callable[["EvalItem"], Result]
    """Runs and scores one of its cases."""
    prepared: PreparedPlan | EvalmarkError | None = None

    def prepare(self) -> PreparedPlan:
        """Prepare the eval; done once, when the first test needs it.

        Raises:
            EvalmarkError: a part of it cannot be used, such as a model that cannot be loaded.
        """
        if self.prepared is None:
            try:
                prepared = prepare_eval(self.eval_spec, self.rows, self.state.run_session)
                self.prepared = replace(prepared, info=replace(prepared.info, plan=prepared.plan.fingerprint))
            except EvalmarkError as error:
                self.prepared = error
        if isinstance(self.prepared, EvalmarkError):
            raise self.prepared
        return self.prepared


class EvalItem(pytest.Function):
    """The test of one case and repeat of an eval."""

    def __init__(self, *, group: EvalGroup, trial: Trial, bad: BadRow | None = None, **named: Any) -> None:
        super().__init__(callobj=placeholder, **named)
        self.group, self.trial, self.bad = group, trial, bad
        self.result: Result | None = None
        """The result, once it has run."""
        self.stands_alone = False
        """Whether a fixture is set up for this test alone, so that its case cannot be run before the test."""

    @property
    def id(self) -> Any:
        """The id with the case as its parameter, as pytest reads it from its cache."""
        identity = super().id
        return type(identity).parse(str(identity))

    def runtest(self) -> None:
        """Run and score the case, unless it was prefetched."""
        self.result = self.group.run(self)

    def bad_result(self) -> Result:
        """Return the result of a row that is not a case."""
        return Result(trial=self.trial, output=Output(error=str(self.bad)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the message without evalmark's own frames."""
        if isinstance(excinfo.value, (EvalFailedError, EvalmarkError)):
            return safe_for_ci(f"{excinfo.value}\n\n{self.group.eval_spec.place}: {type(excinfo.value).__name__}")
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where the eval is defined."""
        return Path(self.group.eval_spec.file), max(0, self.group.eval_spec.line - 1), self.name


def items_of(collector: Any, group: EvalGroup) -> Iterator[EvalItem]:
    """Yield the tests of an eval in the order of its data, the first repeat of all cases first."""
    eval_spec = group.eval_spec
    title, names = group.title, Counter[str]()
    labels = [case_name(row, names) for row in group.rows]
    for repeat in range(eval_spec.repeat):
        for position, (row, label) in enumerate(zip(group.rows, labels, strict=True)):
            if isinstance(row, BadRow) and repeat:
                continue
            case = Case(id=f"row {position + 1}", place=row.place) if isinstance(row, BadRow) else row
            trial = Trial(case=case, dataset=eval_spec.name, target=group.target, position=position, repeat=repeat)
            name = f"{title}[{label}]" if eval_spec.repeat == 1 else f"{title}[{label}-{repeat + 1}]"
            bad = row if isinstance(row, BadRow) else None
            item: EvalItem = EvalItem.from_parent(collector, name=name, group=group, trial=trial, bad=bad)
            yield item
