"""A scorer of any kind, bound to its name, its threshold and the models of the run."""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evalmark.core.errors import ConfigError
from evalmark.core.foreign.binding import Binding, bind
from evalmark.core.foreign.copying import copy_value
from evalmark.core.foreign.identity import describe_object
from evalmark.core.foreign.threads import DaemonThreads
from evalmark.core.lazy import LazyModule
from evalmark.core.protocols import ChatModel, Embedder
from evalmark.core.values.case import Case, Output, is_blank
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Direction, Score

from .score_conversion import as_scores
from .scores import meets_threshold
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
"""What a scorer's parameters can be called, and what they get; beside `case`, `output` is the whole Output.

`async def` scorers may also ask for `embedder` and `judge`."""
REFERENCE_PARAMETERS = frozenset(("case", "expected", "ground_truth", "groundTruth", "reference"))
"""Parameters that show a scorer the reference answer."""
MODEL_PARAMETERS = ("embedder", "judge")
"""The models of the run that `async def` scorers may ask for; shared by all of them, and never copied."""

BUILTIN_MODULES = ("evalmark.scoring.", "evalmark.prompts.metrics.")
"""Where the built-in scorers stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundScorer:
    """A scorer as the engine asks it: one case and one output in, scores out."""

    metric: Metric
    scorer: Callable[..., Any]
    binding: Binding
    embedder: Embedder | None = None
    """The scorer's own, else the run's; None where there is none yet."""
    needs_embedder: bool = False
    """Whether the run has to bring an embedding model."""
    judge: ChatModel | None = None
    """The chat model that judges: the scorer's own, else the run's; None where there is none yet, or none is asked."""
    needs_judge: bool = False
    """Whether the run has to bring a chat model that judges."""
    renames: bool = False
    """Whether a single score goes by the metric's name, whatever the scorer called it."""
    otherwise: float | None = None
    """The threshold for scores that neither the scorer nor the metric's threshold lets pass or fail; None: they cannot."""
    takes_more: bool = False
    """Whether it takes arguments by any name, and so gets the input and whatever else its row brings along."""
    decides: bool = True
    """Whether scores may pass or fail at all; False: they are only recorded."""
    may_compare: bool = False
    """Whether it is somebody else's and may look at the reference answer."""
    waits: bool = True
    """Whether it may wait for something: a model, a thread, or whatever somebody else's code waits for."""
    threads: DaemonThreads | None = None
    """Where somebody else's plain function runs, which may wait for a model or never come back; None: right here."""

    @property
    def name(self) -> str:
        """What reports call it."""
        return self.metric.name

    @property
    def fingerprint(self) -> str:
        """Changes whenever the scorer might judge otherwise: with its settings, its threshold or its code.

        The run's embedding model has a fingerprint of its own; the model that judges counts here, since
        several scorers of a run may each have another.
        """
        model = None if self.needs_embedder or self.embedder is None else self.embedder.fingerprint
        judge = () if self.judge is None else (getattr(self.judge, "fingerprint", self.judge.identity),)
        metric = self.metric
        held = () if self.otherwise is None and self.decides else (self.otherwise, self.decides)
        return fingerprint(self.name, metric.direction, metric.threshold, self._described, model, *judge, *held)

    @property
    def versioned(self) -> Metric:
        """The metric with its version: that of the scorer's code, prompt and settings.

        It stays the same whoever judges, whatever the threshold is and wherever the scorer's own bars lie: runs hold these
        by themselves, and a comparison judges both sides by the newer ones.
        """
        version = fingerprint(_without(self._besides, self._described))
        return replace(self.metric, version=version, bars=self._bars, embeds=self.needs_embedder)

    @property
    def _bars(self) -> Mapping[str, float]:
        """The bars of a built-in that decides for itself; any other scorer has none that could be told apart."""
        names = getattr(self.scorer, "bars", ()) if _is_builtin(self.scorer) else ()
        return {name: float(getattr(self.scorer, name)) for name in names}

    @property
    def _described(self) -> Any:
        """The scorer's code and settings as data; its comments and docstrings judge nothing."""
        return describe_object(self.scorer, docstrings=False)

    @property
    def _besides(self) -> tuple[str, ...]:
        """Settings of the scorer that a run holds elsewhere: its judge, its threshold, and the bars of a built-in."""
        judge = getattr(self.scorer, "judge", None)
        known = (
            ("default_threshold", "judge") if judge is None or isinstance(judge, ChatModel) else ("default_threshold",)
        )
        return (*known, *self._bars)

    @property
    def is_foreign_async(self) -> bool:
        """Whether the scorer is the user's own and runs on the event loop, where blocking work keeps all others waiting."""
        return _is_async(self.scorer) and not _is_builtin(self.scorer)

    async def __call__(self, case: Case, output: Output) -> tuple[Score, ...]:
        """What the scorer says of one output. May raise whatever the scorer raises.

        Raises:
            ConfigError: the scorer needs an embedding model or a judge, and the run has none.
        """
        if self.needs_embedder and self.embedder is None:
            raise ConfigError(f"{self.name} needs an embedding model; name one with `embeddings`.")
        if self.needs_judge and self.judge is None and not self.skips(case):
            raise ConfigError(
                f"{self.name} needs a judge; name one with --judge, EVALMARK_JUDGE or `judge:` in the suite."
            )
        arguments = self._arguments(case, output)
        found = await self._called(arguments) if self.waits else self.scorer(**arguments)
        if inspect.isawaitable(found):
            found = await found
        scores = tuple(self._judged(score) for score in as_scores(found, self.name, self.metric.direction))
        if not self.renames or len(scores) != 1 or scores[0].name == self.name:
            return scores
        return (replace(scores[0], name=self.name),)

    def with_models(self, embedder: Embedder | None, judge: ChatModel | None) -> "BoundScorer":
        """Return the scorer with the models of a run; it keeps an embedder or a judge of its own."""
        own_embedder, judging = getattr(self.scorer, "embedder", None), self.judge
        if judging is None and "judge" in self.binding.names:
            judging = judge
        return replace(
            self,
            metric=replace(self.metric, judge="" if judging is None else judging.name),
            embedder=embedder if own_embedder is None else _own_embedder(own_embedder),
            judge=judging,
            threads=None if self.threads is None else DaemonThreads(),
        )

    def skips(self, case: Case) -> bool:
        """Whether the scorer says beforehand that no output of this case is judged, so that nobody has to judge it."""
        return _is_builtin(self.scorer) and bool(getattr(self.scorer, "skips", _returns_false)(case))

    def lacks(self, case: Case) -> str:
        """Why the scorer could judge no output of this case, as far as it can say that beforehand; empty where it can."""
        why = getattr(self.scorer, "lacks", None)
        return str(why(case)) if callable(why) and _is_builtin(self.scorer) else ""

    def lacks_contexts(self, case: Case) -> bool:
        """Whether the scorer judges by contexts and the case brings none, so that the target has to."""
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
        given = {
            name: getattr(self, name) if name in MODEL_PARAMETERS else ARGUMENTS[name](case, output) for name in names
        }
        if {"case", "output"} <= given.keys():
            given["output"] = output
        if self.takes_more:
            row = {key: item for key, item in case.metadata.items() if isinstance(key, str) and key not in ARGUMENTS}
            given = {"input": case.input, **row, **given}
        return given

    def _judged(self, score: Score) -> Score:
        """The score held against this metric's threshold, if it has one."""
        if not self.decides:
            return replace(score, passed=None)
        threshold = self.metric.threshold
        if threshold is None and score.passed is None and self.otherwise is not None:
            # Sounder than the metric's: only scores whose scorer has not decided are held to it.
            threshold = self.otherwise if score.direction == "higher" else 1 - self.otherwise
            score = replace(score, detail={**score.detail, "threshold": threshold})
        if threshold is None or score.status != "scored":
            return score
        if score.value is None:
            reason = f"{preview(score.raw)} is not on a scale from 0 to 1, so the threshold {threshold:g} says nothing"
            return replace(score, status="unscored", passed=None, reason=reason)
        barred = bool(getattr(self.scorer, "cannot_pass", _returns_false)(score))
        passed = not barred and meets_threshold(score.value, threshold, score.direction)
        score = getattr(self.scorer, "without_own_bar", _unchanged)(score)
        return score if score.passed is passed else replace(score, passed=passed)


