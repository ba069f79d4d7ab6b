"""Whether the process that writes a run is still there: of a file its number tells, of a server the server itself."""

from contextlib import suppress

from evalmark.errors import StoreError

from .holder import Holder, is_gone, started
from .server import ServerConnection
from .ways import Connection


def hold(db: Connection, run: int, pass_: int) -> None:
    """Let others know that this connection writes a pass of a run, as long as it lasts; in a file, `holder` says so."""
    if isinstance(db, ServerConnection):
        db.hold(run, pass_)


def let_go(db: Connection, run: int, pass_: int) -> None:
    """The run is written no longer."""
    if isinstance(db, ServerConnection):
        with suppress(StoreError):  # a connection that has ended holds nothing
            db.let_go(run, pass_)


def has_left(db: Connection, run: int, pass_: int, holder: Holder, here: Holder) -> bool:
    """Whether the one who wrote a pass of a run has certainly ended.

    On a server that is known of every machine, since a lock ends with its connection. In a file nothing is certain of
    another machine.
    """
    if isinstance(db, ServerConnection):
        return not db.is_held(run, pass_)
    return is_gone(holder, here, started)
