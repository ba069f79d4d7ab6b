"""Recorded sessions and labels, as `evalmark list` and `evalmark show` print them."""

from difflib import get_close_matches
from typing import TYPE_CHECKING

from evalmark.cli.terminal.output import output_look
from evalmark.core.errors import ConfigError
from evalmark.core.values.label import about_output, about_score, about_span
from evalmark.core.values.session import Session
from evalmark.reports.terminal.sessions import session_screen, span_screen

if TYPE_CHECKING:
    from evalmark.core.values.label import Label
    from evalmark.core.values.run import Run
    from evalmark.core.values.score import Result
    from evalmark.core.values.session import Span
    from evalmark.storage.sessions.store import RecordedSession
    from evalmark.storage.store.store import Store


def sessions_of(run_store: "Store", project: str | None, limit: int) -> "list[RecordedSession]":
    """The newest sessions, of one project or of all.

    Raises:
        ConfigError: the project has no sessions.
    """
    found = run_store.sessions.summaries(project, limit)
    if project is not None and not found:
        known = run_store.sessions.projects()
        close = get_close_matches(project, known, n=1)
        several = f"there are sessions of {', '.join(known)}." if known else "there are no sessions in this store yet."
        raise ConfigError(
            f"the project {project!r} has no recorded sessions; {f'did you mean {close[0]}?' if close else several}"
        )
    return found


def describe(run_store: "Store", thing: "Session | Span") -> str:
    """Format a session or a span with the history of its labels."""
    spans = thing.spans if isinstance(thing, Session) else (thing,)
    labels = run_store.sessions.labels([about_span(span.id) for span in spans])
    if isinstance(thing, Session):
        return session_screen(thing, labels, output_look())
    return span_screen(thing, labels, output_look())


def labels_of(run_store: "Store", run: "Run", result: "Result") -> "list[Label]":
    """Return the label history of an output of a run and of its scores."""
    of = run.id, result.trial.id
    scores = (about_score(*of, score.name) for score in result.scores)
    return run_store.sessions.labels([about_output(*of), *scores])
