"""`UnitTestRun`: judges and stores the results of a unit test while the tested function goes on."""

import asyncio
from collections import deque
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from evalmark.core.errors import EvalmarkError
from evalmark.core.foreign.identity import describe_object
from evalmark.core.settings import Settings
from evalmark.core.sync import BackgroundLoop
from evalmark.core.values.case import Output
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.run import Metric, Run, RunStatus
from evalmark.core.values.score import Result, Score, Trial
from evalmark.models.embeddings.cached_embedder import CachedEmbedder
from evalmark.runs.engine.trial import run_scorers
from evalmark.runs.execution.run_writer import RunWriter, start_run
from evalmark.runs.session.run_session import RunSession
from evalmark.runs.session.run_store import RunStore
from evalmark.scoring.binding.bound_scorer import BoundScorer

from .embed_function import embedder_of
from .evaluation import CosineScoreEvaluationStrategy, EvaluationStrategyBase
from .labeled import TestCase
from .results import TestCaseResult
from .selection import SelectedCase, Selection

WINDOW = 2_048
"""As many results may wait for their judgement before the test waits for the oldest."""
AHEAD = 256
"""Labelled outputs that are embedded together ahead of their results: enough for full batches, few enough to wait for."""
GIVEN = "given answers"
"""The target of results that the test brings itself."""

JudgedCase = tuple[TestCaseResult, Result]


@dataclass(frozen=True, slots=True)
class CosineJudge:
    """The cosine rule with its embedding model, run concurrently with the test."""

    strategy: CosineScoreEvaluationStrategy
    scorer: BoundScorer
    embedder: CachedEmbedder

    async def __call__(self, item: SelectedCase, output: Output) -> Score:
        """Score one result; an error of the model becomes a score with status `error`."""
        (score,) = await run_scorers([self.scorer], item.case, output)
        return score

    async def ahead(self, items: Sequence[SelectedCase]) -> None:
        """Embed the labelled outputs before their results exist; errors are reported when these are judged."""
        texts = list(dict.fromkeys(text for item in items for text in self.strategy.texts(item.test_case)))
        with suppress(EvalmarkError):
            for start in range(0, len(texts), AHEAD):
                await self.embedder(texts[start : start + AHEAD])


