"""Collects labelled outputs for calibration, and counts labels that cannot be used."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalmark.core.values.case import Case, Output
from evalmark.core.values.label import Label, LabelSample, about_output, content_fingerprint, current_labels
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.score import Result
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.storage.sessions.examples import LabelledAnswers


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledOutput:
    """An output with its final label."""

    key: str
    """The key of its scores: the id of the trial, or of the case made from it."""
    cluster: str
    """The case it belongs to; outputs for one input may depend on each other."""
    content: str
    """The fingerprint of input and output."""
    liked: bool
    votes: tuple[bool, ...] = ()
    """The vote of each person, if known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelEvidence:
    """Labelled outputs, and the numbers of outputs and labels that are left out."""

    labelled: tuple[LabelledOutput, ...]
    """Outputs with a final label."""
    source: str = ""
    """The source as part of a sentence: `project demo`, `run 2026…`, `file rows.jsonl`."""
    contested: int = 0
    """Outputs with as many thumbs up as down."""
    tied: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)
    """The votes on the contested outputs of a run, by trial id."""
    unlabelled: int = 0
    """Outputs without a thumb."""
    failed: int = 0
    """Labelled outputs that ended in an error."""
    gone: int = 0
    """Labels on outputs that no longer exist."""
    samples: tuple[LabelSample, ...] = ()
    """Outputs of the run that evalmark drew to be labelled."""

    @property
    def liked(self) -> int:
        """The number of liked outputs."""
        return sum(one.liked for one in self.labelled)

    @property
    def disliked(self) -> int:
        """The number of disliked outputs."""
        return len(self.labelled) - self.liked

    @property
    def outputs(self) -> int:
        """The number of outputs without an error, labelled or not."""
        return len(self.labelled) + self.contested + self.unlabelled

    @property
    def contradicting(self) -> int:
        """The number of outputs that are liked in one place and disliked in another; each label counts."""
        contents = {liked: {one.content for one in self.labelled if one.liked is liked} for liked in (True, False)}
        return len(contents[True] & contents[False])

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the set of labels; it does not depend on their order."""
        return fingerprint("labels-1", sorted({(one.content, one.liked) for one in self.labelled}))


@check_arguments
def votes(labels: Iterable[Label]) -> tuple[bool, ...]:
    """Return each person's last thumb on an output that was not withdrawn, wherever the output occurs.

    >>> up = Label(about="span:1", liked=True, by="ann", created="2026-01-01", content="c")
    >>> down = Label(about="output:r/t", liked=False, by="ann", created="2026-01-02", content="c")
    >>> votes([up, down])
    (False,)
    """
    last: dict[str, bool] = {}
    for label in current_labels(label for label in labels if not label.about.startswith("score:")):
        if label.liked is not None:
            last[label.by] = label.liked
    return tuple(last.values())


@check_arguments
def evidence_from_results(
    run: str, results: Iterable[Result], labels: Iterable[Label], source: str = ""
) -> LabelEvidence:
    """Collect labels on the outputs of a run, or on equal outputs elsewhere.

    `labels` may contain any labels; those on scores are ignored.
    """
    by_content: defaultdict[str, list[Label]] = defaultdict(list)
    named: set[str] = set()
    for label in labels:
        by_content[label.content].append(label)
        if label.about.startswith(about_output(run)):
            named.add(label.about.removeprefix(about_output(run)))
    labelled: list[LabelledOutput] = []
    tied: dict[str, tuple[bool, ...]] = {}
    unlabelled = failed = 0
    for result in results:
        trial = result.trial
        named.discard(trial.id)
        cast = votes(by_content.get(content_fingerprint(trial.case.input, result.output.value), ()))
        if result.output.error is not None:
            failed += bool(cast)
        elif not cast:
            unlabelled += 1
        elif 2 * sum(cast) == len(cast):
            tied[trial.id] = cast
        else:
            labelled.append(_labelled_output(trial.id, trial.case, result.output, cast))
    return LabelEvidence(
        labelled=tuple(labelled),
        source=source or f"run {run}",
        contested=len(tied),
        tied=tied,
        unlabelled=unlabelled,
        failed=failed,
        gone=len(named),
    )


@check_arguments
def label_scores(results: Iterable[Result], labels: Iterable[Label]) -> dict[str, float]:
    """Return the mean of people's scores of outputs, by trial id; equal outputs elsewhere count, too."""
    by_content: defaultdict[str, list[Label]] = defaultdict(list)
    for label in labels:
        if not label.about.startswith("score:"):
            by_content[label.content].append(label)
    found = {}
    for result in results:
        content = content_fingerprint(result.trial.case.input, result.output.value)
        given = {one.by: one.score for one in current_labels(by_content.get(content, ())) if one.score is not None}
        if given and result.output.error is None:
            found[result.trial.id] = math.fsum(given.values()) / len(given)
    return found


def _labelled_output(key: str, case: Case, output: Output, cast: tuple[bool, ...]) -> LabelledOutput:
    content = content_fingerprint(case.input, output.value)
    return LabelledOutput(
        key=key, cluster=cluster_of(case.input), content=content, liked=2 * sum(cast) > len(cast), votes=cast
    )


@check_arguments
def evidence_from_sessions(found: LabelledAnswers, source: str) -> LabelEvidence:
    """Collect labels on recorded answers; the key of each is its span id."""
    labelled = (
        LabelledOutput(
            key=one.span.id,
            cluster=cluster_of(one.span.input),
            content=content_fingerprint(one.span.input, one.span.output),
            liked=one.liked,
        )
        for one in found.labelled
    )
    return LabelEvidence(
        labelled=tuple(labelled),
        source=source,
        contested=found.contested,
        unlabelled=found.unlabelled,
        failed=found.failed,
    )


@check_arguments
def evidence_from_rows(cases: Sequence[Case], liked: Mapping[str, bool | None], source: str) -> LabelEvidence:
    """Collect labels from the rows of a file, which contain outputs; `liked` maps case ids to labels."""
    labelled = []
    for case in cases:
        thumb = liked.get(case.id)
        if thumb is not None and case.given is not None:
            labelled.append(_labelled_output(case.id, case, case.given, (thumb,)))
    return LabelEvidence(labelled=tuple(labelled), source=source, unlabelled=len(cases) - len(labelled))


@check_arguments
def cluster_of(given: Any) -> str:
    """Return the id of the case for an input."""
    return fingerprint("case-of-1", given)[:16]
