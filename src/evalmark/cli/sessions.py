"""What `evalmark list` and `evalmark show` say of recorded sessions and of labels."""

from difflib import get_close_matches
from typing import TYPE_CHECKING

from evalmark import console, labelling, values
from evalmark.errors import ConfigError
from evalmark.shell.terminal import look

if TYPE_CHECKING:
    from evalmark.store import Store
    from evalmark.traffic import Recorded
    from evalmark.values import Label, Result, Run, Session, Span


def sessions_of(ledger: "Store", project: str | None, limit: int) -> "list[Recorded]":
    """The newest sessions, of one project or of all.

    Raises:
        ConfigError: nothing is recorded of the project.
    """
    found = ledger.traffic.sessions(project, limit)
    if project is not None and not found:
        known = ledger.traffic.projects()
        close = get_close_matches(project, known, n=1)
        several = f"there are sessions of {', '.join(known)}." if known else "there are no sessions in this store yet."
        raise ConfigError(f"nothing is recorded of {project!r}; {f'did you mean {close[0]}?' if close else several}")
    return found


def shown(ledger: "Store", thing: "Session | Span") -> str:
    """A session or a span in full, with the history of its labels."""
    spans = thing.spans if isinstance(thing, values.Session) else (thing,)
    labels = labelling.history(ledger, [values.about_span(span.id) for span in spans])
    if isinstance(thing, values.Session):
        return console.one_session(thing, labels, look())
    return console.one_span(thing, labels, look())


def labels_of(ledger: "Store", run: "Run", result: "Result") -> "list[Label]":
    """What was ever said of an output of a run and of its scores."""
    of = run.id, result.trial.id
    scores = (values.about_score(*of, score.name) for score in result.scores)
    return labelling.history(ledger, [values.about_output(*of), *scores])
