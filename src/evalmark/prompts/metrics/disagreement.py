"""Counts how often a judge and the rule checks disagree."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evalmark.core.values.run import Run
from evalmark.core.values.score import Result, Score


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """One judge compared with the checks of one rule, or of all rules."""

    judge: str
    """The name of the judge's scores."""
    rule: int | None
    """The number of the rule; None for whole outputs."""
    check: str = ""
    """What the rule check tests; empty for whole outputs."""
    agreed: int = 0
    """Outputs on which both agree."""
    missed: int = 0
    """Outputs that the judge passed and that break a check."""
    alone: int = 0
    """Outputs that the judge failed and that pass every check; they may break a rule without a check."""
    left_out: int = 0
    """Outputs without a verdict from one of them, or whose rule asks for more than the check tests."""

    @property
    def compared(self) -> int:
        """Outputs with verdicts from both."""
        return self.agreed + self.missed + self.alone

    @property
    def share(self) -> float | None:
        """The share of compared outputs on which both agree; None without any."""
        return self.agreed / self.compared if self.compared else None


@dataclass(slots=True)
class _Counts:
    check: str = ""
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("agreed", "missed", "alone", "left_out"), 0))

    def add(self, judged: bool | None, checked: bool | None) -> None:
        if judged is None or checked is None:
            self.counts["left_out"] += 1
        else:
            self.counts["agreed" if judged is checked else "missed" if judged else "alone"] += 1


def disagreements(run: Run, judge: str = "compliance", checks: str = "rules") -> tuple[Disagreement, ...]:
    """Compare a judge's verdicts in a run with the rule checks of the same outputs, as a whole and then per rule.

    `judge` and `checks` are the names of both metrics. Several judges are compared separately. A whole output is broken if a
    check fails and kept if all pass; it is left out if either gives no verdict. A judge without verdicts per rule is compared
    as a whole.
    """
    tallies: dict[tuple[str, int | None], _Counts] = {}
    for result in run.results:
        found = _checks(result, checks)
        if not found:
            continue
        for score in result.scores:
            if score.name == judge or score.name.startswith(f"{judge} ["):
                _compare(tallies, score, found)
    keys = sorted(tallies, key=lambda key: (key[0], key[1] or 0))
    return tuple(
        Disagreement(judge=name, rule=rule, check=tallies[name, rule].check, **tallies[name, rule].counts)
        for name, rule in keys
    )


def follows_rules(checks: Iterable[Score]) -> bool | None:
    """Return whether an output passes all checked rules; None if a check is undecided and none fails."""
    verdicts = [check.passed for check in checks]
    return False if False in verdicts else None if None in verdicts or not verdicts else True


def _checks(result: Result, name: str) -> dict[int, Score]:
    """Return the scores of one output's rule checks, by rule number."""
    return {
        int(number): score
        for score in result.scores
        if score.name.startswith(f"{name}.") and (number := score.detail.get("rule")) is not None
    }


def _compare(tallies: dict[tuple[str, int | None], _Counts], score: Score, checks: Mapping[int, Score]) -> None:
    judged = score.passed if score.status == "scored" else None
    tallies.setdefault((score.name, None), _Counts()).add(judged, follows_rules(checks.values()))
    for number, verdict in _by_rule(score):
        if (check := checks.get(number)) is not None:
            tally = tallies.setdefault((score.name, number), _Counts(str(check.detail.get("check", ""))))
            more = check.passed and not check.detail.get("is_whole", True)  # the rule may still be broken
            tally.add(verdict, None if more else check.passed)


def _by_rule(score: Score) -> Iterator[tuple[int, bool | None]]:
    rows: Any = score.detail.get("rules")
    for row in rows if isinstance(rows, list | tuple) else ():
        if isinstance(row, Mapping) and isinstance(number := row.get("rule"), int):
            yield number, {"ok": True, "err": False}.get(str(row.get("verdict")))
