"""Turns errors of a PostgreSQL server into messages that say what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from evalmark.core.errors import StoreBusyError, StoreError, StoreFullError
from evalmark.core.lazy import need

from .addresses import ServerLocation, without_password


@contextmanager
def server_errors(place: ServerLocation) -> Iterator[None]:
    """Turn errors of the server within a `with` block into a StoreError that says what to do.

    Raises:
        StoreError: in the place of any error of the server or of the way to it.
    """
    psycopg = need("psycopg", "postgres")
    try:
        yield
    except (psycopg.Error, UnicodeDecodeError) as error:
        for kinds, made, sentence in _sentences(psycopg):
            if isinstance(error, kinds):
                raise made(f"{place}: {sentence.replace('{}', _first_line(error))}") from error
        raise


def _sentences(psycopg: Any) -> list[tuple[Any, type[StoreError], str]]:
    """Return the message for each kind of error; the first match counts. `{}` stands for the server's own message."""
    errors = psycopg.errors
    return [
        (
            errors.LockNotAvailable,
            StoreBusyError,
            "others have been writing for too long; try again when they are done.",
        ),
        (errors.QueryCanceled, StoreError, "the server has stopped a statement ({}); nothing saved is lost."),
        (
            (errors.DiskFull, errors.OutOfMemory),
            StoreFullError,
            "the server has no room ({}). Everything acknowledged before is kept: make room there, then resume the run.",
        ),
        (
            errors.InsufficientPrivilege,
            StoreError,
            "this user may not do that ({}); the rights that are needed are in docs/store.md.",
        ),
        (
            errors.ReadOnlySqlTransaction,
            StoreError,
            "nothing can be written here: it was opened for reading only, or the server is a copy of another.",
        ),
        (
            psycopg.OperationalError,
            StoreError,
            "the server cannot be reached, or has ended the connection ({}). Everything acknowledged before is kept.",
        ),
        ((psycopg.ProgrammingError, UnicodeDecodeError), StoreError, "this is no store, or a damaged one ({})."),
        (psycopg.Error, StoreError, "the store failed ({}); nothing saved is lost."),
    ]


def _first_line(error: BaseException) -> str:
    """Return the first line of a message, without passwords."""
    return without_password((str(error).strip().splitlines() or [type(error).__name__])[0])
