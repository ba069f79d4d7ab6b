"""What the labels of today say of thresholds that were learned from earlier ones."""

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from evalmark.core.errors import StoreError
from evalmark.core.lazy import LazyModule
from evalmark.core.values.label import Label, about_output, content_fingerprint
from evalmark.core.values.run import Run
from evalmark.runs.planning.plan import Plan
from evalmark.storage.store.store import Store

from .run_store import RunStore

if TYPE_CHECKING:
    from evalmark.stats.calibration import evidence, since
    from evalmark.stats.calibration.evidence import Evidence
    from evalmark.stats.calibration.learning import Kind
else:
    evidence = LazyModule("evalmark.stats.calibration.evidence")
    since = LazyModule("evalmark.stats.calibration.since")


def with_label_notes(plan: Plan, ledger: RunStore) -> Plan:
    """The plan with a warning for each learned threshold whose labels have changed since, as far as the store knows them."""
    if not plan.locked or not isinstance(ledger, Store):
        return plan
    sources = {(entry.labels.kind, entry.labels.name) for entry in plan.locked}
    now = {source: current_evidence(*source, ledger) for source in sorted(sources)}
    said = [
        warning
        for entry in plan.locked
        if (found := now[entry.labels.kind, entry.labels.name]) is not None
        and (warning := since.labels_changed(entry, found, plan.lock))
    ]
    return replace(plan, notes=(*plan.notes, *said))


def current_evidence(kind: "Kind", name: str, ledger: Store) -> "Evidence | None":
    """What the labels of a project or a run are now; None where the store has nothing of it, and for files."""
    if kind == "project":
        return evidence.of_traffic(ledger.sessions.labelled(name), f"project {name}")
    if kind == "file":
        return None
    try:
        run = ledger.run(name)
    except StoreError:  # another machine's
        return None
    return evidence.of_results(run.id, run.results, labels_for_run(ledger, run))


def labels_for_run(ledger: Store, run: Run) -> list[Label]:
    """Everything ever said of the outputs of a run, and of the same outputs elsewhere, in the order in which it was said."""
    contents = {content_fingerprint(r.trial.case.input, r.output.value) for r in run.results}
    gone = (label for label in ledger.sessions.all_labels() if label.about.startswith(about_output(run.id)))
    found = chain(ledger.sessions.labels_of(contents), gone)
    return sorted(dict.fromkeys(found), key=lambda label: label.created)
