"""Find what an id denotes, and store labels on it."""

import getpass
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

from evalmark.core.case_titles import case_title
from evalmark.core.errors import ConfigError, NotFoundError
from evalmark.core.suggestions import did_you_mean
from evalmark.core.text import count
from evalmark.core.values.label import Label, about_output, about_score, about_span, content_fingerprint, current_labels
from evalmark.core.values.run import Run
from evalmark.core.values.score import Result
from evalmark.core.values.session import Session, Span, session_id_for_key
from evalmark.inputs.secrets.masks import mask_secrets

if TYPE_CHECKING:
    from evalmark.storage.sessions.store import RecordedId
    from evalmark.storage.store.store import Store

_NAMED = 5
"""Most ids that a message about an ambiguous id lists."""
_GIT_SECONDS = 5.0
MAX_NAME_CHARS = 200
"""Most characters of the name of an annotator, because of the cookie of the viewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSelector:
    """Selects an output of a run, or one of its scores; fields that are None match anything."""

    case: str | None = None
    """The id of a case, or a unique start of one."""
    target: str | None = None
    repeat: int | None = None
    """Counted from 1, as in reports."""
    dataset: str | None = None
    metric: str | None = None
    """Selects the score of this metric instead of the output."""


NO_SELECTOR = OutputSelector()


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSubject:
    """An output, score or span that can be labelled."""

    about: str
    """As in `Label`."""
    content: str
    """As in `Label`."""
    title: str
    """Its name in messages."""
    is_error: bool = False
    """Whether it is the output of a run and is an error, so that there is nothing to call good or bad."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLabel:
    """A label to store; without thumb, score and comment it withdraws the earlier label of the annotator."""

    by: str
    liked: bool | None = None
    score: float | None = None
    """From 0 to 1."""
    comment: str = ""
    id: str = ""
    """Identifies a label of a file when the file is read again; empty for other labels."""

    @property
    def withdraws(self) -> bool:
        """Whether it withdraws the earlier label."""
        return self.liked is None and self.score is None and not self.comment


def find_labelled(store: "Store", reference: str) -> Run | Session | Span:
    """Return the run, session or span with an id, with a unique start of an id, or with a session key of the app.

    Raises:
        ConfigError: The reference is ambiguous.
        NotFoundError: There is none.
    """
    recorded = _by_id(store, reference)
    try:
        run = store.run(reference)
    except NotFoundError as fault:
        recorded = recorded or _sessions_with_key(store, reference)
        if not recorded:
            raise _unknown(store, reference, fault) from None
        run = None
    candidates = ([] if run is None else [f"run {run.id}"]) + [f"{one.kind} {one.id}" for one in recorded]
    if len(candidates) > 1 and (run is None or run.id != reference):
        raise ConfigError(_ambiguous(reference, candidates))
    if run is not None:
        return run
    one = recorded[0]
    return store.sessions.session(one.id) if one.kind == "session" else store.sessions.span(one.id)


def find_session_or_span(store: "Store", reference: str) -> "RecordedId | None":
    """Return the kind and id of a session or span without reading it; None if there is none.

    Raises:
        ConfigError: The reference is ambiguous.
    """
    recorded = _by_id(store, reference) or _sessions_with_key(store, reference)
    if len(recorded) > 1:
        raise ConfigError(_ambiguous(reference, [f"{one.kind} {one.id}" for one in recorded]))
    return recorded[0] if recorded else None


def _by_id(store: "Store", reference: str) -> "list[RecordedId]":
    recorded = store.sessions.with_prefix(reference)
    return [one for one in recorded if one.id == reference] or recorded


def _ambiguous(reference: str, candidates: Sequence[str]) -> str:
    return f"{reference!r} could be {_join_names(candidates)}; write more of the id."


def _sessions_with_key(store: "Store", key: str) -> "list[RecordedId]":
    """The sessions of all projects with this session key."""
    ids = [session_id_for_key(project, key) for project in store.sessions.projects()]
    return [one for i in ids for one in store.sessions.with_prefix(i) if one.kind == "session"]


