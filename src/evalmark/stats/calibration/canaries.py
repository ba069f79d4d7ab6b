"""Canaries: outputs that no judge should pass, which replace real outputs."""

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from evalmark.core.values.case import Case, Output
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Result
from evalmark.inputs.documents.document import document_of
from evalmark.scoring.binding.text import text_of
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.intervals import LEVEL, Share
from evalmark.stats.inference.means import share

from .audit import verdict_of

CASES = 3
"""The default number of cases for each canary."""
_SLOT = "{{input}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """A text that is no valid output for any input."""

    kind: str
    text: str
    """`{{input}}` stands for the input of the case."""

    @property
    def id(self) -> str:
        """The id: 8 hex digits."""
        return fingerprint("canary-1", self.kind, self.text)[:8]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedCanaries:
    """How many canaries of one kind a judge passed."""

    kind: str
    """Empty: all kinds together."""
    share: Share
    unjudged: int = 0
    """Canaries without a verdict."""
    texts: tuple[str, ...] = ()
    """The distinct texts that passed."""


@cache
def builtin_canaries() -> tuple[Canary, ...]:
    """Return the built-in canaries, grouped by kind."""
    name = "canaries.yaml"
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    said = document_of(text, Path(name), is_text=lambda key: key == "text").data
    return tuple(
        Canary(kind=kind, text=row["text"] * row.get("times", 1)) for kind, rows in said.items() for row in rows
    )


@check_arguments
def canary_cases(results: Iterable[Result], most: int = CASES, seed: int = 0) -> tuple[Case, ...]:
    """Return every canary as the output of some cases, drawn with a fixed seed.

    Cases keep what the judge sees: input, examples, contexts and history. The kind is a tag.
    """
    cases = list({result.trial.case.id: result.trial.case for result in results}.values())
    drawn = random.Random(seed).sample(cases, min(most, len(cases)))  # noqa: S311  no secret
    return tuple(_standing_in(canary, case) for canary in builtin_canaries() for case in drawn)


def _standing_in(canary: Canary, case: Case) -> Case:
    text = canary.text.replace(_SLOT, text_of(case.input))
    given = Output(value=text)
    return replace(case, id=f"{canary.id}/{case.id}", given=given, tags=(canary.kind,), place="")


@check_arguments
def canaries_passed(
    results: Iterable[Result], metric: Metric, *, threshold: float | None = None, level: float = LEVEL
) -> tuple[PassedCanaries, ...]:
    """Return the share of canaries that a judge passed: of all kinds first, then of each kind.

    An unusable verdict does not pass.
    """
    rows: defaultdict[str, list[tuple[str, str, bool | None]]] = defaultdict(list)
    for result in results:
        case = result.trial.case
        for score in result.scores:
            if score.name == metric.name and case.tags:
                told = (case.id.partition("/")[0], text_of(result.output.value), verdict_of(score, threshold))
                rows[case.tags[0]].append(told)
    every = [row for group in rows.values() for row in group]
    return (_passed("", every, level), *(_passed(kind, group, level) for kind, group in rows.items()))


def _passed(kind: str, rows: Sequence[tuple[str, str, bool | None]], level: float) -> PassedCanaries:
    judged = [(name, text, verdict) for name, text, verdict in rows if verdict is not None]
    return PassedCanaries(
        kind=kind,
        # repeats of one canary are clustered
        share=share([int(verdict) for *_, verdict in judged], [name for name, *_ in judged], level),
        unjudged=len(rows) - len(judged),
        texts=tuple(dict.fromkeys(text for _, text, verdict in judged if verdict)),
    )
