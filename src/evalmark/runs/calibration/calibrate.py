"""Learns thresholds from labels: finds the labels, plans what has to be scored, and writes the lock file."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from evalmark.core.errors import ConfigError, StoreError
from evalmark.core.settings import Settings
from evalmark.core.suggestions import no_cluster_field
from evalmark.core.values.case import Case, cluster_value
from evalmark.core.values.run import DatasetInfo, Run
from evalmark.core.values.score import Mode, Trial
from evalmark.core.values.session import SESSION_FIELD
from evalmark.inputs.datasets.fault_list import FaultList
from evalmark.inputs.datasets.options import BadRow
from evalmark.inputs.datasets.reader import read_cases
from evalmark.inputs.documents.atomic_write import write_atomically
from evalmark.runs.execution.rescore import NO_OVERRIDES, UNCALLED_TARGET, plan_metrics
from evalmark.runs.execution.threshold_notes import evidence_of_run
from evalmark.runs.planning.overrides import Overrides
from evalmark.runs.planning.plan import DatasetSource, Loader, Plan, load_embedder
from evalmark.runs.planning.suite import plan_suite
from evalmark.runs.planning.threshold_lock import NO_LOCK
from evalmark.runs.targets.given_target import GivenTarget
from evalmark.stats.calibration.evidence import (
    LabelEvidence,
    evidence_from_rows,
    evidence_from_sessions,
)
from evalmark.stats.calibration.labelled_cases import labelled_samples, row_labels
from evalmark.stats.calibration.lock_file import NAME, LockFile, lock_entries
from evalmark.stats.calibration.lock_reader import read_lock
from evalmark.stats.calibration.threshold_calibration import (
    CASE,
    Calibration,
    FalsePassLimit,
    Kind,
    calibration_scores,
    input_name,
    learn_thresholds,
    select_metrics,
)
from evalmark.stats.summary.clusters import ClusterFinder
from evalmark.storage.store.store import Store

DEFAULT_LIMIT = FalsePassLimit()
_FILE = re.compile(r"[/\\]|\.(json|jsonl|ndjson|csv|tsv|ya?ml|parquet)(\.gz)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateRequest:
    """The request of `evalmark calibrate`."""

    about: str
    """A project of recorded sessions, a run, or a file whose rows have an answer and a label."""
    metrics: tuple[str, ...] = ()
    """Empty: all metrics of the suite, or of the run."""
    suite: Path | None = None
    """The suite that defines the metrics; None: `metrics` names scorers."""
    limit: FalsePassLimit = DEFAULT_LIMIT
    overrides: Overrides = NO_OVERRIDES
    cluster: str = ""
    """The field by which labelled cases depend on each other; empty: that of the run or of the suite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationInput:
    """The labels to learn from, and the plan or run that has the scores."""

    request: CalibrateRequest
    kind: Kind
    name: str
    evidence: LabelEvidence
    plan: Plan | None = None
    """The plan that scores the labelled outputs; None: `run` has the scores."""
    run: Run | None = None

    @property
    def where(self) -> str:
        """The source of the labels, for messages."""
        return f"{self.kind} {self.name}"


def prepare_calibration(
    request: CalibrateRequest, settings: Settings, store: Store, load: Loader = load_embedder
) -> CalibrationInput:
    """Find the labels of a project, a run or a file, and plan what has to be scored.

    Raises:
        ConfigError: there is no project, run or file of this name, or a label or a metric cannot be used.
    """
    path = Path(request.about)
    if path.is_file() or _FILE.search(request.about):
        return _of_file(request, path, settings, load)
    if request.about in store.sessions.projects():
        if request.cluster:
            raise ConfigError(
                "--cluster is for runs and files; answers of a recorded project are clustered by session."
            )
        found = store.sessions.labelled_answers(request.about)
        evidence = evidence_from_sessions(found, f"project {request.about}")
        by_session = replace(request, cluster=SESSION_FIELD) if found.sessions else request
        plan = _plan(by_session, settings, load, labelled_samples(found))
        return CalibrationInput(request=request, kind="project", name=request.about, evidence=evidence, plan=plan)
    return _of_run(request, store)


def learn_calibration(prepared: CalibrationInput, run: Run | None = None) -> Calibration:
    """Learn the threshold of each metric; `run` is the run of `prepared.plan`, if there is a plan.

    Raises:
        ConfigError: the run has no such metric, or no label could be used.
    """
    found, request = run or prepared.run, prepared.request
    if found is None:
        metrics = [spec.bound(None).versioned for spec in (prepared.plan.scorers if prepared.plan else ())]
        no_scores = calibration_scores((), metrics, by_case=True, run="", embedder="")
        return learn_thresholds(prepared.kind, prepared.name, request.limit, prepared.evidence, no_scores)
    names, judges = (request.metrics, request.overrides.judges) if prepared.kind == "run" else ((), ())
    metrics = select_metrics(found.metrics, names, judges, f"run {found.id}")
    found = _clustered(found, request.cluster)
    cluster_name, unit = _clusters(found)
    scores = calibration_scores(
        found.results,
        metrics,
        by_case=prepared.kind != "run",
        run=found.id,
        embedder=found.embedder,
        cluster_name=cluster_name,
    )
    return learn_thresholds(prepared.kind, prepared.name, request.limit, prepared.evidence, replace(scores, unit=unit))


