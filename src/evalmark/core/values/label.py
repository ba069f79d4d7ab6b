"""What people say of outputs."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .plain_data import fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """One person's word on one output, or on one score of it; never edited, only followed by a later one."""

    about: str
    """`span:ID`, `output:RUN/TRIAL` or `score:RUN/TRIAL/METRIC`, as `about_span`, `about_output` and `about_score` write it."""
    liked: bool | None = None
    """Thumb up or down; None when only a score or a comment was given."""
    score: float | None = None
    """From 0 to 1; None when none was given."""
    comment: str = ""
    by: str
    """Who says so."""
    created: str
    """ISO 8601 in UTC, to the microsecond."""
    content: str
    """Fingerprint of the input and the output it was given for; the same output elsewhere has the same."""
    id: str = ""
    """By which a label of a file is known when the file is read again; empty for one that was given by itself."""

    @property
    def withdrawn(self) -> bool:
        """Whether it takes back what the same person said before."""
        return self.liked is None and self.score is None and not self.comment


def about_span(span: str = "") -> str:
    """What a label on a recorded span is about; without an id, how all of these begin.

    >>> about_span("3f9a")
    'span:3f9a'
    """
    return f"span:{span}"


def about_output(run: str, trial: str = "") -> str:
    """What a label on an output of a run is about; without a trial, how those of the whole run begin.

    >>> about_output("20261121-101500-3f9a", "c4")
    'output:20261121-101500-3f9a/c4'
    """
    return f"output:{run}/{trial}"


def about_score(run: str, trial: str, metric: str) -> str:
    """What a label on a score of an output is about.

    >>> about_score("20261121-101500-3f9a", "c4", "similarity")
    'score:20261121-101500-3f9a/c4/similarity'
    """
    return f"score:{run}/{trial}/{metric}"


UP = frozenset({"up", "like", "liked", "good", "yes", "true", "1", "+1", "👍"})
DOWN = frozenset({"down", "dislike", "disliked", "bad", "no", "false", "0", "-1", "👎"})


def parse_thumb(said: str) -> bool | None:
    """What a word for a thumb means; None where nothing is said.

    >>> parse_thumb("Up"), parse_thumb("👎"), parse_thumb("")
    (True, False, None)

    Raises:
        ValueError: it is no such word.
    """
    word = said.strip().lower()
    if word in UP or word in DOWN:
        return word in UP
    if word:
        raise ValueError(f"the label is {said!r}; it takes up or down")
    return None


def content_fingerprint(given: Any, output: Any) -> str:
    """By which a label knows an output again: the fingerprint of the input and the output.

    >>> content_fingerprint("2 + 2?", "4") == content_fingerprint("2 + 2?", "5")
    False
    """
    return fingerprint("label-1", given, output)


def current_labels(labels: Iterable[Label]) -> tuple[Label, ...]:
    """The last word of each person about each thing, by when it was said; what was withdrawn is left out.

    A score or a comment that comes without a thumb stands beside the thumb that the person gave before.

    >>> up = Label(about="span:1", liked=True, by="ann", created="2026-01-01", content="c")
    >>> down = Label(about="span:1", liked=False, by="ann", created="2026-01-02", content="c")
    >>> [label.liked for label in current_labels([up, down])]
    [False]
    """
    ordered = sorted(labels, key=lambda label: label.created)
    holding: dict[tuple[str, str], list[Label]] = {}
    for label in ordered:
        stays = label.liked is None and not label.withdrawn
        said = holding.get((label.about, label.by), [])
        holding[label.about, label.by] = [one for one in said if stays and one.liked is not None] + [label]
    kept = {id(label) for said in holding.values() for label in said if not label.withdrawn}
    return tuple(label for label in ordered if id(label) in kept)


def majority_vote(labels: Iterable[Label]) -> bool | None:
    """Whether people like an output: what more of them say; None when nobody does, or as many say the contrary.

    >>> up = Label(about="span:1", liked=True, by="ann", created="2026-01-01", content="c")
    >>> majority_vote([up]), majority_vote([])
    (True, None)
    """
    votes = [label.liked for label in current_labels(labels) if label.liked is not None]
    up = sum(votes)
    return None if 2 * up == len(votes) else 2 * up > len(votes)