def _unknown(store: "Store", reference: str, fault: NotFoundError) -> NotFoundError:
    if not store.sessions.projects():
        return fault
    if reference.startswith("last"):
        return NotFoundError(f"{fault} Recorded sessions have ids: evalmark list sessions")
    return NotFoundError(f"{fault} No recorded session has this id either; they are listed by: evalmark list sessions")


def find_subject(store: "Store", reference: str, which: OutputSelector = NO_SELECTOR) -> LabelSubject:
    """Return what a label on an id belongs to: a span, the only answer of a session, or an output of a run.

    Raises:
        ConfigError: It is a session with several answers or a run without a selected case, or `which` matches none or several outputs.
        StoreError: Nothing has this id.
    """
    return select_subject(find_labelled(store, reference), which)


def select_subject(labelled: Run | Session | Span, which: OutputSelector) -> LabelSubject:
    """Return the subject of labels on a span, a session with one answer, or an output of a run.

    Raises:
        ConfigError: See `find_subject`.
    """
    if isinstance(labelled, Run):
        return _output(labelled, which)
    if which != NO_SELECTOR:
        raise ConfigError(
            f"{labelled.id} is not a run, so it has no cases; leave out --case, --target, --repeat, --dataset and --metric."
        )
    return span_subject(_only_answer(labelled) if isinstance(labelled, Session) else labelled)


def span_subject(span: Span) -> LabelSubject:
    """Return the subject of labels on a recorded span."""
    named = f" ({span.name})" if span.name else ""
    content = content_fingerprint(span.input, span.output)
    return LabelSubject(about=about_span(span.id), content=content, title=f"span {span.id}{named} of {span.project}")


def result_subject(run: str, result: Result, metric: str | None = None) -> LabelSubject:
    """Return the subject of labels on an output of a run, or on one of its scores.

    Raises:
        ConfigError: There is no such score.
    """
    names = [score.name for score in result.scores]
    trial = result.trial
    name = case_title(trial.case.id, trial.case.input, trial.position)
    if metric is not None and metric not in names:
        advice = did_you_mean(metric, names) or f"its scores are {_join_names(names)}."
        raise ConfigError(f"{run}: {name!r} has no score {metric!r}; {advice}")
    content = content_fingerprint(trial.case.input, result.output.value)
    if metric is None:
        about, title = about_output(run, trial.id), f"the output for {name!r} in {run}"
    else:
        about, title = about_score(run, trial.id, metric), f"{metric} of {name!r} in {run}"
    is_error = metric is None and result.output.error is not None
    return LabelSubject(about=about, content=content, title=title, is_error=is_error)


def save_labels(
    store: "Store", new: Sequence[tuple[LabelSubject, NewLabel]], created: str | None = None
) -> list[Label]:
    """Store labels, all or none; earlier labels stay in the history. Return the labels that are new.

    A label with an id that is stored already is skipped. Keys and passwords in comments are masked.

    Raises:
        ConfigError: A label is invalid; none is stored.
        StoreError: The store cannot be written.
    """
    if faults := list(check_labels(store, new)):
        raise ConfigError.of(faults)
    when = created or datetime.now(UTC).isoformat(timespec="microseconds")
    labels = [
        Label(
            about=subject.about,
            liked=label.liked,
            score=label.score,
            comment=mask_secrets(label.comment),
            by=label.by,
            created=when,
            content=subject.content,
            id=label.id,
        )
        for subject, label in new
    ]
    stored_ids = store.sessions.add_labels(labels)
    return [label for label in labels if label.id not in stored_ids]


