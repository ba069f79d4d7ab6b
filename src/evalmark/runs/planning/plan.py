"""`Plan`: everything an evaluation needs; it is checked before anything is spent."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from evalmark.core.errors import ConfigError, DataError
from evalmark.core.lazy import LazyModule
from evalmark.core.protocols import ChatModel, Embedder, EmbeddingCache, Target
from evalmark.core.settings import Settings
from evalmark.core.values.case import Case
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.run import DatasetInfo, Gate, Run
from evalmark.core.values.score import Mode
from evalmark.core.values.session import SESSION_FIELD
from evalmark.inputs.datasets.options import BadRow, ReadOptions
from evalmark.inputs.datasets.reader import read_cases
from evalmark.inputs.documents.files import dataset_name
from evalmark.inputs.suites.suite import SESSIONS_PREFIX
from evalmark.runs.targets.given_target import GivenTarget
from evalmark.scoring.binding.bound_scorer import BoundScorer, as_scorer
from evalmark.scoring.binding.registry import resolve_scorer

from .first_rows import FirstRows, NoteHandler, RowSource
from .models import ModelFactory

if TYPE_CHECKING:
    from evalmark.models.embeddings import adapters, cached_embedder, load
    from evalmark.models.embeddings.cached_embedder import CachedEmbedder
    from evalmark.stats.calibration.lock_file import LockedThreshold
else:
    cached_embedder = LazyModule("evalmark.models.embeddings.cached_embedder")
    adapters = LazyModule("evalmark.models.embeddings.adapters")
    load = LazyModule("evalmark.models.embeddings.load")


DEFAULT_READ_OPTIONS: ReadOptions = ReadOptions()


_LARGEST_KEPT = 16 << 20
"""Bytes of a file whose first rows are kept in memory for the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSource:
    """A dataset whose rows can be read as often as needed."""

    info: DatasetInfo
    read: RowSource
    read_references: RowSource | None = None
    """Reads a column `answer` as the reference answer of rows that have no other; None: rows have no such column."""

    def clustered_by(self, field: str) -> "DatasetSource":
        """Return the dataset with a field by which its cases depend on each other."""
        return replace(self, info=replace(self.info, cluster=field)) if field else self


def file_source(path: Path, name: str = "", options: ReadOptions = DEFAULT_READ_OPTIONS) -> DatasetSource:
    """Return the dataset in a file; it is found even after a target has changed the working directory."""
    here = Path.cwd()
    info = DatasetInfo(name=name or dataset_name(path), path=str(path))

    def read(note: NoteHandler, answer_is_reference: bool = False) -> Iterator[Case | BadRow]:
        location = path if Path.cwd() == here else here / path
        return read_cases(location, options=options, notes=note, answer_is_reference=answer_is_reference)

    first = FirstRows(read) if _size(path) <= _LARGEST_KEPT else read
    return DatasetSource(info=info, read=first, read_references=partial(read, answer_is_reference=True))


