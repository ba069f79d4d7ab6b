"""Binds a scorer of any kind to its name, its threshold and the models of the run."""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evalmark.core.errors import ConfigError
from evalmark.core.foreign.binding import Binding, bind, signature_of
from evalmark.core.foreign.copying import copy_value
from evalmark.core.foreign.identity import describe_object
from evalmark.core.foreign.threads import DaemonThreads, is_async_callable
from evalmark.core.lazy import LazyModule
from evalmark.core.protocols import ChatModel, Embedder
from evalmark.core.values.case import Case, Output, is_blank
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Direction, Score

from .score_conversion import as_scores
from .scores import fails_at_any_threshold, meets_threshold
from .text import preview

if TYPE_CHECKING:
    from evalmark.models.embeddings import adapters, cached_embedder
else:
    cached_embedder = LazyModule("evalmark.models.embeddings.cached_embedder")
    adapters = LazyModule("evalmark.models.embeddings.adapters")

ARGUMENTS: Mapping[str, Callable[[Case, Output], Any]] = {
    "case": lambda case, output: case,
    "output": lambda case, output: output.value,
    **dict.fromkeys(("input", "question", "query"), lambda case, output: case.input),
    **dict.fromkeys(("expected", "ground_truth", "groundTruth", "reference"), lambda case, output: case.expected),
    **dict.fromkeys(("submission", "answer"), lambda case, output: output.value),
    "contexts": Case.contexts_of,
    "tool_calls": lambda case, output: output.tool_calls,
    "metadata": lambda case, output: case.metadata,
}
"""The parameter names of scorers and their values. With a parameter `case`, `output` is the whole Output.

`async def` scorers may also have the parameters `embedder` and `judge`.
"""
REFERENCE_PARAMETERS = frozenset(("case", "expected", "ground_truth", "groundTruth", "reference"))
"""Parameters that give a scorer access to the reference."""
MODEL_PARAMETERS = ("embedder", "judge")
"""Parameters of `async def` scorers that get the run's models, which are shared and never copied."""