class UnitTestRun:
    """The run of one unit test: its event loop, its run session, and the writer of its run."""

    def __init__(
        self, name: str, strategy: EvaluationStrategyBase, selected: Selection, store: RunStore, settings: Settings
    ) -> None:
        self._selected, self.strategy = selected, strategy
        self.loop = BackgroundLoop()
        try:
            self.run_session = RunSession(settings, lambda: store, loop=lambda: self.loop.events)
            self.rule = self._rule(store)
            self._run_writer: RunWriter = start_run(store, name)
        except BaseException:
            self.loop.close()
            raise
        self._metric = self._described()
        self._met: dict[str, None] = {}
        self._found: list[Future[JudgedCase]] = []
        self._open: deque[Future[JudgedCase]] = deque()
        self._queue: list[Result] = []
        self._writer: asyncio.Task[None] | None = None
        self._fault: EvalmarkError | None = None
        if self.rule is not None:
            self.loop.start(self.rule.ahead(selected.items))

    def trial(self, item: SelectedCase, position: int, target: str) -> Trial:
        """Return the trial of a case."""
        return Trial(case=item.case, dataset=self._selected.info.name, target=target, position=position)

    def start_judging(self, item: SelectedCase, trial: Trial, output: Output) -> "Future[JudgedCase]":
        """Score and store a result in the background; return its future."""
        self.add_target(trial.target)
        return self._begun(self._judged(item, trial, output))

    def add_judged(
        self, found: TestCaseResult, trial: Trial, output: Output, score: Score | None
    ) -> "Future[JudgedCase]":
        """Store a result that is judged already."""
        self.add_target(trial.target)
        result = Result(trial=trial, output=output, scores=() if score is None else (score,))
        return self._begun(self._told(found, result))

    @property
    def target(self) -> str:
        """The target of results that name none: the last function that was evaluated."""
        return next(reversed(self._met), GIVEN)

    def add_target(self, target: str) -> None:
        """Add a target to the run; raises the error that kept an earlier result from being stored."""
        if self._fault is not None:
            raise self._fault
        if target not in self._met:
            embedder = "" if self.rule is None else self.rule.embedder.fingerprint
            header = Run(id="", name="", created="", target=target, metrics=(self._metric,), embedder=embedder)
            self._run_writer.add_part(replace(header, datasets=(self._selected.info,)))
            self._met[target] = None

    def judged_cases(self) -> list[JudgedCase]:
        """Wait until every result is judged, and return them in the order of the cases."""
        return sorted((future.result() for future in self._found), key=lambda found: found[1].trial.position)

    def finish(self, status: RunStatus, notes: Sequence[str]) -> Run:
        """Wait until every result is judged and stored, and close the run.

        Raises:
            StoreError: something could not be kept.
        """
        self.judged_cases()
        self.loop.run(self._written())
        if self._fault is not None:
            raise self._fault
        self.add_target(self.target)
        spending = self.run_session.spending()
        if spending:
            self._run_writer.add_part(Run(id="", name="", created="", spending=spending))
        said = () if self.rule is None else self.rule.embedder.notes()
        return self._run_writer.finish(status, (*self._selected.notes, *notes, *said, *self.run_session.notes()))

    def close(self) -> None:
        """Close the models and the loop; running work is abandoned."""
        with suppress(EvalmarkError):
            self.loop.run(self.run_session.close())
        self.loop.close()

    # Inside.

    def _rule(self, store: RunStore) -> CosineJudge | None:
        strategy = self.strategy
        if not isinstance(strategy, CosineScoreEvaluationStrategy) or not strategy.is_plain:
            return None
        embedder = CachedEmbedder(embedder_of(strategy.embed_function, self.run_session.models), store)
        return CosineJudge(strategy, strategy.scorer(embedder), embedder)

    def _described(self) -> Metric:
        if self.rule is not None:
            return self.rule.scorer.versioned
        name = self.strategy.evaluation_method
        return Metric(name=name, version=fingerprint(name, describe_object(self.strategy, docstrings=False)))

    def _begun(self, work: Coroutine[Any, Any, JudgedCase]) -> "Future[JudgedCase]":
        future = self.loop.start(work)
        self._found.append(future)
        self._open.append(future)
        while len(self._open) > WINDOW:
            self._open.popleft().result()
        return future

    async def _judged(self, item: SelectedCase, trial: Trial, output: Output) -> JudgedCase:
        assert self.rule is not None  # noqa: S101  only such are judged here
        score = await self.rule(item, output)
        found = self.rule.strategy.result_of(item.test_case, output, score)
        if score.status == "error":
            found = replace(found, error_description=score.reason)
        return await self._told(found, Result(trial=trial, output=output, scores=(score,)))

    async def _told(self, found: TestCaseResult, result: Result) -> JudgedCase:
        seconds = result.output.seconds
        took = None if seconds is None else 1_000 * seconds
        found = replace(found, order=result.trial.position + 1, response_time_ms=took)
        self._queue.append(result)
        if self._writer is None:
            self._writer = asyncio.create_task(self._write())
        return found, result

    async def _write(self) -> None:
        """Write results until none are left; those that come meanwhile go into the next batch."""
        try:
            while self._queue:
                batch, self._queue = self._queue, []
                await self._run_writer.write(batch)
        except EvalmarkError as fault:
            self._fault = fault
        finally:
            self._writer = None

    async def _written(self) -> None:
        if self._writer is not None:
            await asyncio.wait({self._writer})


def failed_result(test_case: TestCase, method: str, output: Output) -> TestCaseResult:
    """Return the result of a case that failed before it could be judged."""
    return TestCaseResult(
        test_case=test_case,
        passed=False,
        evaluation_method=method,
        generated_result=output.value,
        error_description=output.error,
    )