def _size(path: Path) -> int:
    """Return the size of a file in bytes; 0 if it cannot be found, which its reader reports."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


OpenRecorded = Callable[[str, Settings, NoteHandler], Iterator[Case]]
"""The labelled answers of a project as cases; notes say what was left out. Raises DataError where there are none."""


def nothing_recorded(project: str, settings: Settings, note: NoteHandler) -> Iterator[Case]:
    """Raise DataError, where recorded sessions cannot be read."""
    raise DataError(
        f"{SESSIONS_PREFIX}{project}: recorded sessions cannot be read here; export them to a file with evalmark export."
    )


def recorded_source(project: str, settings: Settings, opened: OpenRecorded, name: str = "") -> DatasetSource:
    """Return the labelled outputs of a project, in the store of the settings, as a dataset."""

    def read(note: NoteHandler) -> Iterator[Case | BadRow]:
        yield from opened(project, settings, note)

    info = DatasetInfo(name=name or project, path=f"{SESSIONS_PREFIX}{project}", cluster=SESSION_FIELD)
    return DatasetSource(info=info, read=read)


ModelWrapper = Callable[[ChatModel], ChatModel]
"""Wraps a model in the middleware of a run: call log, limits, budget."""


def unwrapped(model: ChatModel) -> ChatModel:
    """Return the model without middleware; it is not called before the run."""
    return model


class BindingCache:
    """Binds a scorer once for each name and threshold, however often a plan is checked, described or run."""

    def __init__(self) -> None:
        self._bound: dict[tuple[int, str, str], BoundScorer] = {}

    def bind(self, scorer: Callable[..., Any], name: str | None, threshold: float | None) -> BoundScorer:
        """Return the bound scorer, without models.

        Raises:
            ConfigError: it is not a scorer, a parameter cannot be filled, or the threshold is not a number from 0 to 1.
        """
        key = (id(scorer), repr(name), repr(threshold))  # the bound scorer holds the scorer, so its id stays its own
        if key not in self._bound:
            self._bound[key] = as_scorer(scorer, name=name, threshold=threshold)
        return self._bound[key]

    def __reduce__(self) -> tuple[type["BindingCache"], tuple[()]]:
        """Pickle the cache without its entries: a worker binds its own scorers."""
        return BindingCache, ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerSpec:
    """A scorer as it was named, not yet bound to an embedder or a judge."""

    scorer: Callable[..., Any]
    name: str | None = None
    threshold: float | None = None
    judge: ChatModel | None = None
    """The judge; None for scorers without one."""
    base: str = ""
    """The name of the metric without its judge, if several judges share the metric; else empty."""
    file: Path | None = None
    """The metric file that it was read from."""
    fallback_threshold: float | None = None
    """The threshold for scores that have none and that the scorer itself does not decide; None: those never pass or fail."""
    decides: bool = True
    """Whether its scores may pass or fail at all."""

    bindings: "BindingCache" = field(default_factory=lambda: BindingCache(), compare=False, repr=False)
    """The scorer bound to its name and threshold; shared by copies of the spec."""

    def bound(self, embedder: Embedder | None, through: ModelWrapper = unwrapped) -> BoundScorer:
        """Bind the scorer to the models of a run."""
        judge = None if self.judge is None else through(self.judge)
        scorer = self.bindings.bind(self.scorer, self.name, self.threshold).with_models(embedder, judge)
        return replace(
            scorer,
            metric=replace(scorer.metric, base=self.base, mode=self.mode),
            fallback_threshold=self.fallback_threshold,
            decides=self.decides,
        )

    @property
    def mode(self) -> Mode:
        """`single` if it scores each row separately, `conversation` if it scores rows as the turns of one conversation."""
        return "conversation" if getattr(self.scorer, "needs_history", False) else "single"

    @property
    def needs_embedder(self) -> bool:
        """Whether the run needs an embedding model; False for a scorer that cannot be bound, which `check` reports."""
        try:
            return self.bound(None).needs_embedder
        except ConfigError:
            return False

    @property
    def needs_judge(self) -> bool:
        """Whether the run needs a judge; False for a scorer that cannot be bound, which `check` reports."""
        try:
            return self.bound(None).needs_judge
        except ConfigError:
            return False


Loader = Callable[[str, Settings, tuple[Path, ...]], Embedder | None]
"""Makes the embedder for the name of a model, and downloads its weights if they are missing."""


def load_embedder(name: str, settings: Settings, folders: tuple[Path, ...]) -> Embedder | None:
    """Load the embedding model with this name; the modules for it are imported only then."""
    return load.load_embedder(name, settings, folders)


def embedder_for(
    specs: Iterable[ScorerSpec],
    model: str | Callable[..., Any],
    models: ModelFactory,
    folders: tuple[Path, ...],
    load: Loader = load_embedder,
) -> Embedder | None:
    """Return the embedding model, loaded only if a scorer needs one; the run closes what `models` opens."""
    if not any(a.needs_embedder for a in specs):
        return None
    if not isinstance(model, str):
        return adapters.as_embedder(model)
    return models.embedder(model) or load(model, models.settings, folders)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundPlan:
    """The targets and scorers of a plan, bound to the models of a run."""

    targets: Mapping[str, Target]
    """The targets by name."""
    single: tuple[BoundScorer, ...]
    """Scorers of single rows."""
    turns: tuple[BoundScorer, ...]
    """Scorers of the turns of conversations."""
    embedder: "CachedEmbedder | None"

    @property
    def target(self) -> Target:
        """The first of the targets; of most plans, the only one."""
        return next(iter(self.targets.values()))

    @property
    def scorers(self) -> tuple[BoundScorer, ...]:
        """The scorers of single rows, then those of turns."""
        return (*self.single, *self.turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The parts of an evaluation, made from a suite, a command line or the arguments of `evaluate`."""

    name: str
    sources: tuple[DatasetSource, ...]
    scorers: tuple[ScorerSpec, ...]
    targets: tuple[Target, ...] = field(default_factory=lambda: (GivenTarget(),))
    """The systems under test; every row runs on each of them."""
    embedder: Embedder | None = None
    """Used by the scorers that need one; None only if none of them does."""
    repeat: int = 1
    timeout: float | None = None
    """Time limit in seconds for each target call and each scorer call; None: the setting `timeout`."""
    gate: Gate | None = None
    baseline: str | None = None
    """The run to compare with, as the suite names it: an id, or `last-green`."""
    suite: str = ""
    notes: tuple[str, ...] = ()
    models: ModelFactory | None = None
    """Opens the chat models of the target and the scorers; None where they were given as objects."""
    until_decided: bool = False
    """Whether the run stops as soon as its gate is decided either way."""
    seed: int | None = None
    """Seed of the random order of cases if the run stops early; None: a random seed."""
    rescored: Run | None = None
    """The run whose outputs are scored again; None: the target is called."""
    locked: "tuple[LockedThreshold, ...]" = ()
    """The learned thresholds that this run applies."""
    lock: str = ""
    """The lock file of these thresholds, as the user wrote its path."""
    imported: tuple[str, ...] = ()
    """The Python modules that were imported for it, since the suite or the command line names them."""

    def bound(self, cache: EmbeddingCache | None = None, through: ModelWrapper = unwrapped) -> BoundPlan:
        """Bind the targets and scorers; their vectors are kept in `cache`."""
        shared = None if self.embedder is None else cached_embedder.CachedEmbedder(self.embedder, cache)
        scorers: dict[Mode, list[BoundScorer]] = {"single": [], "conversation": []}
        for spec in self.scorers:
            scorers[spec.mode].append(spec.bound(shared, through))
        return BoundPlan(
            targets={target.name: _through(target, through) for target in self.targets},
            single=tuple(scorers["single"]),
            turns=tuple(scorers["conversation"]),
            embedder=shared,
        )

    @property
    def is_answered(self) -> bool:
        """Whether the rows have outputs, so that no target is called."""
        return any(isinstance(target, GivenTarget) for target in self.targets)

    @property
    def asks_models(self) -> bool:
        """Whether all targets are chat models, which are called through the run and whose replies are cached."""
        models = [model_of(target) for target in self.targets]
        return self.rescored is None and all(
            model is not None and getattr(model, "is_cached", True) for model in models
        )

    @property
    def target_name(self) -> str:
        """The names of the targets, for reports."""
        return ", ".join(target.name for target in self.targets)

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes in which rows are run: separately, as turns of a conversation, or both; without scorers, separately."""
        modes = {spec.mode for spec in self.scorers} or {"single"}
        return tuple(mode for mode in get_args(Mode) if mode in modes)

    @property
    def chat_models(self) -> tuple[ChatModel, ...]:
        """Every chat model that may be called, each once."""
        targets = self.targets if self.rescored is None else ()
        under_test = (model for target in targets if (model := model_of(target)) is not None)
        models = (*under_test, *(spec.judge for spec in self.scorers if spec.judge is not None))
        return tuple({(model.identity, model.name): model for model in models}.values())

    @property
    def fingerprint(self) -> str:
        """A hash of everything that determines outputs and scores: targets, scorers, embedding model."""
        bound = self.bound()
        embedder = self.embedder.fingerprint if self.embedder is not None else ""
        targets = [getattr(target, "fingerprint", target.name) for target in self.targets]
        rescored_ids = () if self.rescored is None else (self.rescored.id,)
        return fingerprint(*targets, [scorer.fingerprint for scorer in bound.scorers], embedder, *rescored_ids)


def _through(target: Target, through: ModelWrapper) -> Target:
    """Return a target that calls a model with the run's middleware around it; any other target unchanged."""
    model = model_of(target)
    return target if model is None else cast(Target, replace(cast(Any, target), model=through(model)))