BUILTIN_MODULES = (
    "evalmark.prompts.metrics.",
    "evalmark.scoring.binding.",
    "evalmark.scoring.builtin.",
    "evalmark.scoring.judges.",
)
"""The module prefixes of the built-in scorers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundScorer:
    """A scorer as the engine calls it: one case and one output in, scores out."""

    metric: Metric
    scorer: Callable[..., Any]
    binding: Binding
    embedder: Embedder | None = None
    """The scorer's own embedding model, else the run's; None if there is none yet."""
    needs_embedder: bool = False
    """Whether the run must provide an embedding model."""
    judge: ChatModel | None = None
    """The scorer's own judge, else the run's; None if there is none yet, or the scorer asks none."""
    needs_judge: bool = False
    """Whether the run must provide a judge."""
    renames: bool = False
    """Whether a single score takes the metric's name, whatever name the scorer gave it."""
    fallback_threshold: float | None = None
    """The threshold for scores that would otherwise neither pass nor fail; None: there is none."""
    takes_kwargs: bool = False
    """Whether the scorer has `**kwargs`, and so also gets the input and the row's other fields."""
    decides: bool = True
    """Whether scores may pass or fail; False only records them."""
    may_compare: bool = False
    """Whether it is a user's scorer that may read the reference."""
    may_block: bool = True
    """Whether the call may block: on a model, a thread, or user code."""
    threads: DaemonThreads | None = None
    """Where a user's plain function runs, since it may block; None runs it directly."""

    @property
    def name(self) -> str:
        return self.metric.name

    @property
    def fingerprint(self) -> str:
        """A hash of all that can change a score: settings, threshold, code and judge.

        The run's embedding model has its own fingerprint. The judge counts here, since the scorers of a run may have
        different judges.
        """
        model = None if self.needs_embedder or self.embedder is None else self.embedder.fingerprint
        judge = () if self.judge is None else (getattr(self.judge, "fingerprint", self.judge.identity),)
        metric = self.metric
        limits = () if self.fallback_threshold is None and self.decides else (self.fallback_threshold, self.decides)
        return fingerprint(self.name, metric.direction, metric.threshold, self._described, model, *judge, *limits)

    @property
    def versioned(self) -> Metric:
        """The metric with its version: a hash of the scorer's code, prompt and settings.

        Judge, threshold and the scorer's own thresholds do not change the version: runs store them separately, and a comparison
        applies the newer ones to both sides.
        """
        version = fingerprint(_without(self._stored_settings, self._described))
        return replace(self.metric, version=version, own_thresholds=self._own_thresholds, embeds=self.needs_embedder)

    @property
    def _own_thresholds(self) -> Mapping[str, float]:
        """The thresholds of a built-in that decides by itself; empty for other scorers."""
        names = getattr(self.scorer, "own_thresholds", ()) if _is_builtin(self.scorer) else ()
        return {name: float(getattr(self.scorer, name)) for name in names}

    @property
    def _described(self) -> Any:
        """The scorer's code and settings as data, without comments and docstrings."""
        return describe_object(self.scorer, docstrings=False)

    @property
    def _stored_settings(self) -> tuple[str, ...]:
        """Settings that a run stores separately: judge, threshold, and the thresholds of a built-in."""
        judge = getattr(self.scorer, "judge", None)
        known = (
            ("default_threshold", "judge") if judge is None or isinstance(judge, ChatModel) else ("default_threshold",)
        )
        return (*known, *self._own_thresholds)

    @property
    def is_builtin(self) -> bool:
        """Whether it is a scorer of evalmark, whose model calls are in the call log of the run."""
        return _is_builtin(self.scorer)

    @property
    def is_foreign_async(self) -> bool:
        """Whether it is a user's scorer that runs on the event loop, where blocking work delays all others."""
        return is_async_callable(self.scorer) and not _is_builtin(self.scorer)

    async def __call__(self, case: Case, output: Output) -> tuple[Score, ...]:
        """Score one output. May raise whatever the scorer raises.

        Raises:
            ConfigError: The scorer needs an embedding model or a judge, and the run has none.
        """
        if self.needs_embedder and self.embedder is None:
            raise ConfigError(f"{self.name} needs an embedding model; name one with `embeddings`.")
        if self.needs_judge and self.judge is None and not self.skips(case):
            raise ConfigError(
                f"{self.name} needs a judge; name one with --judge, EVALMARK_JUDGE or `judge:` in the suite."
            )
        arguments = self._arguments(case, output)
        found = await self._called(arguments) if self.may_block else self.scorer(**arguments)
        if inspect.isawaitable(found):
            found = await found
        scores = tuple(self._judged(score) for score in as_scores(found, self.name, self.metric.direction))
        if not self.renames or len(scores) != 1 or scores[0].name == self.name:
            return scores
        return (replace(scores[0], name=self.name),)

    def with_models(self, embedder: Embedder | None, judge: ChatModel | None) -> "BoundScorer":
        """Return the scorer with the models of a run; it keeps an embedder or a judge of its own."""
        own_embedder, judge_model = getattr(self.scorer, "embedder", None), self.judge
        if judge_model is None and "judge" in self.binding.names:
            judge_model = judge
        return replace(
            self,
            metric=replace(self.metric, judge="" if judge_model is None else judge_model.name),
            embedder=embedder if own_embedder is None else _own_embedder(own_embedder),
            judge=judge_model,
            threads=None if self.threads is None else DaemonThreads(),
        )

    def skips(self, case: Case) -> bool:
        """Return whether the scorer skips all outputs of this case."""
        return _is_builtin(self.scorer) and bool(getattr(self.scorer, "skips", _returns_false)(case))

    def lacks(self, case: Case) -> str:
        """Return why the scorer can score no output of this case, as far as it knows beforehand; empty if it can."""
        why = getattr(self.scorer, "lacks", None)
        return str(why(case)) if callable(why) and _is_builtin(self.scorer) else ""

    def lacks_contexts(self, case: Case) -> bool:
        """Return whether the scorer needs contexts and the case has none, so that the target must return them."""
        needs = _is_builtin(self.scorer) and bool(getattr(self.scorer, "needs_contexts", False))
        return needs and all(map(is_blank, case.contexts or ()))

    async def _called(self, arguments: Mapping[str, Any]) -> Any:
        if _is_builtin(self.scorer):
            return self.scorer(**arguments)
        copies = {name: value if name in MODEL_PARAMETERS else copy_value(value) for name, value in arguments.items()}
        if self.threads is None:
            return self.scorer(**copies)
        return await self.threads.run(lambda _: self.scorer(**copies))

    def _arguments(self, case: Case, output: Output) -> dict[str, Any]:
        names = self.binding.names
        arguments = {
            name: getattr(self, name) if name in MODEL_PARAMETERS else ARGUMENTS[name](case, output) for name in names
        }
        if {"case", "output"} <= arguments.keys():
            arguments["output"] = output
        if self.takes_kwargs:
            row = {key: item for key, item in case.metadata.items() if isinstance(key, str) and key not in ARGUMENTS}
            arguments = {"input": case.input, **row, **arguments}
        return arguments

    def _judged(self, score: Score) -> Score:
        """Apply the metric's threshold to a score, if it has one."""
        if not self.decides:
            return replace(score, passed=None)
        threshold = self.metric.threshold
        if threshold is None and score.passed is None and self.fallback_threshold is not None:
            # Unlike the metric's threshold, it applies only to scores that the scorer did not decide.
            threshold = self.fallback_threshold if score.direction == "higher" else 1 - self.fallback_threshold
            score = replace(score, detail={**score.detail, "threshold": threshold})
        if threshold is None or score.status != "scored":
            return score
        if score.value is None:
            reason = (
                f"{preview(score.raw)} is not on a scale from 0 to 1, so the threshold {threshold:g} does not apply"
            )
            return replace(score, status="unscored", passed=None, reason=reason)
        passed = not fails_at_any_threshold(score) and meets_threshold(score.value, threshold, score.direction)
        score = getattr(self.scorer, "without_own_thresholds", _unchanged)(score)
        return score if score.passed is passed else replace(score, passed=passed)


