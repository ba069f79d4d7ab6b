"""Where the tests record, and how they look at what is there."""

import pytest

from evalmark.recording import flush
from evalmark.store import open_store


@pytest.fixture
def store(world):
    """A store that nobody has opened yet; on leaving, nothing waits for it any more."""
    yield world / "recorded.db"
    flush(10)


@pytest.fixture
def kept(store):
    """Everything that is recorded there, oldest session first, once all is written."""

    def read():
        assert flush(20)
        with open_store(store, read_only=True) as opened:
            return [opened.sessions.session(one.session.id) for one in reversed(opened.sessions.summaries())]

    return read


@pytest.fixture
def answers(kept):
    """All answers, in the order in which they began."""
    return lambda: sorted((span for session in kept() for span in session.answers), key=lambda span: span.started)