def check_labels(store: "Store", new: Sequence[tuple[LabelSubject, NewLabel]]) -> Iterable[str]:
    """Yield an error message for each fault of the labels."""
    for subject, label in new:
        if not label.by.strip():
            yield f"{subject.title}: the label has no annotator; name one with --by."
        if len(label.by) > MAX_NAME_CHARS:
            yield f"{subject.title}: the name of the annotator has {len(label.by):,} characters; {MAX_NAME_CHARS} are the most."
        if label.score is not None and not 0 <= label.score <= 1:
            yield f"{subject.title}: the score is {label.score:g}; use a number from 0 to 1."
    withdrawn = [(subject, label) for subject, label in new if label.withdraws]
    if not withdrawn:
        return
    existing = {
        (label.about, label.by) for label in current_labels(store.sessions.labels({one.about for one, _ in withdrawn}))
    }
    for subject, label in withdrawn:
        if (subject.about, label.by) not in existing:
            yield f"{subject.title}: {label.by} has no label to withdraw."


def current_user(environ: Mapping[str, str]) -> str:
    """Return the name of the user: `user.name` of git, otherwise the user of the system.

    Raises:
        ConfigError: Neither is known.
    """
    command = ["git", "config", "user.name"]
    try:
        name = subprocess.run(  # noqa: S603  a fixed command
            command, capture_output=True, text=True, check=False, timeout=_GIT_SECONDS, env=dict(environ)
        ).stdout
        return name.strip() or getpass.getuser()
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        pass
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container whose user has no name
        raise ConfigError("Your name is unknown; set it with --by.") from None


def _only_answer(session: Session) -> Span:
    answers = session.answers
    if len(answers) == 1:
        return answers[0]
    if not answers:
        raise ConfigError(f"Session {session.id} has no answer that could be labelled.")
    raise ConfigError(
        f"Session {session.id} has {len(answers)} answers, {_join_names([span.id for span in answers])}; name one by its id."
    )


def _output(run: Run, which: OutputSelector) -> LabelSubject:
    if which.case is None:
        raise ConfigError(f"{run.id} is a run; select an output with --case ID, or in a file with a column `case`.")
    results = [result for result in run.results if _fits(result, which)]
    ids = {result.trial.case.id for result in results}
    if which.case in ids:
        ids = {which.case}
    if not ids:
        raise ConfigError(
            f"{run.id} has no output for case {which.case!r}{_other_criteria(which)}; all cases: evalmark report {run.id} -o cases.csv"
        )
    if len(ids) > 1:
        raise ConfigError(f"{run.id}: {which.case!r} could be case {_join_names(sorted(ids))}; write more of the id.")
    results = [result for result in results if result.trial.case.id in ids]
    if len(results) > 1:
        raise ConfigError(
            f"{run.id} has {len(results)} outputs for case {min(ids)!r}; {_distinguishing_flags(results)}"
        )
    return result_subject(run.id, results[0], which.metric)


def _fits(result: Result, which: OutputSelector) -> bool:
    trial, case = result.trial, which.case or ""
    return (
        (trial.case.id.startswith(case) or case_title(trial.case.id, trial.case.input).startswith(case))
        and which.target in (None, trial.target)
        and which.repeat in (None, trial.repeat + 1)
        and which.dataset in (None, trial.dataset)
    )


def _other_criteria(which: OutputSelector) -> str:
    criteria = {"target": which.target, "repeat": which.repeat, "dataset": which.dataset}
    return "".join(f", {name} {value}" for name, value in criteria.items() if value is not None)


def _distinguishing_flags(results: Sequence[Result]) -> str:
    """Name the flags that distinguish several outputs for one case."""
    trials = [result.trial for result in results]
    differ = {
        "--target": list(dict.fromkeys(trial.target for trial in trials)),
        "--repeat": list(dict.fromkeys(str(trial.repeat + 1) for trial in trials)),
        "--dataset": list(dict.fromkeys(trial.dataset for trial in trials)),
    }
    flags = [f"{flag} ({_join_names(values)})" for flag, values in differ.items() if len(values) > 1]
    return (
        f"select one with {' and '.join(flags)}."
        if flags
        else "one is a turn of a conversation; label it in the viewer."
    )


def _join_names(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(islice(names, _NAMED)) + (f" and {count(more, 'other')}" if more > 0 else "")
