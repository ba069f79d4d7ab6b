"""What a PostgreSQL server and the way to it report, as one sentence for the person at the keyboard."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from evalmark.errors import StoreBusyError, StoreError, StoreFullError, need

from .ways import Place


@contextmanager
def told(place: Place) -> Iterator[None]:
    """Turn any error of the server into a StoreError that says what to do next.

    Raises:
        StoreError: in the place of any error of the server or of the way to it.
    """
    psycopg = need("psycopg", "postgres")
    errors = psycopg.errors
    try:
        yield
    except (errors.LockNotAvailable, errors.QueryCanceled) as error:
        raise StoreBusyError(
            f"{place}: others have been writing for too long; try again when they are done."
        ) from error
    except (errors.DiskFull, errors.OutOfMemory) as error:
        raise StoreFullError(
            f"{place}: the server has no room ({_first(error)}). Everything acknowledged before is kept: make room there, "
            "then resume the run."
        ) from error
    except errors.InsufficientPrivilege as error:
        raise StoreError(
            f"{place}: this user may not do that ({_first(error)}); the rights that are needed are in docs/store.md."
        ) from error
    except errors.ReadOnlySqlTransaction as error:
        raise StoreError(
            f"{place}: nothing can be written here: it was opened for reading only, or the server is a copy of another."
        ) from error
    except psycopg.OperationalError as error:
        raise StoreError(
            f"{place}: the server cannot be reached, or has ended the connection ({_first(error)}). Everything "
            "acknowledged before is kept."
        ) from error
    except (psycopg.ProgrammingError, UnicodeDecodeError) as error:
        raise StoreError(f"{place}: this is no store, or a damaged one ({_first(error)}).") from error
    except psycopg.Error as error:
        raise StoreError(f"{place}: the store failed ({_first(error)}); nothing saved is lost.") from error


def _first(error: BaseException) -> str:
    """The first line of a message, without a password that the library might repeat."""
    text = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return re.sub(r"(://[^:/@\s]*):[^@\s]*@", r"\1:***@", text)
