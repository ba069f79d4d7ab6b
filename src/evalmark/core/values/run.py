"""A run with its metrics, datasets and gate."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from .notebook import NotebookValue
from .score import Direction, Mode, Result
from .spending import Spending

RunStatus = Literal["running", "complete", "interrupted", "stopped"]
SCORES_MOVED = "have moved since its threshold was learned"
"""In notes of runs whose scores come from another distribution than those of a calibration."""
OUTSIDE_LIMITS = {
    "worse": "is outside of its control limits, for the worse",
    "better": "is outside of its control limits, for the better",
}
"""Parts of the notes of runs with a metric outside of its control limits, by the direction of the change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The rule that decides whether a run passes, fails or cannot tell.

    Without any limit set, a run passes if every score that has a threshold passes.

    >>> Gate(min_pass_rate=0.9, thresholds={"similarity": 0.8}).max_errors
    0
    """

    min_pass_rate: float | None = None
    """The least share of trials (0 to 1) in which every score passes; None: all of them."""
    max_unscored: int = 0
    max_errors: int = 0
    min_score: float | None = None
    """The least mean (0 to 1) of every metric where higher is better; None: no limit."""
    thresholds: Mapping[str, float] = field(default_factory=dict)
    """For each metric, the least mean, or the greatest where lower is better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric of a run: how its scores are read and who judges."""

    name: str
    direction: Direction = "higher"
    threshold: float | None = None
    """For each case, on `Score.value`; None if the scorer itself decides, or never passes or fails."""
    unit: str = ""
    """Of the raw value, e.g. `cosine`, `edits`, `1..5`; empty if raw and value are the same."""
    judge: str = ""
    """The judge model; empty for metrics without one."""
    mode: Mode = "single"
    """`conversation`: the rows of a dataset are judged as the turns of one."""
    base: str = ""
    """The metric's name without the judge, if several judges share it; else empty."""
    dataset: str = ""
    """The only dataset it applies to, if another dataset has a metric of the same name; else empty."""
    version: str = ""
    """Fingerprint of the scorer: its code or prompt, and its settings; empty if unknown."""
    own_thresholds: Mapping[str, float] = field(default_factory=dict, hash=False)
    """The scorer's own thresholds by setting, such as `positive` and `negative`; they apply if `threshold` is None."""
    embeds: bool = False
    """Whether it uses the run's embedding model."""


def metrics_for(metrics: Iterable[Metric], dataset: str) -> dict[str, Metric]:
    """Return the metrics of a dataset by name, in order; its own replace those of all datasets.

    >>> strict = Metric(name="exact", threshold=1.0, dataset="capitals")
    >>> [metrics_for([Metric(name="exact"), strict], name)["exact"].threshold for name in ("capitals", "rivers")]
    [1.0, None]
    """
    applicable = [metric for metric in metrics if metric.dataset in ("", dataset)]
    own = {metric.name: metric for metric in applicable if metric.dataset}
    return {metric.name: own.get(metric.name, metric) for metric in applicable}


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetInfo:
    """A dataset of a run."""

    name: str
    path: str = ""
    """As the user wrote it; empty for cases from Python."""
    rows: int | None = None
    """The number of rows read; for an unfinished run, the expected number if it is known; else None."""
    plan: str = ""
    """Fingerprint of this dataset's target and scorers, if each dataset has its own; else empty."""
    cluster: str = ""
    """The field of a case by which cases depend on each other, such as their document; empty: each case is independent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UntilDecided:
    """Early stopping: the run stops as soon as its gate is decided for all cases."""

    seed: int
    """The seed of the random order in which cases run and are counted."""
    level: float
    """The confidence level (0 to 1), valid with a look after every case."""
    cases: int | None = None
    """The number of cases in the whole run; None until its datasets are read."""
    after: int | None = None
    """After how many cases the gate was decided; None if all cases were needed."""
    outcome: Literal["pass", "fail"] | None = None
    """The decision; None if all cases were needed, or the run was interrupted."""
    reason: str = ""
    """What is known of the whole run, in one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A random sample of the cases, which depends on the seed and the ids of the cases, not on their order."""

    size: int
    """The most cases of each dataset."""
    seed: int
    taken: int | None = None
    """The number of cases in the sample; None until the datasets are read."""
    of: int | None = None
    """The number of cases that it was drawn from; None until the datasets are read."""

    def __str__(self) -> str:
        """Describe the sample.

        >>> str(Sample(size=20, seed=7, taken=20, of=1500)), str(Sample(size=20, seed=7))
        ('20 of 1,500 cases (seed 7)', '20 cases of each dataset (seed 7)')
        """
        cases = f"{self.size:,} cases of each dataset" if self.of is None else f"{self.taken:,} of {self.of:,} cases"
        return f"{cases} (seed {self.seed})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """One shard of an evaluation that is split over several runs."""

    number: int
    """Counted from 1."""
    of: int
    """How many shards there are."""
    limit: int | None = None
    """The most cases of each dataset that were split; None: all."""
    only: tuple[str, ...] = ()
    """The filter conditions on the cases, as the user wrote them."""
    dealt: Mapping[str, str] = field(default_factory=dict)
    """For each dataset, the fingerprint of all rows, including other shards'; empty until the run is complete."""

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def note(self) -> str:
        """The note of a run that is a shard."""
        return (
            f"Shard {self.number} of {self.of}: the other shards have the other cases; `evalmark merge` combines them."
        )