def as_scorer(
    scorer: Callable[..., Any],
    *,
    name: str | None = None,
    threshold: float | None = None,
    embedder: Any = None,
    judge: ChatModel | None = None,
) -> BoundScorer:
    """Bind a function or callable object as a scorer; its parameters are filled by name.

    Args:
        scorer: The function or object.
        name: The name in reports; None uses the scorer's own.
        threshold: Compared with `Score.value` of each case to decide whether it passes, from 0 to 1; None uses the
            scorer's attribute `default_threshold`, if it has one.
        embedder: The run's embedding model, for scorers without one of their own.
        judge: The run's judge, for scorers without one of their own.

    Returns:
        The bound scorer.

    Raises:
        ConfigError: The object is not a scorer, a parameter cannot be filled, or the threshold is invalid.

    >>> import asyncio
    >>> def short(output): return len(output) < 10
    >>> asyncio.run(as_scorer(short)(Case(id="1"), Output(value="Oslo")))[0].passed
    True
    """
    label = name or scorer_name(scorer)
    threshold = _own_threshold(scorer) if threshold is None else threshold
    _check(scorer, label, threshold)
    _check_models(scorer, label)
    binding = bind(scorer, _allowed_parameters(scorer), what=f"scorer {label!r}")
    bound_to, own_judge = getattr(scorer, "embedder", None), _own_judge(scorer)
    judge_model = judge if own_judge is None and "judge" in binding.names else own_judge
    metric = Metric(
        name=label,
        direction=_direction(scorer, label),
        threshold=threshold,
        unit=str(getattr(scorer, "unit", "")),
        judge="" if judge_model is None else judge_model.name,
    )
    return BoundScorer(
        metric=metric,
        scorer=scorer,
        binding=binding,
        embedder=embedder if bound_to is None else _own_embedder(bound_to),
        needs_embedder="embedder" in binding.names and bound_to is None,
        judge=judge_model,
        needs_judge="judge" in binding.names and own_judge is None and not _is_skipped(scorer),
        renames=name is not None,
        takes_kwargs=not _is_builtin(scorer) and _has_kwargs(scorer),
        may_compare=not _is_builtin(scorer)
        and (_has_kwargs(scorer) or not REFERENCE_PARAMETERS.isdisjoint(binding.names)),
        may_block=is_async_callable(scorer) or not _is_builtin(scorer),
        threads=None if _is_builtin(scorer) or is_async_callable(scorer) else DaemonThreads(),
    )


