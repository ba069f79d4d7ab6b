"""Human labels of outputs and scores."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .plain_data import fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """One person's label of an output or a score. Labels are never edited; a later one replaces an earlier one."""

    about: str
    """`span:ID`, `output:RUN/TRIAL` or `score:RUN/TRIAL/METRIC`, as `about_span`, `about_output` and `about_score` write it."""
    liked: bool | None = None
    """Thumb up or down; None if only a score or a comment was given."""
    score: float | None = None
    """From 0 to 1; None if none was given."""
    comment: str = ""
    by: str
    """The person who gave the label."""
    created: str
    """ISO 8601 in UTC, to the microsecond."""
    content: str
    """Fingerprint of the input and output; an identical output in another run has the same one."""
    id: str = ""
    """Identifies a label from a file when the file is imported again; empty for a label given interactively."""

    @property
    def withdrawn(self) -> bool:
        """Whether it withdraws the person's earlier label."""
        return self.liked is None and self.score is None and not self.comment


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSample:
    """Outputs of a run that were drawn at random to be labelled."""

    run: str
    trials: tuple[str, ...]
    """Trial ids of the drawn outputs, in the order in which they are labelled."""
    by_verdict: str = ""
    """The metric by whose verdicts outputs were grouped; each group got the same number of draws. Empty: no groups."""
    outputs: int
    """The number of outputs that were drawn from."""
    created: str
    """ISO 8601 in UTC."""


def about_span(span: str = "") -> str:
    """Make the `about` of a label on a recorded span; without an id, the prefix of all of these.

    >>> about_span("3f9a")
    'span:3f9a'
    """
    return f"span:{span}"


def about_output(run: str, trial: str = "") -> str:
    """Make the `about` of a label on an output; without a trial, the prefix for the whole run.

    >>> about_output("20261121-101500-3f9a", "c4")
    'output:20261121-101500-3f9a/c4'
    """
    return f"output:{run}/{trial}"


def about_score(run: str, trial: str, metric: str) -> str:
    """Make the `about` of a label on a score.

    >>> about_score("20261121-101500-3f9a", "c4", "similarity")
    'score:20261121-101500-3f9a/c4/similarity'
    """
    return f"score:{run}/{trial}/{metric}"


UP = frozenset({"up", "like", "liked", "good", "yes", "true", "1", "+1", "👍"})
DOWN = frozenset({"down", "dislike", "disliked", "bad", "no", "false", "0", "-1", "👎"})


def parse_thumb(text: str) -> bool | None:
    """Read a word for thumb up or down; an empty text is None.

    >>> parse_thumb("Up"), parse_thumb("👎"), parse_thumb("")
    (True, False, None)

    Raises:
        ValueError: the word is unknown.
    """
    word = text.strip().lower()
    if word in UP or word in DOWN:
        return word in UP
    if word:
        raise ValueError(f"the label is {text!r}; it takes up or down")
    return None


def content_fingerprint(given: Any, output: Any) -> str:
    """Make the fingerprint of an input and an output, by which a label finds the same output again.

    >>> content_fingerprint("2 + 2?", "4") == content_fingerprint("2 + 2?", "5")
    False
    """
    return fingerprint("label-1", given, output)


def current_labels(labels: Iterable[Label]) -> tuple[Label, ...]:
    """Return each person's latest label of each output or score, by time; withdrawn labels are left out.

    A score or comment without a thumb does not replace the person's earlier thumb.

    >>> up = Label(about="span:1", liked=True, by="ann", created="2026-01-01", content="c")
    >>> down = Label(about="span:1", liked=False, by="ann", created="2026-01-02", content="c")
    >>> [label.liked for label in current_labels([up, down])]
    [False]
    """
    ordered = sorted(labels, key=lambda label: label.created)
    latest: dict[tuple[str, str], list[Label]] = {}
    for label in ordered:
        stays = label.liked is None and not label.withdrawn
        earlier = latest.get((label.about, label.by), [])
        latest[label.about, label.by] = [one for one in earlier if stays and one.liked is not None] + [label]
    current = {id(label) for group in latest.values() for label in group if not label.withdrawn}
    return tuple(label for label in ordered if id(label) in current)


def majority_vote(labels: Iterable[Label]) -> bool | None:
    """Return whether most people like an output; None for a tie or without any vote.

    >>> up = Label(about="span:1", liked=True, by="ann", created="2026-01-01", content="c")
    >>> majority_vote([up]), majority_vote([])
    (True, None)
    """
    votes = [label.liked for label in current_labels(labels) if label.liked is not None]
    up = sum(votes)
    return None if 2 * up == len(votes) else 2 * up > len(votes)
