"""Learns thresholds from labels: finds the labels, plans what has to be scored, and writes the lock file."""

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from evalmark.core.errors import ConfigError, StoreError
from evalmark.core.settings import Settings
from evalmark.core.values.case import Case
from evalmark.core.values.run import DatasetInfo, Run
from evalmark.inputs.datasets.fault_list import FaultList
from evalmark.inputs.datasets.options import BadRow
from evalmark.inputs.datasets.reader import read_cases
from evalmark.inputs.documents.atomic_write import write_atomically
from evalmark.runs.execution.rescore import NO_OVERRIDES, plan_metrics
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
    """A project of recorded sessions, a run, or a file whose rows bring an answer and a label."""
    metrics: tuple[str, ...] = ()
    """Empty: all metrics of the suite, or of the run."""
    suite: Path | None = None
    """Whose metrics are meant, with their settings; None: scorers as a command line names them."""
    promise: FalsePassLimit = DEFAULT_LIMIT
    overrides: Overrides = NO_OVERRIDES


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationInput:
    """The labels to learn from, and the plan or run that has the scores."""

    wanted: CalibrateRequest
    kind: Kind
    name: str
    evidence: LabelEvidence
    plan: Plan | None = None
    """What has to be judged first; None: a run holds the scores."""
    run: Run | None = None

    @property
    def where(self) -> str:
        """What it is about, in words."""
        return f"{self.kind} {self.name}"


def prepare_calibration(
    wanted: CalibrateRequest, settings: Settings, store: Store, load: Loader = load_embedder
) -> CalibrationInput:
    """Find the labels of a project, a run or a file, and plan what has to be scored.

    Raises:
        ConfigError: there is no such thing, a label or a metric cannot be used.
    """
    path = Path(wanted.about)
    if path.is_file() or _FILE.search(wanted.about):
        return _of_file(wanted, path, settings, load)
    if wanted.about in store.sessions.projects():
        found = store.sessions.labelled_answers(wanted.about)
        evidence = evidence_from_sessions(found, f"project {wanted.about}")
        plan = _plan(wanted, settings, load, labelled_samples(found))
        return CalibrationInput(wanted=wanted, kind="project", name=wanted.about, evidence=evidence, plan=plan)
    return _of_run(wanted, store)


def learn_calibration(prepared: CalibrationInput, run: Run | None = None) -> Calibration:
    """Learn the threshold of each metric; `run` is the run of the plan, where there was one.

    Raises:
        ConfigError: the run has no such metric, or no label could be used.
    """
    found, wanted = run or prepared.run, prepared.wanted
    if found is None:
        metrics = [spec.bound(None).versioned for spec in (prepared.plan.scorers if prepared.plan else ())]
        nothing = calibration_scores((), metrics, by_case=True, run="", embedder="")
        return learn_thresholds(prepared.kind, prepared.name, wanted.promise, prepared.evidence, nothing)
    names, judges = (wanted.metrics, wanted.overrides.judges) if prepared.kind == "run" else ((), ())
    metrics = select_metrics(found.metrics, names, judges, f"run {found.id}")
    named = ClusterFinder(found).name if any(info.cluster for info in found.datasets) else input_name
    known = calibration_scores(
        found.results,
        metrics,
        by_case=prepared.kind != "run",
        run=found.id,
        embedder=found.embedder,
        cluster_name=named,
    )
    return learn_thresholds(prepared.kind, prepared.name, wanted.promise, prepared.evidence, known)


def write_lock(found: Calibration, path: Path) -> LockFile:
    """Write the learned thresholds into a lock file, beside its other metrics, and return it.

    Raises:
        ConfigError: there is a file that is no lock, or cannot be read; it stays as it is.
        EvalmarkError: the file cannot be written.
    """
    before = read_lock(path) if path.exists() else LockFile(metrics={}, path=str(path))
    created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    lock = before.merged(lock_entries(found, created, version("evalmark")))
    write_atomically(path, [lock.text], "lock file")
    return lock


def check_lock(path: Path) -> None:
    """Check before anything is scored that the lock file can be written.

    Raises:
        ConfigError: there is something else in its place.
    """
    if path.is_dir():
        raise ConfigError(f"{path}: this is a folder; name a file in it with -o, such as {NAME}.")
    if path.exists():
        read_lock(path)


def _of_run(wanted: CalibrateRequest, store: Store) -> CalibrationInput:
    try:
        run = store.run(wanted.about)
    except StoreError as fault:
        projects = ", ".join(store.sessions.projects())
        there = f"recorded projects are {projects}" if projects else "no project is recorded either"
        raise ConfigError(f"{wanted.about!r} is no file, and {str(fault).rstrip('.')}; {there}.") from fault
    if wanted.suite is not None:
        raise ConfigError(f"run {run.id} has its scores already; leave --suite out, or judge it anew: evalmark rescore")
    select_metrics(run.metrics, wanted.metrics, wanted.overrides.judges, f"run {run.id}")
    evidence = evidence_of_run(store, run)
    return CalibrationInput(wanted=wanted, kind="run", name=run.id, evidence=evidence, run=run)


def _of_file(wanted: CalibrateRequest, path: Path, settings: Settings, load: Loader) -> CalibrationInput:
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
    keys = {one.key for one in evidence.told}
    plan = _plan(wanted, settings, load, tuple(case for case in cases if case.id in keys))
    return CalibrationInput(wanted=wanted, kind="file", name=str(path), evidence=evidence, plan=plan)


def _plan(wanted: CalibrateRequest, settings: Settings, load: Loader, cases: tuple[Case, ...]) -> Plan:
    """Plan the scoring of labelled outputs."""
    if wanted.suite is None and not wanted.metrics:
        raise ConfigError(
            "say what is to get a threshold: --metric similarity, or the metrics of a suite with --suite."
        )
    if wanted.suite is None:
        plan = plan_metrics(wanted.metrics, settings, wanted.overrides, load)
    else:
        overrides = replace(wanted.overrides, target="evalmark.runs.execution.rescore:not_asked", lock=NO_LOCK)
        plan = plan_suite(wanted.suite, settings, overrides, load)
        bound = {spec.bound(None).metric.name: spec for spec in plan.scorers}
        metrics = [spec.bound(None).versioned for spec in plan.scorers]
        chosen = select_metrics(metrics, wanted.metrics, (), f"suite {wanted.suite}")
        plan = replace(plan, scorers=tuple(bound[metric.name] for metric in chosen))
    if "conversation" in plan.modes:
        raise ConfigError("a metric judges the turns of conversations, and labelled answers are judged one by one.")
    source = DatasetSource(info=DatasetInfo(name="labelled"), read=lambda _: iter(cases))
    name = f"labelled answers of {wanted.about}"
    return replace(
        plan, name=name, sources=(source,), targets=(GivenTarget(),), repeat=1, gate=None, suite="", notes=()
    )
