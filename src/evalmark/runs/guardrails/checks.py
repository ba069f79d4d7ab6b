"""The checks of a guard: scorers that are bound once, with models opened for each answer."""

import inspect
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from evalmark.core.errors import ConfigError, ModelError, RunStoppedError
from evalmark.core.protocols import ChatModel, Embedder
from evalmark.core.settings import Settings, load_settings
from evalmark.core.values.case import Case, Output
from evalmark.core.values.score import Score
from evalmark.models.embeddings.adapters import as_embedder
from evalmark.models.embeddings.cached_embedder import CachedEmbedder
from evalmark.models.embeddings.load import load_embedder
from evalmark.runs.engine.trial import run_scorers
from evalmark.runs.planning.models import ModelFactory
from evalmark.runs.planning.plan import scorer_spec
from evalmark.runs.planning.target_models import chat_model
from evalmark.scoring.binding.bound_scorer import BoundScorer, as_scorer

Check = str | Mapping[str, Any] | Callable[..., Any]
"""A scorer: its name, `{name: settings}`, an object such as `AnswerQuality()`, a function, or a bound scorer."""
Embeddings = str | Callable[..., Any] | None
"""The name or folder of an embedding model, a function `list[str] -> (n, d)` array, or None for the setting."""
Judge = str | ChatModel | None
"""A chat model or its name, or None for the setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """Bound scorers with their models."""

    bound: tuple[BoundScorer, ...]
    embeddings: Embeddings
    judge: Judge
    """The judge model, or None if no check needs one."""
    timeout: float | None
    """Time limit of each check in seconds."""

    async def scores(self, case: Case, output: Output) -> tuple[Score, ...]:
        """Score an output; a check that fails or times out gives a score with the status `error`.

        Raises:
            ConfigError: the name of a model is unknown.
            ModelError: the embedding model cannot be loaded.
        """
        async with self._ready() as ready:
            return await run_scorers([StandaloneScorer(one) for one in ready], case, output, self.timeout)

    @asynccontextmanager
    async def _ready(self) -> AsyncIterator[tuple[BoundScorer, ...]]:
        needs_embedder = any(bound.needs_embedder for bound in self.bound)
        # A named judge is closed afterwards, since the next answer may come on another event loop.
        judge = chat_model(self.judge) if isinstance(self.judge, str) else nullcontext(self.judge)
        async with _open_embedder(self.embeddings, is_needed=needs_embedder) as embedder, judge as model:
            shared = None if embedder is None else CachedEmbedder(embedder)
            yield tuple(_with_models(bound, shared, model) for bound in self.bound)


@dataclass(frozen=True, slots=True)
class StandaloneScorer:
    """A scorer outside of a run: an error that would stop a run becomes the error of this scorer."""

    scorer: BoundScorer

    @property
    def name(self) -> str:
        """The name of the scorer."""
        return self.scorer.name

    async def __call__(self, case: Case, output: Output) -> tuple[Score, ...]:
        """Score an output. Raises the scorer's error.

        Raises:
            ModelError: no further judge call is possible.
        """
        try:
            return await self.scorer(case, output)
        except RunStoppedError as stopped:
            raise ModelError(str(stopped)) from stopped


def _with_models(bound: BoundScorer, embedder: CachedEmbedder | None, model: ChatModel | None) -> BoundScorer:
    """Give a scorer the models that it needs and does not have."""
    if bound.needs_embedder and bound.embedder is None:
        bound = replace(bound, embedder=embedder)
    return replace(bound, judge=model) if bound.needs_judge and bound.judge is None else bound


@asynccontextmanager
async def _open_embedder(model: Embeddings, *, is_needed: bool) -> AsyncIterator[Embedder | None]:
    """Open the embedding model if one is needed; connections to a server are closed afterwards."""
    if not is_needed or (model is not None and not isinstance(model, str)):
        yield as_embedder(model) if is_needed else None
        return
    settings = load_settings(os.environ, Path.cwd())
    name, models = model or settings.embeddings, ModelFactory(settings=settings)
    try:
        yield models.embedder(name) or _load_embedder(name, settings, Path.cwd())
    finally:
        await models.close()


@lru_cache(maxsize=2)
def _load_embedder(name: str, settings: Settings, folder: Path) -> Embedder:
    """Load an embedding model once, since loading is slow and a guard checks every answer."""
    return load_embedder(name, settings, (folder,))


def bind_checks(
    who: str, checks: Sequence[Any], embeddings: Embeddings, judged_by: Judge, timeout: float | None = None
) -> Checks:
    """Resolve and bind the checks, so that errors show when a guard is created.

    Error messages start with `who`.

    Raises:
        ConfigError: a check cannot be found, created or bound, two have the same name, or one lacks a judge.
    """
    bound = tuple(_bound(who, check) for check in checks)
    repeated = sorted(name for name, times in Counter(one.name for one in bound).items() if times > 1)
    faults = [f"{who}: two checks have the name {name!r}; give one of them another `name`." for name in repeated]
    without_judge = next((one.name for one in bound if one.needs_judge and one.judge is None), None)
    judges = () if without_judge is None else (judged_by,) if judged_by else load_settings(os.environ, Path.cwd()).judge
    if without_judge and len(judges) != 1:
        several = f" The settings name several: {', '.join(map(str, judges))}." if judges else ""
        faults.append(f"{who}: {without_judge} needs a judge; name one with `judge=` or EVALMARK_JUDGE.{several}")
    if faults:
        raise ConfigError.of(faults)
    return Checks(bound=bound, embeddings=embeddings, judge=next(iter(judges), None), timeout=timeout)


def _bound(who: str, check: Any) -> BoundScorer:
    if isinstance(check, BoundScorer):
        return check
    if inspect.isclass(check) or not (callable(check) or isinstance(check, str | Mapping)):
        raise ConfigError(
            f"{who}: {getattr(check, '__name__', type(check).__name__)!r} is not a scorer; pass a name, "
            "{name: settings}, a function, or an instance of a scorer class."
        )
    spec = scorer_spec(check, who, (Path.cwd(),))
    return as_scorer(spec.scorer, name=spec.name, threshold=spec.threshold)