TotalVerdict = Literal["pass", "fail", "cannot tell", "not gated", "not scored"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTotals:
    """What a list of runs shows of the results of one run."""

    verdict: TotalVerdict | None = None
    """The verdict of the gate; if nothing could fail, `not gated`, or `not scored` without metrics. None if it is not calculated,
    for example while the run goes on."""
    trials: int
    passed: int | None = None
    """The trials that passed, of those that count for the headline figure; None if they are not counted."""
    judged: int | None = None
    """The trials that passed or failed, of the same; None if they are not counted."""
    rate: float | None = None
    """The pass rate (0 to 1); None if no trial passed or failed."""
    low: float | None = None
    """The lower end of its 95 % confidence interval; None if it has none."""
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(NotebookValue):
    """A run with all results; reports read nothing else."""

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
    """Fingerprint of the target, the scorers and their settings; a run can be resumed only with the same one."""
    embedder: str = ""
    """Fingerprint of the embedding model, mode included; empty if none was used."""
    revision: str = ""
    """The git commit, with a `+` if files differed from it; empty without git."""
    is_part: bool = False
    """Whether a limit or a filter left out cases."""
    shard: Shard | None = None
    """Which shard of an evaluation this run is; None: it is not sharded."""
    until_decided: UntilDecided | None = None
    """How the run stops early; None: every case runs."""
    sample: Sample | None = None
    """The sample of the cases that the run has; None: it was not sampled."""
    given_name: str = ""
    """The name that the user gave this run with `--name`; empty: none."""
    tags: tuple[str, ...] = ()
    """Words and `key=value` pairs that the user gave this run with `--tag`."""
    versions: Mapping[str, str] = field(default_factory=dict)
    spending: tuple[Spending, ...] = ()
    """Calls, tokens and cost, one entry for each model."""
    notes: tuple[str, ...] = ()
    """Remarks for readers, one sentence each (truncated texts, skipped rows, a dataset edited during the run)."""
    results: Collection[Result] = field(default=(), repr=False)
    """Ordered by dataset, position and repeat. May be read from disk lazily: iterate, do not index."""

    def __repr__(self) -> str:
        """Return one line, without the results."""
        return f"Run(id={self.id!r}, name={self.name!r}, created={self.created!r}, status={self.status!r})"

    @property
    def change(self) -> str:
        """`worse` or `better` if a metric is outside of its control limits, `worse, better` if there are both; else empty."""
        return ", ".join(word for word, text in OUTSIDE_LIMITS.items() if any(text in note for note in self.notes))

    def in_order(self, targets: Iterable[str]) -> list[str]:
        """Sort names of targets by the order in which the user gave them; unknown ones come last.

        >>> Run(id="1", name="x", created="", target="m/b, m/a").in_order(["m/a", "m/c", "m/b"])
        ['m/b', 'm/a', 'm/c']
        """
        named = f", {self.target}, "
        places = {target: named.find(f", {target}, ") for target in targets}
        return sorted(places, key=lambda target: places[target] if places[target] >= 0 else len(named))