def model_of(target: Target) -> ChatModel | None:
    """Return the chat model whose reply is the target's output; None for all other targets."""
    model = getattr(target, "model", None)
    return model if isinstance(model, ChatModel) else None


def scorer_spec(
    spec: str | Mapping[str, Any] | Callable[..., Any], place: str, folders: tuple[Path, ...] = ()
) -> ScorerSpec:
    """Return a scorer from a name, from `{name: settings}` or from any callable.

    Among the settings, `threshold` is the least `Score.value` that passes (the most, where lower is
    better) and `name` is what reports call it.

    Raises:
        ConfigError: there is no such scorer, or a setting is unknown or of the wrong kind.
    """
    if callable(spec):
        return ScorerSpec(scorer=spec)
    name, options = (spec, {}) if isinstance(spec, str) else _only_item(spec, place)
    settings = dict(options or {})
    threshold, label = settings.pop("threshold", None), settings.pop("name", None)
    return ScorerSpec(
        scorer=resolve_scorer(name, settings, place, folders), name=label or _short(name), threshold=threshold
    )


def _short(name: str) -> str | None:
    """Return the name of a built-in scorer; None for an object, which has its own."""
    return None if ":" in name else name


def _only_item(spec: Mapping[str, Any], place: str) -> tuple[str, Any]:
    if not isinstance(spec, Mapping) or len(spec) != 1:
        raise ConfigError(f"{place}: a scorer is a name, a callable or {{name: settings}}; found {spec!r}.")
    return next(iter(spec.items()))
