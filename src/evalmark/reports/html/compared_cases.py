"""A case of a comparison with both of its outputs, for the viewer and for reports."""

from collections.abc import Sequence
from dataclasses import dataclass

from evalmark.core.text import one_line
from evalmark.core.values.case import Case
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Result, Score, Verdict
from evalmark.reports.text.changed_cases import CaseScore, deciding_texts
from evalmark.reports.text.numbers import with_minus
from evalmark.reports.text.output_changes import OutputChange, output_change
from evalmark.reports.text.verdicts import short_score
from evalmark.stats.comparison.change import Flip, is_unchanged
from evalmark.stats.comparison.compared_cases import CaseOutcome
from evalmark.stats.comparison.flip_examples import FlipExample

from .escaping import page_text, visible
from .markdown import plain_text


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedOutput:
    """The result of one side."""

    result: Result
    verdict: Verdict
    is_cut: bool = False
    """Whether the result is too large for a page, and only its beginning is there."""
    href: str = ""
    """The page of the result; empty without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedCase:
    """A case with its results of both sides."""

    key: tuple[str, str]
    """The dataset and the id."""
    target: str
    outcome: CaseOutcome | None
    flip: Flip | None
    """How it changed by the deciding metric, or between pass and fail; None if it did not."""
    before: ComparedOutput | None
    now: ComparedOutput | None
    scores: Sequence[CaseScore]

    @property
    def case(self) -> Case | None:
        """The case; None if its results are gone, or too large for a page."""
        shown = self.now or self.before
        return None if shown is None or shown.is_cut else shown.result.trial.case

    @property
    def is_cut(self) -> bool:
        """Whether one of the results is too large for a page."""
        return any(side is not None and side.is_cut for side in (self.before, self.now))

    @property
    def change(self) -> OutputChange | None:
        """The difference of the outputs; None unless both sides have a whole one."""
        if self.is_cut or self.before is None or self.now is None:
            return None
        old, new = self.before.result.output, self.now.result.output
        if old.error is not None or new.error is not None:
            return None
        return plain_change(_comparable(old.value), _comparable(new.value))

    @property
    def is_markdown(self) -> bool:
        """Whether an output is drawn as Markdown."""
        sides = (self.before, self.now)
        return any(side is not None and _is_markdown(side.result.output.value) for side in sides)

    @property
    def reasons(self) -> Sequence[tuple[str, str]]:
        """The scores that decided and have a reason, before and now."""
        if self.before is None or self.now is None:
            return ()
        metric = self.flip.metric if self.flip else ""
        return deciding_texts(self.before.result, self.now.result, metric, with_reason=True)


def plain_change(before: object, now: object) -> OutputChange:
    """Compare two outputs by what readers see of them: Markdown does not count, but is named where only it differs."""
    change = output_change(plain_text(before), plain_text(now))
    return change._replace(is_reformatted=change.kind == "same" and before != now and isinstance(now, str))


def _is_markdown(value: object) -> bool:
    return isinstance(value, str) and plain_text(value) != value


def _comparable(value: object) -> object:
    return visible(page_text(value).shown) if isinstance(value, str) else value


def case_of_example(example: FlipExample, metrics: Sequence[Metric] = ()) -> ComparedCase:
    """Return the case of an example, for reports, which have no pages of cases."""
    before, now = (ComparedOutput(result=one, verdict=one.verdict) for one in (example.before, example.now))
    flip = example.flip
    return ComparedCase(
        key=(flip.dataset, flip.case),
        target=flip.target,
        outcome="worse" if flip.is_worse else "better",
        flip=flip,
        before=before,
        now=now,
        scores=_scores(example, {metric.name: metric for metric in metrics}),
    )


def with_labels(scores: Sequence[CaseScore], before: Result, now: Result, metrics: Sequence[Metric]) -> list[CaseScore]:
    """Replace yes and no by the labels of two results, where the scorer returned labels."""
    known = {metric.name: metric for metric in metrics}
    old = {score.name: score for score in before.scores}
    labelled = {
        one_line(score.name, 60): _case_score(old[score.name], score, known.get(score.name))
        for score in now.scores
        if score.name in old and isinstance(score.raw, str)
    }
    return [score if score.difference else labelled.get(score.metric, score) for score in scores]


def _scores(example: FlipExample, metrics: dict[str, Metric]) -> list[CaseScore]:
    before = {score.name: score for score in example.before.scores}
    pairs = [(before[score.name], score) for score in example.now.scores if score.name in before]
    return [_case_score(old, new, metrics.get(new.name)) for old, new in pairs]


def _case_score(old: Score, new: Score, metric: Metric | None) -> CaseScore:
    before, now = _number(old), _number(new)
    in_units = old.value is None and new.value is None
    outcome, difference = None, ""
    if before is not None and now is not None and in_units == (new.value is None):
        is_better = (now > before) == (new.direction == "higher")
        outcome = _outcome(is_better, is_same=is_unchanged(before, now, in_units=in_units))
        if not isinstance(new.raw, bool):
            difference = with_minus(f"{now - before:{'+z.3g' if in_units else '+z.3f'}}")
    return CaseScore(
        metric=one_line(new.name, 60),
        before=short_score(old, metric),
        now=short_score(new, metric),
        difference=difference,
        outcome=outcome,
    )


def _outcome(is_better: bool, *, is_same: bool) -> CaseOutcome:
    return "same" if is_same else "better" if is_better else "worse"


def _number(score: Score) -> float | None:
    """Return the value of a score, or what it measured in its unit."""
    if score.value is not None or score.status != "scored" or isinstance(score.raw, bool):
        return score.value
    return score.raw if isinstance(score.raw, int | float) else None
