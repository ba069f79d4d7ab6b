"""The corpus of rules: read, halved, and held against the reader.

`python -m tests.prompts.rules.corpus` prints what the reader makes of both halves.
"""

import hashlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import yaml

from evalmark.prompts.rules.checks import AllOf, RuleCheck
from evalmark.prompts.rules.explicit_checks import explicit_check
from evalmark.prompts.rules.labels import OneOf
from evalmark.prompts.rules.rule_parser import check_of
from evalmark.stats.inference.means import share_interval

FILE = Path(__file__).parent / "corpus.yaml"
Half = Literal["development", "held out"]


@dataclass(frozen=True)
class Annotated:
    """One rule with what readers would accept."""

    rule: str
    checks: frozenset[RuleCheck]
    is_whole: bool
    half: Half

    @property
    def found(self) -> frozenset[RuleCheck]:
        """What is read out of the rule."""
        return alone(check_of(self.rule))

    @property
    def fate(self) -> str:
        """`right`, `part` (only some of the checks), `missed`, `left` to the judge as it should be, or `wrong`."""
        check = check_of(self.rule)
        if not (found := alone(check)):
            return "missed" if self.checks else "left"
        claims_more = check is not None and check.is_whole and not (self.is_whole and found == self.checks)
        if not found <= self.checks or claims_more:
            return "wrong"
        return "right" if found == self.checks else "part"


def alone(check: RuleCheck | None) -> frozenset[RuleCheck]:
    """The checks that a check is made of, each as if it were the whole rule."""
    checks = () if check is None else check.checks if isinstance(check, AllOf) else (check,)
    return frozenset(replace(one, is_whole=True) for one in checks)  # type: ignore[type-var]


def annotated(row: dict[str, Any]) -> Annotated:
    """A row of the file."""
    said = row["check"]
    check = explicit_check(said)
    open_case = said != "none" and isinstance(said.get("labels"), list)
    checks = {replace(one, case="unsaid") if open_case and isinstance(one, OneOf) else one for one in alone(check)}
    last = int(hashlib.sha256(row["rule"].encode()).hexdigest()[-1], 16)
    half: Half = "held out" if last % 2 else "development"
    return Annotated(row["rule"], frozenset(checks), not row.get("partial", False), half)


def corpus() -> list[Annotated]:
    """All rules."""
    return [annotated(row) for row in yaml.safe_load(FILE.read_text(encoding="utf-8"))]


def line(name: str, rows: Iterable[Annotated]) -> str:
    """What became of some rules, in a line."""
    fates = [row.fate for row in rows]
    checkable = [fate for fate in fates if fate != "left"]
    right = sum(fate == "right" for fate in checkable)
    wrong = fates.count("wrong")
    interval = share_interval([float(fate == "right") for fate in checkable])
    return (
        f"{name:12} {len(fates):4} rules  {len(checkable):4} checkable  {right:4} recognised  "
        f"recall {right / len(checkable):.1%} (Wilson {interval.low:.1%} to {interval.high:.1%})  "
        f"{fates.count('part')} in part  {wrong} wrong"
    )


if __name__ == "__main__":
    rows = corpus()
    halves = [half for half in ("development", "held out") if half in sys.argv[1:]] or ["development", "held out"]
    for half in halves:
        sys.stdout.write(line(half, [row for row in rows if row.half == half]) + "\n")
    if "--failures" in sys.argv:
        for row in rows:
            if row.half == "development" and row.fate in ("missed", "wrong", "part"):
                sys.stdout.write(f"{row.fate} | {row.rule} | {[one.description for one in row.found]}\n")
