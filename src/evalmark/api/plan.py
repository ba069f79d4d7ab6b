"""A plan: everything an evaluation needs, checked before anything is spent."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from evalmark.cases import BadRow, Faults, ReadOptions, read_cases
from evalmark.documents import dataset_name
from evalmark.errors import ConfigError, DataError
from evalmark.models import CachedEmbedder, as_embedder, load_embedder
from evalmark.roles import Embedder, EmbeddingCache, Target
from evalmark.scoring import BoundScorer, as_scorer, resolve
from evalmark.settings import Settings
from evalmark.targets import Given
from evalmark.values import Case, DatasetInfo, Gate, fingerprint

CHECKED_ROWS = 1_000
"""Rows of each dataset that are read and checked before the first trial."""
AS_IT_IS = ReadOptions()


Note = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A dataset whose rows can be read as often as needed."""

    info: DatasetInfo
    read: Callable[[Note], Iterator[Case | BadRow]]
    """Starts from the first row; tells its argument what a reader of the run should know."""


def file_source(path: Path, name: str = "", options: ReadOptions = AS_IT_IS) -> Source:
    """A dataset in a file; it can be read also after a target has changed the working directory."""
    here = Path.cwd()
    info = DatasetInfo(name=name or dataset_name(path), path=str(path))
    return Source(
        info=info,
        read=lambda note: read_cases(path if Path.cwd() == here else here / path, options=options, notes=note),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A scorer as it was asked for: not yet bound to an embedder."""

    scorer: Callable[..., Any]
    name: str | None = None
    threshold: float | None = None

    def bound(self, embedder: Embedder | None) -> BoundScorer:
        """The scorer as the engine wants it."""
        return as_scorer(self.scorer, name=self.name, threshold=self.threshold, embedder=embedder)

    @property
    def needs_embedder(self) -> bool:
        """Whether the run has to bring an embedding model; False where the scorer has a fault, which `check` names."""
        try:
            return self.bound(None).needs_embedder
        except ConfigError:
            return False


Loader = Callable[[str, Settings, tuple[Path, ...]], Embedder | None]
"""Makes an embedder of a model's name, and fetches weights where they are missing."""


def embedder_for(
    asked: Iterable[Asked],
    wanted: str | Callable[..., Any],
    settings: Settings,
    folders: tuple[Path, ...],
    load: Loader = load_embedder,
) -> Embedder | None:
    """The embedding model, loaded only if some scorer asks for one."""
    if not any(a.needs_embedder for a in asked):
        return None
    return load(wanted, settings, folders) if isinstance(wanted, str) else as_embedder(wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be run; made from a suite, a command line or the arguments of `evaluate`."""

    name: str
    sources: tuple[Source, ...]
    asked: tuple[Asked, ...]
    target: Target = field(default_factory=Given)
    embedder: Embedder | None = None
    """Used by the scorers that ask for one; None only where none of them does."""
    repeat: int = 1
    timeout: float | None = None
    """Seconds a trial may take; None: what the settings say."""
    gate: Gate | None = None
    suite: str = ""
    notes: tuple[str, ...] = ()

    def scorers(self, cache: EmbeddingCache | None = None) -> tuple[tuple[BoundScorer, ...], CachedEmbedder | None]:
        """The bound scorers, and the embedder they share, which keeps its vectors in `cache`."""
        shared = None if self.embedder is None else CachedEmbedder(self.embedder, cache)
        return tuple(asked.bound(shared) for asked in self.asked), shared

    @property
    def fingerprint(self) -> str:
        """Changes when the same case would be answered or scored differently."""
        bound, _ = self.scorers()
        embedder = self.embedder.fingerprint if self.embedder is not None else ""
        target = getattr(self.target, "fingerprint", self.target.name)
        return fingerprint(target, [scorer.fingerprint for scorer in bound], embedder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What the check before a run found out."""

    rows: Mapping[str, int] = field(default_factory=dict)
    """Per dataset, how many rows it has; only for those that were read to their end."""
    faults: tuple[str, ...] = ()


def ask(wanted: str | Mapping[str, Any] | Callable[..., Any], place: str, folders: tuple[Path, ...] = ()) -> Asked:
    """A scorer from a name, from `{name: settings}` or from any callable.

    Among the settings, `threshold` is the least `Score.value` that passes (the most, where lower is
    better) and `name` is what reports call it.

    Raises:
        ConfigError: there is no such scorer, or a setting is unknown or of the wrong kind.
    """
    if callable(wanted):
        return Asked(scorer=wanted)
    name, given = (wanted, {}) if isinstance(wanted, str) else _only_item(wanted, place)
    settings = dict(given or {})
    threshold, called = settings.pop("threshold", None), settings.pop("name", None)
    return Asked(scorer=resolve(name, settings, place, folders), name=called or _short(name), threshold=threshold)


def _short(name: str) -> str | None:
    """Built-ins go by the name they were asked for; objects by their own."""
    return None if ":" in name else name


def _only_item(wanted: Mapping[str, Any], place: str) -> tuple[str, Any]:
    if not isinstance(wanted, Mapping) or len(wanted) != 1:
        raise ConfigError(f"{place}: a scorer is a name, a callable or {{name: settings}}; found {wanted!r}.")
    return next(iter(wanted.items()))


def check(plan: Plan, most: int | None = CHECKED_ROWS) -> Checked:
    """Bind every scorer and read the first rows of every dataset (`most`; None: all); spend nothing."""
    faults: list[str] = []
    rows: dict[str, int] = {}
    faults += _scorer_faults(plan)
    if plan.repeat < 1:
        faults.append(f"repeat must be at least 1, found {plan.repeat}.")
    for source in plan.sources:
        found, count = _row_faults(source, isinstance(plan.target, Given), most)
        faults += found
        if most is None or count < most:
            rows[source.info.name] = count
    return Checked(rows=rows, faults=tuple(faults))


def _scorer_faults(plan: Plan) -> list[str]:
    faults: list[str] = []
    names: list[str] = []
    for asked in plan.asked:
        try:
            names.append(asked.bound(plan.embedder).name)
        except ConfigError as fault:
            faults.append(str(fault))
    if not plan.asked:
        faults.append("no scorer is named, so nothing would be judged; name at least one under `metrics`.")
    twice = sorted({name for name in names if names.count(name) > 1})
    faults += [f"two scorers are called {name!r}; give one of them another `name`." for name in twice]
    known = set(names)
    unknown = [name for name in (plan.gate.thresholds if plan.gate else {}) if name not in known]
    faults += [f"the gate has a threshold for {n!r}, but the metrics are {', '.join(sorted(known))}." for n in unknown]
    return faults


def _row_faults(source: Source, needs_answer: bool, most: int | None) -> tuple[list[str], int]:
    faults = Faults(source.info.name)
    count = 0
    try:
        for row in islice(source.read(_unheard), most):
            count += 1
            if isinstance(row, BadRow):
                faults.add(str(row))
            elif needs_answer and row.given is None:
                faults.add(
                    f"{row.place or row.id}: the row brings no answer, and no target is named that would give one. "
                    'Fill in its `answer` (in JSON, "" is an empty one), or name a target.'
                )
    except DataError as fault:
        faults.add(str(fault))
    return faults.told(), count


def refuse(faults: Iterable[str]) -> None:
    """Raise one error for all faults, if there are any.

    Raises:
        ConfigError: there was at least one.
    """
    if found := list(faults):
        raise ConfigError.of(found)


def _unheard(note: str) -> None:
    """Notes are heard once, when the run reads the rows."""
