"""Everything one evaluation found, and the rule that judges it."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from .score import Direction, Mode, Result
from .spending import Spending

RunStatus = Literal["running", "complete", "interrupted", "stopped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The rule that turns a run into pass, fail or cannot tell.

    Without any rule set, a run passes when every score that can pass does.
    """

    min_pass_rate: float | None = None
    """Share of trials (0 to 1) whose every score passes; None: every one of them must."""
    max_unscored: int = 0
    max_errors: int = 0
    min_score: float | None = None
    """From 0 to 1, the mean that every metric has to reach where higher is better; None: none has to."""
    thresholds: Mapping[str, float] = field(default_factory=dict)
    """Per metric, the mean it has to reach: at least this, or at most this where lower is better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """What a report must know of a scorer to print its numbers the right way round."""

    name: str
    direction: Direction = "higher"
    threshold: float | None = None
    """Per case, on `Score.value`; None when the scorer decides for itself or cannot pass."""
    unit: str = ""
    """Of the raw value, e.g. `cosine`, `edits`, `1..5`; empty when raw and value are the same."""
    judge: str = ""
    """The model that judges; empty for metrics that ask none."""
    mode: Mode = "single"
    """`conversation`: the rows of a dataset are judged as the turns of one."""
    base: str = ""
    """What the metric is called without its judge, where several judges share one; else empty."""
    dataset: str = ""
    """The only dataset that is held to it, where another one has a metric of this name too; else empty."""
    version: str = ""
    """Fingerprint of the scorer: its code or its prompt, and its settings; empty where nobody made one."""
    bars: Mapping[str, float] = field(default_factory=dict, hash=False)
    """By what a scorer with limits of its own decides where there is no threshold, such as `positive` and `negative`."""
    embeds: bool = False
    """Whether it asks the embedding model of the run."""


def metrics_for(metrics: Iterable[Metric], dataset: str) -> dict[str, Metric]:
    """The metrics that a dataset is held to, by name, in their order: its own before those of all datasets.

    >>> strict = Metric(name="exact", threshold=1.0, dataset="capitals")
    >>> [metrics_for([Metric(name="exact"), strict], name)["exact"].threshold for name in ("capitals", "rivers")]
    [1.0, None]
    """
    held = [metric for metric in metrics if metric.dataset in ("", dataset)]
    own = {metric.name: metric for metric in held if metric.dataset}
    return {metric.name: own.get(metric.name, metric) for metric in held}


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetInfo:
    """A dataset as a run met it."""

    name: str
    path: str = ""
    """As the user wrote it; empty for cases handed over in Python."""
    rows: int | None = None
    """How many rows were read; of a run that goes on, how many will be, where a look at it has met them all; else None."""
    plan: str = ""
    """Fingerprint of what was asked of this dataset, where each has its own target and scorers; else empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UntilDecided:
    """That a run stops as soon as its gate is decided for all cases, and how that went."""

    seed: int
    """Of the random order in which cases are asked, and in which their results count."""
    level: float
    """How sure it has to be, from 0 to 1, with a look after every case."""
    cases: int | None = None
    """How many cases count in the whole run; None until its datasets were read."""
    after: int | None = None
    """After how many of them it was decided; None where it was not, before all were asked."""
    outcome: Literal["pass", "fail"] | None = None
    """What was decided; None where all cases were asked, or the run broke off."""
    reason: str = ""
    """What of the whole run is known, in one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Which share of the cases a run asks, where several runs side by side make one evaluation."""

    number: int
    """Counted from 1."""
    of: int
    """How many shards there are."""
    limit: int | None = None
    """Of each dataset, so many cases were dealt out; None: all."""
    only: tuple[str, ...] = ()
    """The conditions on the cases that were dealt out, as they were written."""
    dealt: Mapping[str, str] = field(default_factory=dict)
    """Fingerprint of all rows of a dataset, also of those that went to others; empty until the run came to its end."""

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def note(self) -> str:
        """What a reader of the run should know."""
        return (
            f"Shard {self.number} of {self.of}: other runs ask the other cases, and `evalmark merge` makes one of all."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Everything one evaluation found; the only thing a report reads."""

    id: str
    name: str
    created: str
    """ISO 8601 in UTC, to the second."""
    finished: str | None = None
    status: RunStatus = "complete"
    target: str = ""
    datasets: tuple[DatasetInfo, ...] = ()
    metrics: tuple[Metric, ...] = ()
    repeat: int = 1
    gate: Gate | None = None
    suite: str = ""
    """The suite file as the user wrote it; empty for runs from Python."""
    plan: str = ""
    """Fingerprint of what was asked (target, scorers and their settings); runs with the same one can be resumed."""
    embedder: str = ""
    """Fingerprint of the embedding model, mode included; empty when none was used."""
    revision: str = ""
    """The git commit that was checked out, with a `+` where files differed from it; empty where there is no git."""
    is_part: bool = False
    """Whether a limit or conditions left out cases of its datasets."""
    shard: Shard | None = None
    """Which share of the cases this one asks; None: it is no share of another evaluation."""
    until_decided: UntilDecided | None = None
    """How the run stops early; None: every case is asked."""
    versions: Mapping[str, str] = field(default_factory=dict)
    spending: tuple[Spending, ...] = ()
    """What the calls made through the model door came to, one entry a model."""
    notes: tuple[str, ...] = ()
    """Things a reader should know, one sentence each (truncated texts, rows left out, a dataset edited on the way)."""
    results: Collection[Result] = field(default=(), repr=False)
    """In the order dataset, position, repeat. May be read from disk while iterated: iterate, do not index."""

    def in_order(self, targets: Iterable[str]) -> list[str]:
        """Names of targets in the order in which they were put under test; unknown ones behind them, in their own order.

        >>> Run(id="1", name="x", created="", target="m/b, m/a").in_order(["m/a", "m/c", "m/b"])
        ['m/b', 'm/a', 'm/c']
        """
        named = f", {self.target}, "
        places = {target: named.find(f", {target}, ") for target in targets}
        return sorted(places, key=lambda target: places[target] if places[target] >= 0 else len(named))