def _clustered(run: Run, field: str) -> Run:
    """Return the run with a field by which the cases of all its datasets depend on each other."""
    if not field:
        return run
    if all(cluster_value(result.trial.case, field) is None for result in run.results):
        first = next((result.trial.case for result in run.results), None)
        raise ConfigError(f"run {run.id}: no case has {no_cluster_field(field, '--cluster', first)}")
    names = {info.name: info for info in run.datasets}
    names |= {name: DatasetInfo(name=name) for result in run.results if (name := result.trial.dataset) not in names}
    return replace(run, datasets=tuple(replace(info, cluster=field) for info in names.values()))


def _clusters(run: Run) -> tuple[Callable[[Trial], str], str]:
    """Return what names the cluster of a trial, and what one is called; outputs for one input are a cluster otherwise."""
    finder, named = ClusterFinder(run), {info.name for info in run.datasets if info.cluster}
    groups = set[tuple[str, Mode]]()
    for result in run.results:
        finder.find(result.trial)  # so that a field which no case has is not what a cluster is called
        groups.add((result.trial.dataset, result.trial.mode))
    clustered = {group for group in groups if group[0] in named or group[1] == "conversation"}
    if not clustered:
        return input_name, CASE
    return (
        lambda trial: finder.name(trial) if (trial.dataset, trial.mode) in clustered else input_name(trial),
        finder.unit(groups),
    )


def write_lock(found: Calibration, path: Path) -> LockFile:
    """Write the learned thresholds to a lock file, keeping its entries of other metrics, and return the lock file.

    Raises:
        ConfigError: the file exists and is not a lock file, or cannot be read; it is not changed.
        EvalmarkError: the file cannot be written.
    """
    before = read_lock(path) if path.exists() else LockFile(metrics={}, path=str(path))
    created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    lock = before.merged(lock_entries(found, created, version("evalmark")))
    write_atomically(path, [lock.text], "lock file")
    return lock


def check_lock(path: Path) -> None:
    """Check that the lock file can be written, before anything is scored.

    Raises:
        ConfigError: the path is a folder, or a file that is not a lock file.
    """
    if path.is_dir():
        raise ConfigError(f"{path}: this is a folder; name a file in it with -o, such as {NAME}.")
    if path.exists():
        read_lock(path)


def _of_run(request: CalibrateRequest, store: Store) -> CalibrationInput:
    try:
        run = store.run(request.about)
    except StoreError as fault:
        projects = ", ".join(store.sessions.projects())
        projects_text = f"recorded projects are {projects}" if projects else "no project is recorded either"
        raise ConfigError(f"{request.about!r} is not a file, and {str(fault).rstrip('.')}; {projects_text}.") from fault
    if request.suite is not None:
        raise ConfigError(f"run {run.id} has scores already; leave --suite out, or score it again: evalmark rescore")
    select_metrics(run.metrics, request.metrics, request.overrides.judges, f"run {run.id}")
    evidence = evidence_of_run(store, run)
    return CalibrationInput(request=request, kind="run", name=run.id, evidence=evidence, run=run)


def _of_file(request: CalibrateRequest, path: Path, settings: Settings, load: Loader) -> CalibrationInput:
    faults, cases = FaultList(str(path)), list[Case]()
    for row in read_cases(path):
        if isinstance(row, BadRow):
            faults.add(str(row))
        else:
            cases.append(row)
    if lines := faults.lines():
        raise ConfigError.of(lines)
    liked = row_labels(cases)
    evidence = evidence_from_rows(cases, liked, f"file {path}")
    keys = {one.key for one in evidence.labelled}
    if request.cluster and all(cluster_value(case, request.cluster) is None for case in cases):
        first = next(iter(cases), None)
        raise ConfigError(f"{path}: no row has {no_cluster_field(request.cluster, '--cluster', first)}")
    plan = _plan(request, settings, load, tuple(case for case in cases if case.id in keys))
    return CalibrationInput(request=request, kind="file", name=str(path), evidence=evidence, plan=plan)


def _plan(request: CalibrateRequest, settings: Settings, load: Loader, cases: tuple[Case, ...]) -> Plan:
    """Plan the scoring of labelled outputs."""
    if request.suite is None and not request.metrics:
        raise ConfigError(
            "no metric is named; name one with --metric, such as --metric similarity, or a suite with --suite."
        )
    if request.suite is None:
        plan = plan_metrics(request.metrics, settings, request.overrides, load)
    else:
        overrides = replace(request.overrides, target=UNCALLED_TARGET, lock=NO_LOCK)
        plan = plan_suite(request.suite, settings, overrides, load)
        bound = {spec.bound(None).metric.name: spec for spec in plan.scorers}
        metrics = [spec.bound(None).versioned for spec in plan.scorers]
        chosen = select_metrics(metrics, request.metrics, (), f"suite {request.suite}")
        plan = replace(plan, scorers=tuple(bound[metric.name] for metric in chosen))
    if "conversation" in plan.modes:
        raise ConfigError("a metric judges the turns of conversations, and labelled answers are judged one by one.")
    fields = {source.info.cluster for source in plan.sources}
    cluster = request.cluster or (fields.pop() if len(fields) == 1 else "")
    source = DatasetSource(info=DatasetInfo(name="labelled", cluster=cluster), read=lambda _: iter(cases))
    name = f"labelled answers of {request.about}"
    return replace(
        plan, name=name, sources=(source,), targets=(GivenTarget(),), repeat=1, gate=None, suite="", notes=()
    )
