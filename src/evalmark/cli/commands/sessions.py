"""Recorded sessions and labels, as `evalmark list` and `evalmark show` print them."""

from difflib import get_close_matches
from typing import TYPE_CHECKING

from evalmark.cli.terminal.output import terminal_style
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
    sessions = run_store.sessions.summaries(project, limit)
    if project is not None and not sessions:
        projects = run_store.sessions.projects()
        close = get_close_matches(project, projects, n=1)
        several = (
            f"there are sessions of {', '.join(projects)}." if projects else "there are no sessions in this store yet."
        )
        raise ConfigError(
            f"the project {project!r} has no recorded sessions; {f'did you mean {close[0]}?' if close else several}"
        )
    return sessions


def describe(run_store: "Store", item: "Session | Span") -> str:
    """Format a session or a span with the history of its labels."""
    spans = item.spans if isinstance(item, Session) else (item,)
    labels = run_store.sessions.labels([about_span(span.id) for span in spans])
    if isinstance(item, Session):
        return session_screen(item, labels, terminal_style())
    return span_screen(item, labels, terminal_style())


def labels_of(run_store: "Store", run: "Run", result: "Result") -> "list[Label]":
    """Return the label history of an output of a run and of its scores."""
    run_and_trial = run.id, result.trial.id
    scores = (about_score(*run_and_trial, score.name) for score in result.scores)
    return run_store.sessions.labels([about_output(*run_and_trial), *scores])
