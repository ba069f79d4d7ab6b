"""Counts the trials that two runs share and that pass in each, without reading results."""

from dataclasses import dataclass
from typing import Any

from evalmark.core.values.run import Run
from evalmark.storage.database.connection import Connection

from .verdict_counts import COUNTED_SQL


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedTrials:
    """The trials that passed or failed in two runs, matched by case, content and repeat."""

    n: int
    before: int
    """How many of them passed in the earlier run."""
    now: int

    @property
    def points(self) -> float | None:
        """The change of the pass rate in percentage points; None without common trials."""
        return 100 * (self.now - self.before) / self.n if self.n else None


def count_shared_trials(db: Connection, run: Run, baseline: Run, *, counted_only: bool) -> SharedTrials:
    """Count the trials that two runs share. With `counted_only`, tests that do not count for the headline figure are left out.

    If both runs have a single target, its name does not matter; otherwise targets are matched by name.
    """
    one_each = run.target != baseline.target and ", " not in run.target + baseline.target
    sql = f"""
        select count(*), count(*) filter (where b.verdict = 'pass'), count(*) filter (where r.verdict = 'pass')
        from result r join result b on b.dataset = r.dataset and b.case_id = r.case_id and b.repeat = r.repeat
        and b.mode = r.mode and b.fingerprint = r.fingerprint {"" if one_each else "and b.target = r.target"}
        where r.run = (select number from run where id = ?) and b.run = (select number from run where id = ?)
        and r.pass > 0 and b.pass > 0 and r.verdict in ('pass', 'fail') and b.verdict in ('pass', 'fail')
        {"and " + COUNTED_SQL if counted_only else ""}
    """  # noqa: S608  texts of ours
    found: Any = db.execute(sql, (run.id, baseline.id)).fetchone()
    n, before, now = found
    return SharedTrials(n=n, before=before, now=now)
