"""The case of a marked test: its logged output, its scores, and the result."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from evalmark.core.context.trial_context import TrialContext
from evalmark.core.errors import ConfigError
from evalmark.core.values.case import Case, Output
from evalmark.core.values.run import DatasetInfo, Metric, Run
from evalmark.core.values.score import Result, Score, Trial
from evalmark.runs.engine.trial import describe_error, error_details, with_tool_calls
from evalmark.runs.engine.work import AnsweredTrial
from evalmark.runs.planning.judges import ScorerLike
from evalmark.runs.session.run_session import PreparedPlan

from .eval_plan import prepare_eval
from .eval_spec import EvalSpec, Judges
from .failure import EvalFailedError, failure_message
from .pytest_run import PytestRun
from .thresholds import Threshold

TEST = "test"
"""The score of a test that passes or fails by its own asserts."""


class EvalCase:
    """The case of a marked test: log its output and score it; the result becomes part of the run."""

    def __init__(
        self,
        pytest_run: PytestRun,
        trial: Trial,
        threshold: Threshold,
        scorers: Sequence[ScorerLike] = (),
        judge: "Judges | None" = None,
    ) -> None:
        self._pytest_run, self._trial, self._threshold = pytest_run, trial, threshold
        self._scorers, self._judges = tuple(scorers), judge
        self.context: TrialContext = pytest_run.run_session.context(trial)
        """The tools and models that the code under test uses while the test runs."""
        self._before = pytest_run.run_session.spending()
        self._output: Output | None = None
        self._scores: list[Score] = []
        self._metrics: dict[str, Metric] = {}

    @property
    def case(self) -> Case:
        """The whole row."""
        return self._trial.case

    @property
    def input(self) -> Any:
        """The input; None where the test itself is the case."""
        return self._trial.case.input

    @property
    def expected(self) -> Any:
        """The reference output; None when there is none."""
        return self._trial.case.expected

    @property
    def is_used(self) -> bool:
        """Whether anything was logged or scored."""
        return self._output is not None or bool(self._scores)

    @property
    def repeat(self) -> int:
        """Which repeat of the case the test is, from 0."""
        return self._trial.repeat

    def log(self, output: Any, input: Any = None, *, expected: Any = None) -> Any:  # noqa: A002  the field's name
        """Log the output of the system under test and return it; also its input, if the test itself is the case.

        Raises:
            ConfigError: an output was logged before.
        """
        __tracebackhide__ = True
        if self._output is not None:
            raise ConfigError(f"{self.case.id}: an output was logged before; a case has one output. Make another case.")
        self._output = output if isinstance(output, Output) else Output(value=output)
        changes = {"input": input, "expected": expected}
        case = replace(self.case, **{name: value for name, value in changes.items() if value is not None})
        self._trial = replace(self._trial, case=case)
        return output

    def score(self, name: str, value: Any, reason: str = "") -> None:
        """Add a score: a truth value, a number from 0 to 1, or anything a scorer may return."""
        __tracebackhide__ = True

        raw = {"score": value, "metadata": {"rationale": reason}} if reason else value
        self._judge([lambda: raw], name)

    def judge(self, *scorers: ScorerLike) -> tuple[Score, ...]:
        """Score the logged output. The test continues, and fails at its end if a score is too low.

        Raises:
            ConfigError: nothing was logged, or a scorer cannot be used.
        """
        __tracebackhide__ = True
        if self._output is None:
            raise ConfigError(f"{self.case.id}: there is no output to judge; log one first: evalmark_case.log(output).")
        if any(isinstance(scorer, (list, tuple)) for scorer in scorers):
            raise ConfigError(f"{self.case.id}: judge() takes scorers as separate arguments: judge(first, second).")
        return self._judge(scorers)

    def unfinished_part(self) -> Run:
        """Return the case as a part of the run, without an output."""
        info = DatasetInfo(name=self._trial.dataset)
        result = Result(trial=self._trial, output=Output())
        return Run(id="", name="", created="", target=self._trial.target, datasets=(info,), results=(result,))

    def finish(self, error: BaseException | None) -> tuple[Run, str | None]:
        """Return the result as a part of the run, and why the test fails (None if it passes); `error` is what ended the test."""
        if error is None and self._scorers:
            self.judge(*self._scorers)
        output = with_tool_calls(self._output or Output(), self.context.tools)
        if isinstance(error, AssertionError) and not isinstance(error, EvalFailedError):
            self._add(Score(name=TEST, raw=False, value=0.0, passed=False, reason=describe_error(error)))
        elif error is not None and not isinstance(error, EvalFailedError):
            output = replace(output, error=describe_error(error), metadata={**output.metadata, **error_details(error)})
        elif error is None and not self._scores:
            self._add(Score(name=TEST, raw=True, value=1.0, passed=True, reason="its asserts hold"))
        result = Result(trial=self._trial, output=output, scores=tuple(self._scores))
        metrics = tuple(self._metrics.values())
        spending = self._pytest_run.run_session.spent_since(self._before)
        part = replace(self.unfinished_part(), metrics=metrics, results=(result,), spending=spending)
        return part, failure_message(result, metrics)

    def _judge(self, scorers: Sequence[ScorerLike], name: str = "") -> tuple[Score, ...]:
        __tracebackhide__ = True
        spec = EvalSpec(
            name=self._trial.dataset,
            data=(),
            task=_no_task,
            scorers=tuple(scorers),
            threshold=self._threshold,
            judge=self._judges,
        )
        prepared = prepare_eval(spec, [self.case], self._pytest_run.run_session, name)
        item = AnsweredTrial(trial=self._trial, output=self._output or Output())
        result = self._pytest_run.loop.run(self._pytest_run.run_session.run_one(prepared, item))
        for score in result.scores:
            self._add(score, prepared)
        return result.scores

    def _add(self, score: Score, prepared: PreparedPlan | None = None) -> None:
        __tracebackhide__ = True
        if any(earlier.name == score.name for earlier in self._scores):
            raise ConfigError(f"{self.case.id}: two scores have the name {score.name!r}; rename one.")
        self._scores.append(score)
        metrics = {} if prepared is None else {scorer.name: scorer.metric for scorer in prepared.bound.scorers}
        self._metrics[score.name] = metrics.get(score.name, Metric(name=score.name, direction=score.direction))


def _no_task(input: Any) -> None:  # noqa: A002
    """A task that is never called, since the test itself has produced the output."""