def as_scorer(
    scorer: Callable[..., Any],
    *,
    name: str | None = None,
    threshold: float | None = None,
    embedder: Any = None,
    judge: ChatModel | None = None,
) -> BoundScorer:
    """Make a scorer of a function or a callable object; its parameters are filled by their names.

    `threshold` is held against `Score.value` of every case and decides whether it passes; without one
    the scorer's attribute `default_threshold` does, if it has one. A scorer with an `embedder` or a
    `judge` of its own keeps it; any other that asks for one gets the run's.

    >>> import asyncio
    >>> def short(output): return len(output) < 10
    >>> asyncio.run(as_scorer(short)(Case(id="1"), Output(value="Oslo")))[0].passed
    True

    Raises:
        ConfigError: it is no scorer, a parameter cannot be filled, or the threshold is none.
    """
    called = name or scorer_name(scorer)
    threshold = _own_threshold(scorer) if threshold is None else threshold
    _check(scorer, called, threshold)
    _check_models(scorer, called)
    binding = bind(scorer, _allowed_parameters(scorer), what=f"scorer {called!r}")
    bound_to, own_judge = getattr(scorer, "embedder", None), _own_judge(scorer)
    judging = judge if own_judge is None and "judge" in binding.names else own_judge
    metric = Metric(
        name=called,
        direction=_direction(scorer, called),
        threshold=threshold,
        unit=str(getattr(scorer, "unit", "")),
        judge="" if judging is None else judging.name,
    )
    return BoundScorer(
        metric=metric,
        scorer=scorer,
        binding=binding,
        embedder=embedder if bound_to is None else _own_embedder(bound_to),
        needs_embedder="embedder" in binding.names and bound_to is None,
        judge=judging,
        needs_judge="judge" in binding.names and own_judge is None and not _is_skipped(scorer),
        renames=name is not None,
        takes_more=not _is_builtin(scorer) and _has_kwargs(scorer),
        may_compare=not _is_builtin(scorer)
        and (_has_kwargs(scorer) or not REFERENCE_PARAMETERS.isdisjoint(binding.names)),
        waits=_is_async(scorer) or not _is_builtin(scorer),
        threads=None if _is_builtin(scorer) or _is_async(scorer) else DaemonThreads(),
    )


