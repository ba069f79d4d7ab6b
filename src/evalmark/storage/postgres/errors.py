"""Turns errors of a PostgreSQL server into messages that say what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from evalmark.core.errors import StoreBusyError, StoreError, StoreFullError
from evalmark.core.lazy import need

from .addresses import ServerLocation, without_password


@contextmanager
def server_errors(location: ServerLocation) -> Iterator[None]:
    """Turn errors of the server within a `with` block into a StoreError that says what to do.

    Raises:
        StoreError: in place of any error of the server or of the connection.
    """
    psycopg = need("psycopg", "postgres")
    try:
        yield
    except (psycopg.Error, UnicodeDecodeError) as error:
        for kinds, made, sentence in _sentences(psycopg):
            if isinstance(error, kinds):
                raise made(f"{location}: {sentence.replace('{}', _first_line(error))}") from error
        raise


def _sentences(psycopg: Any) -> list[tuple[Any, type[StoreError], str]]:
    """Return the message for each kind of error; the first match counts. `{}` stands for the server's own message."""
    errors = psycopg.errors
    return [
        (
            errors.LockNotAvailable,
            StoreBusyError,
            "other processes have been writing for too long; try again later.",
        ),
        (errors.QueryCanceled, StoreError, "the server has stopped a statement ({}); nothing saved is lost."),
        (
            (errors.DiskFull, errors.OutOfMemory),
            StoreFullError,
            "the server has no free space ({}). Everything saved before is kept: free space and try again; a stopped run can be resumed.",
        ),
        (
            errors.InsufficientPrivilege,
            StoreError,
            "this user lacks a permission ({}); docs/how-to/team-store.md lists the permissions that are needed.",
        ),
        (
            errors.ReadOnlySqlTransaction,
            StoreError,
            "the store cannot be written: it was opened for reading only, or the server is a read-only replica.",
        ),
        (
            psycopg.OperationalError,
            StoreError,
            "the server cannot be reached, or has ended the connection ({}). Everything saved before is kept.",
        ),
        ((psycopg.ProgrammingError, UnicodeDecodeError), StoreError, "this is not a store, or it is damaged ({})."),
        (psycopg.Error, StoreError, "the store failed ({}); nothing saved is lost."),
    ]


def _first_line(error: BaseException) -> str:
    """Return the first line of a message, without passwords."""
    return without_password((str(error).strip().splitlines() or [type(error).__name__])[0])
