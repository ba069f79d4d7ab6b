"""What the labels of today say of thresholds that were learned from earlier ones."""

from dataclasses import replace

from evalmark.calibration import labels_changed
from evalmark.plans import Plan
from evalmark.store import Store

from .calibrating import evidence_now
from .ledger import Ledger


def with_label_notes(plan: Plan, ledger: Ledger) -> Plan:
    """The plan with a warning for each learned threshold whose labels have changed since, as far as the store knows them."""
    if not plan.locked or not isinstance(ledger, Store):
        return plan
    sources = {(entry.labels.kind, entry.labels.name) for entry in plan.locked}
    now = {source: evidence_now(*source, ledger) for source in sorted(sources)}
    said = [
        warning
        for entry in plan.locked
        if (found := now[entry.labels.kind, entry.labels.name]) is not None
        and (warning := labels_changed(entry, found, plan.lock))
    ]
    return replace(plan, notes=(*plan.notes, *said))
