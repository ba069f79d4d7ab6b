"""`UnitTestRun`: judges and stores the results of a unit test in the background."""

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
"""The most results that wait to be judged; with more, the test waits for the oldest."""
AHEAD = 256
"""Labelled outputs that are embedded together before their results exist."""
GIVEN = "given answers"
"""The target of results that no function under test returned."""

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

    async def embed_outputs(self, items: Sequence[SelectedCase]) -> None:
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
        self._metric = self._describe_metric()
        self._targets: list[str] = []
        self._judged: list[Future[JudgedCase]] = []
        self._pending: deque[Future[JudgedCase]] = deque()
        self._queue: list[Result] = []
        self._writer: asyncio.Task[None] | None = None
        self._error: EvalmarkError | None = None
        if self.rule is not None:
            self.loop.start(self.rule.embed_outputs(selected.items))

    def trial(self, item: SelectedCase, position: int, target: str) -> Trial:
        """Return the trial of a case."""
        return Trial(case=item.case, dataset=self._selected.info.name, target=target, position=position)

    def start_judging(self, item: SelectedCase, trial: Trial, output: Output) -> "Future[JudgedCase]":
        """Score and store a result in the background; return its future."""
        self.add_target(trial.target)
        return self._start(self._judge(item, trial, output))

    def add_judged(
        self, judgement: TestCaseResult, trial: Trial, output: Output, score: Score | None
    ) -> "Future[JudgedCase]":
        """Store a judged result in the background; return its future."""
        self.add_target(trial.target)
        result = Result(trial=trial, output=output, scores=() if score is None else (score,))
        return self._start(self._store(judgement, result))

    @property
    def target(self) -> str:
        """The target of results that name none: the last one that was evaluated."""
        return self._targets[-1] if self._targets else GIVEN

    def add_target(self, target: str) -> None:
        """Add a target to the run. Raises the error of an earlier result that could not be stored."""
        if self._error is not None:
            raise self._error
        if target not in self._targets:
            embedder = "" if self.rule is None else self.rule.embedder.fingerprint
            header = Run(id="", name="", created="", target=target, metrics=(self._metric,), embedder=embedder)
            self._run_writer.add_part(replace(header, datasets=(self._selected.info,)))
            self._targets.append(target)

    def judged_cases(self) -> list[JudgedCase]:
        """Wait until every result is judged, and return them in the order of the cases."""
        return sorted((future.result() for future in self._judged), key=lambda judged: judged[1].trial.position)

    def finish(self, status: RunStatus, notes: Sequence[str]) -> Run:
        """Wait until every result is judged and stored, and close the run.

        Raises:
            StoreError: something could not be stored.
        """
        self.judged_cases()
        self.loop.run(self._wait_for_writer())
        if self._error is not None:
            raise self._error
        self.add_target(self.target)
        spending = self.run_session.spending()
        if spending:
            self._run_writer.add_part(Run(id="", name="", created="", spending=spending))
        embedder_notes = () if self.rule is None else self.rule.embedder.notes()
        all_notes = (*self._selected.notes, *notes, *embedder_notes, *self.run_session.notes())
        return self._run_writer.finish(status, all_notes)

    def close(self) -> None:
        """Close the models and the loop; running work is abandoned."""
        with suppress(EvalmarkError):
            self.loop.run(self.run_session.close())
        self.loop.close()

    def _rule(self, store: RunStore) -> CosineJudge | None:
        strategy = self.strategy
        if not isinstance(strategy, CosineScoreEvaluationStrategy) or not strategy.is_plain:
            return None
        embedder = CachedEmbedder(embedder_of(strategy.embed_function, self.run_session.models), store)
        return CosineJudge(strategy, strategy.scorer(embedder), embedder)

    def _describe_metric(self) -> Metric:
        if self.rule is not None:
            return self.rule.scorer.versioned
        name = self.strategy.evaluation_method
        return Metric(name=name, version=fingerprint(name, describe_object(self.strategy, docstrings=False)))

    def _start(self, work: Coroutine[Any, Any, JudgedCase]) -> "Future[JudgedCase]":
        future = self.loop.start(work)
        self._judged.append(future)
        self._pending.append(future)
        while len(self._pending) > WINDOW:
            self._pending.popleft().result()
        return future

    async def _judge(self, item: SelectedCase, trial: Trial, output: Output) -> JudgedCase:
        assert self.rule is not None  # noqa: S101  the only strategy that is judged here
        score = await self.rule(item, output)
        judgement = self.rule.strategy.result_of(item.test_case, output, score)
        if score.status == "error":
            judgement = replace(judgement, error_description=score.reason)
        return await self._store(judgement, Result(trial=trial, output=output, scores=(score,)))

    async def _store(self, judgement: TestCaseResult, result: Result) -> JudgedCase:
        seconds = result.output.seconds
        milliseconds = None if seconds is None else 1_000 * seconds
        judgement = replace(judgement, order=result.trial.position + 1, response_time_ms=milliseconds)
        self._queue.append(result)
        if self._writer is None:
            self._writer = asyncio.create_task(self._write())
        return judgement, result

    async def _write(self) -> None:
        """Write results until none are left; results that are added meanwhile are in the next batch."""
        try:
            while self._queue:
                batch, self._queue = self._queue, []
                await self._run_writer.write(batch)
        except EvalmarkError as error:
            self._error = error
        finally:
            self._writer = None

    async def _wait_for_writer(self) -> None:
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