def _own_embedder(embedder: Any) -> Embedder:
    return cached_embedder.CachedEmbedder(adapters.as_embedder(embedder), None)


def _allowed_parameters(scorer: Callable[..., Any]) -> tuple[str, ...]:
    return (*ARGUMENTS, *MODEL_PARAMETERS) if is_async_callable(scorer) else tuple(ARGUMENTS)


def _has_kwargs(scorer: Callable[..., Any]) -> bool:
    """Return whether it has `**kwargs`, as the scorers of autoevals do."""
    return any(p.kind is p.VAR_KEYWORD for p in signature_of(scorer).parameters.values())


def _own_threshold(scorer: Any) -> float | None:
    own = getattr(scorer, "default_threshold", None)
    return own if isinstance(own, (int, float)) and not isinstance(own, bool) else None


def _own_judge(scorer: Any) -> ChatModel | None:
    """Return the chat model that a scorer holds; None for a model name or a method called `judge`."""
    own = getattr(scorer, "judge", None)
    return own if isinstance(own, ChatModel) else None


def _is_builtin(scorer: Any) -> bool:
    """Return whether it is a built-in scorer, which never blocks and never changes its arguments."""
    return str(getattr(scorer, "__module__", "")).startswith(BUILTIN_MODULES)


def _is_skipped(scorer: Any) -> bool:
    """Return whether a built-in scores no output at all."""
    return _is_builtin(scorer) and bool(getattr(scorer, "skipped", ""))


def _check(scorer: Any, label: str, threshold: Any) -> None:
    if inspect.isclass(scorer):
        raise ConfigError(f"scorer {label!r} is a class; pass an instance: {scorer.__name__}().")
    if not callable(scorer):
        raise ConfigError(
            f"{preview(scorer)} is not a scorer; pass a function of `case`, `output`, `expected` and so on."
        )
    number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
    if threshold is not None and not (number and 0 <= threshold <= 1):
        raise ConfigError(f"scorer {label!r}: the threshold {threshold!r} is not a number from 0 to 1.")
    try:
        parameters = signature_of(scorer).parameters.values()
    except (TypeError, ValueError):
        raise ConfigError(
            f"scorer {label!r} does not show its parameters; wrap it: lambda output: {label}(output)."
        ) from None
    if nameless := [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY and p.default is p.empty]:
        raise ConfigError(f"scorer {label!r}: parameter {nameless[0]!r} cannot be filled by name; remove the `/`.")


def _check_models(scorer: Any, label: str) -> None:
    """Raise an error for a plain function with a model parameter: it could not await the model."""
    if is_async_callable(scorer):
        return
    parameters = signature_of(scorer).parameters
    for name in MODEL_PARAMETERS:
        if name in parameters and parameters[name].default is inspect.Parameter.empty:
            raise ConfigError(
                f"scorer {label!r}: a plain function cannot fill parameter {name!r}; make it an `async def`, which may "
                f"await the {name}."
            )


def _direction(scorer: Any, label: str) -> Direction:
    direction: Direction = getattr(scorer, "direction", "higher")
    if direction not in ("higher", "lower"):
        raise ConfigError(f"scorer {label!r}: its direction is {direction!r}, not 'higher' or 'lower'.")
    return direction


def scorer_name(scorer: Any) -> str:
    """Return the scorer's name, else that of its function, else that of its class in snake case."""
    own = getattr(scorer, "name", None)
    if isinstance(own, str) and own:
        return own
    function = getattr(scorer, "func", scorer)  # the function inside functools.partial
    name = getattr(function, "__name__", None)
    if isinstance(name, str) and not inspect.isclass(function):
        return "lambda" if name == "<lambda>" else name
    label = name if isinstance(name, str) else type(function).__name__
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(label))


def _without(names: Collection[str], description: Any) -> Any:
    """Return the description of an object without some of its settings."""
    kind, *rest = description if isinstance(description, list) else ("",)
    if kind != "object" or not isinstance(limits := rest[2], Mapping):
        return description
    return [kind, *rest[:2], {name: item for name, item in limits.items() if name not in names}, *rest[3:]]


def _unchanged(score: Score) -> Score:
    return score


def _returns_false(value: Score | Case) -> bool:
    return False