def _own_embedder(given: Any) -> Embedder:
    return cached_embedder.CachedEmbedder(adapters.as_embedder(given), None)


def _allowed_parameters(scorer: Callable[..., Any]) -> tuple[str, ...]:
    return (*ARGUMENTS, *MODEL_PARAMETERS) if _is_async(scorer) else tuple(ARGUMENTS)


def _has_kwargs(scorer: Callable[..., Any]) -> bool:
    """Whether it has `**kwargs`, as the scorers of autoevals have."""
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(scorer).parameters.values())


def _own_threshold(scorer: Any) -> float | None:
    """The threshold that a scorer brings along."""
    own = getattr(scorer, "default_threshold", None)
    return own if isinstance(own, (int, float)) and not isinstance(own, bool) else None


def _own_judge(scorer: Any) -> ChatModel | None:
    """The chat model that a scorer holds; a name of one, or a method called `judge`, is none."""
    own = getattr(scorer, "judge", None)
    return own if isinstance(own, ChatModel) else None


def _is_async(scorer: Any) -> bool:
    return inspect.iscoroutinefunction(scorer) or inspect.iscoroutinefunction(type(scorer).__call__)


def _is_builtin(scorer: Any) -> bool:
    """Whether it is a built-in, which never blocks and does not change what it is given."""
    return str(getattr(scorer, "__module__", "")).startswith(BUILTIN_MODULES)


def _is_skipped(scorer: Any) -> bool:
    """Whether a built-in says that it judges no output at all, such as a metric that was only found."""
    return _is_builtin(scorer) and bool(getattr(scorer, "skipped", ""))


def _check(scorer: Any, called: str, threshold: Any) -> None:
    if inspect.isclass(scorer):
        raise ConfigError(f"scorer {called!r} is a class; pass an object of it: {scorer.__name__}().")
    if not callable(scorer):
        raise ConfigError(f"{preview(scorer)} is no scorer; pass a function of `case`, `output`, `expected` and so on.")
    number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
    if threshold is not None and not (number and 0 <= threshold <= 1):
        raise ConfigError(f"scorer {called!r}: the threshold {threshold!r} is no number from 0 to 1.")
    try:
        parameters = inspect.signature(scorer).parameters.values()
    except (TypeError, ValueError):
        raise ConfigError(
            f"scorer {called!r} does not show its parameters; wrap it: lambda output: {called}(output)."
        ) from None
    if nameless := [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY and p.default is p.empty]:
        raise ConfigError(f"scorer {called!r}: parameter {nameless[0]!r} cannot be filled by name; remove the `/`.")


def _check_models(scorer: Any, called: str) -> None:
    """A plain function could not wait for the answer of a model."""
    if _is_async(scorer):
        return
    parameters = inspect.signature(scorer).parameters
    for name in MODEL_PARAMETERS:
        if name in parameters and parameters[name].default is inspect.Parameter.empty:
            raise ConfigError(
                f"scorer {called!r}: a plain function cannot fill parameter {name!r}; make it an `async def`, which may "
                f"await the {name}."
            )


def _direction(scorer: Any, called: str) -> Direction:
    direction: Direction = getattr(scorer, "direction", "higher")
    if direction not in ("higher", "lower"):
        raise ConfigError(f"scorer {called!r}: its direction is {direction!r}, not 'higher' or 'lower'.")
    return direction


def scorer_name(scorer: Any) -> str:
    """Its own name, or that of its function, or that of its class in lower case."""
    own = getattr(scorer, "name", None)
    if isinstance(own, str) and own:
        return own
    function = getattr(scorer, "func", scorer)  # what a partial holds
    name = getattr(function, "__name__", None)
    if isinstance(name, str) and not inspect.isclass(function):
        return "lambda" if name == "<lambda>" else name
    called = name if isinstance(name, str) else type(function).__name__
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(called))


def _without(names: Collection[str], description: Any) -> Any:
    """What `described` says of an object, without some of its settings."""
    kind, *rest = description if isinstance(description, list) else ("",)
    if kind != "object" or not isinstance(held := rest[2], Mapping):
        return description
    return [kind, *rest[:2], {name: item for name, item in held.items() if name not in names}, *rest[3:]]


def _unchanged(score: Score) -> Score:
    return score


def _returns_false(asked: Score | Case) -> bool:
    return False
