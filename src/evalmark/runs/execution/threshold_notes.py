"""Warns of learned thresholds whose labels, or whose scores, have changed since."""

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from evalmark.core.errors import StoreError
from evalmark.core.lazy import LazyModule
from evalmark.core.values.run import Run
from evalmark.runs.planning.plan import Plan
from evalmark.runs.planning.threshold_lock import entry_for
from evalmark.runs.session.run_store import RunStore
from evalmark.storage.store.store import Store

if TYPE_CHECKING:
    from evalmark.core.values import label as labels
    from evalmark.core.values.label import Label
    from evalmark.stats.calibration import evidence, label_drift, score_drift
    from evalmark.stats.calibration.evidence import LabelEvidence
    from evalmark.stats.calibration.threshold_calibration import Kind
else:
    labels = LazyModule("evalmark.core.values.label")
    evidence = LazyModule("evalmark.stats.calibration.evidence")
    label_drift = LazyModule("evalmark.stats.calibration.label_drift")
    score_drift = LazyModule("evalmark.stats.calibration.score_drift")


def with_label_notes(plan: Plan, store: RunStore) -> Plan:
    """Add a warning for each learned threshold whose labels, in this store, have changed since."""
    if not plan.locked or not isinstance(store, Store):
        return plan
    sources = {(entry.labels.kind, entry.labels.name) for entry in plan.locked}
    now = {source: current_evidence(*source, store) for source in sorted(sources)}
    warnings = [
        warning
        for entry in plan.locked
        if (evidence_now := now[entry.labels.kind, entry.labels.name]) is not None
        and (warning := label_drift.label_changes(entry, evidence_now, plan.lock))
    ]
    return replace(plan, notes=(*plan.notes, *warnings))


def score_notes(plan: Plan, run: Run) -> tuple[str, ...]:
    """Return a warning for each metric whose scores have moved since its threshold was learned.

    A run of only some cases has no warnings, since those cases may not be representative.
    """
    if not plan.locked or run.status != "complete" or run.is_part:
        return ()
    locked = {entry.metric: entry for entry in plan.locked}
    entries = {metric.name: entry for metric in run.metrics if (entry := entry_for(metric, locked)) is not None}
    return tuple(score_drift.score_changes(run, entries, plan.lock))


def current_evidence(kind: "Kind", name: str, store: Store) -> "LabelEvidence | None":
    """Return the current labels of a project or a run; None for files, and where the store has none."""
    if kind == "project":
        return evidence.evidence_from_sessions(store.sessions.labelled_answers(name), f"project {name}")
    if kind == "file":
        return None
    try:
        run = store.run(name)
    except StoreError:  # the store has no such run: it may be on another machine
        return None
    return evidence_of_run(store, run)


def evidence_of_run(store: Store, run: Run) -> "LabelEvidence":
    """Return the labels of the outputs of a run, and which outputs evalmark drew to be labelled."""
    found = evidence.evidence_from_results(run.id, run.results, labels_for_run(store, run))
    return replace(found, samples=tuple(store.sessions.label_samples(run.id).values()))


def labels_for_run(store: Store, run: Run) -> "list[Label]":
    """Return every label of the outputs of a run, and of the same outputs elsewhere, in chronological order."""
    contents = {labels.content_fingerprint(r.trial.case.input, r.output.value) for r in run.results}
    gone = (label for label in store.sessions.all_labels() if label.about.startswith(labels.about_output(run.id)))
    found = chain(store.sessions.labels_by_content(contents), gone)
    return sorted(dict.fromkeys(found), key=lambda label: label.created)
