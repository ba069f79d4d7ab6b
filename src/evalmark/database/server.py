"""A store on a PostgreSQL server: the connection, as those who read and write a store know it."""

import re
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from evalmark.errors import ConfigError, StoreBusyError, StoreError, StoreFullError, need

from .dialect import for_server
from .fields import OddText

if TYPE_CHECKING:
    import psycopg

SCHEMES = ("postgresql", "postgres")
SCHEMA = "evalmark"
"""Where the tables are unless the address says otherwise."""
_ONE_WRITER = 0x65766D6B
"""The lock of whoever writes: as in a file, one transaction writes at a time, so none has to give up for another."""
_LONGEST_WAIT = 60_000
"""Milliseconds."""
_ODD = "\ufdd0"
"""Stands before a text that the server could not keep; no text has it, since it is no character."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class Server:
    """A place for a store on a server."""

    url: str = field(repr=False)
    """As the user wrote it; it may hold a password."""
    schema: str
    folder: Path
    """Where this machine keeps what stands beside a store: notes of requests under way."""

    def __str__(self) -> str:
        """The address without user, password and options."""
        parts = urlsplit(self.url)
        named = f"?schema={self.schema}" if self.schema != SCHEMA else ""
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}{named}"

    @property
    def name(self) -> str:
        """A name for files that belong to this store, and for titles."""
        return re.sub(r"[^A-Za-z0-9.-]+", "-", str(self))

    @property
    def parent(self) -> Path:
        """The folder of these files."""
        return self.folder

    def with_name(self, name: str) -> Path:
        """A file beside the store, on this machine."""
        return self.folder / name


def is_address(place: str) -> bool:
    """Whether a place for a store is on a server.

    >>> is_address("postgresql://db/evals"), is_address(".evalmark/evalmark.db")
    (True, False)
    """
    return place.partition("://")[0] in SCHEMES and "://" in place


def server_at(address: str, folder: Path) -> Server:
    """The place that an address names.

    Raises:
        ConfigError: the schema in it is no name.
    """
    parts = urlsplit(address)
    options = parse_qsl(parts.query, keep_blank_values=True)
    schema = next((value for name, value in options if name == "schema"), SCHEMA)
    if not _NAME.fullmatch(schema):
        raise ConfigError(f"--store: the schema {schema!r} has to be a name of letters, digits and _.")
    rest = urlencode([(name, value) for name, value in options if name != "schema"])
    return Server(url=urlunsplit(parts._replace(query=rest)), schema=schema, folder=folder)


class Rows:
    """What a statement has found."""

    def __init__(self, cursor: "psycopg.RawCursor[Any]") -> None:
        self._cursor = cursor
        self.changed = cursor.rowcount
        self._has_rows = cursor.description is not None

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._cursor if self._has_rows else ())

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, or None."""
        return self._cursor.fetchone() if self._has_rows else None

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        return self._cursor.fetchall() if self._has_rows else []

    @property
    def get(self) -> Any:
        """The one value of the first row; a row of several values whole; None without a row."""
        row = self.fetchone()
        return row[0] if row is not None and len(row) == 1 else row


class ServerConnection:
    """A connection to a store on a server, with what the store needs of one to a file."""

    def __init__(self, place: Server, *, read_only: bool, notes: Callable[[str], None]) -> None:
        self.place, self._notes = place, notes
        self._lock = threading.RLock()
        with told(place):
            self._db = _connected(place, read_only=read_only)
        self._changed = 0

    def execute(self, sql: str, given: Sequence[Any] = ()) -> Rows:
        """Run a statement, written for SQLite."""
        with self._lock, told(self.place):
            rows = Rows(self._cursor().execute(for_server(sql), tuple(given) or None))
            if sql == "begin immediate":
                self._cursor().execute("select pg_advisory_xact_lock($1)", (_ONE_WRITER,))
            self._changed = max(0, rows.changed)
            return rows

    def executemany(self, sql: str, given: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of parameters, in one round trip."""
        rows = [tuple(each) for each in given]
        if rows:
            with self._lock, told(self.place):
                self._cursor().executemany(for_server(sql), rows)

    def changes(self) -> int:
        """Rows that the last statement has changed."""
        return self._changed

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is under way, also one that has failed."""
        return self._db.info.transaction_status.name in ("INTRANS", "INERROR")

    def close(self) -> None:
        """Let go of the connection."""
        self._db.close()

    def __enter__(self) -> "ServerConnection":
        self.execute("begin")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.execute("commit" if error is None else "rollback")

    def _cursor(self) -> "psycopg.RawCursor[Any]":
        found: psycopg.RawCursor[Any] = need("psycopg", "postgres").RawCursor(self._db)
        return found


def _connected(place: Server, *, read_only: bool) -> "psycopg.Connection[Any]":
    psycopg = need("psycopg", "postgres")
    options = f"-c search_path={place.schema} -c lock_timeout={_LONGEST_WAIT} -c client_min_messages=warning"
    options += " -c default_transaction_read_only=on" if read_only else ""
    return psycopg.connect(  # type: ignore[no-any-return]
        place.url,
        autocommit=True,
        options=options,
        connect_timeout=10,
        application_name=f"evalmark on {socket.gethostname()}"[:63],
        keepalives_idle=30,
        context=_adapters(),
    )


def _adapters() -> Any:
    """How texts and numbers go over: all as SQLite has them."""
    psycopg = need("psycopg", "postgres")
    strings = need("psycopg.types.string", "postgres")
    made = psycopg.adapt.AdaptersMap(psycopg.adapters)

    class Text(strings.StrDumperUnknown):  # type: ignore[misc, name-defined]  # loaded where it is used
        def dump(self, text: str) -> bytes:
            return _sent(text)

    class Odd(strings.StrDumperUnknown):  # type: ignore[misc, name-defined]
        def dump(self, text: OddText) -> bytes:
            return f"{_ODD}{text.hex()}".encode()

    class Received(psycopg.adapt.Loader):  # type: ignore[misc, name-defined]
        def load(self, data: Any) -> str | bytes:
            return _received(bytes(data))

    class Number(psycopg.adapt.Loader):  # type: ignore[misc, name-defined]
        def load(self, data: Any) -> int | float:
            return int(bytes(data)) if bytes(data).lstrip(b"-").isdigit() else float(bytes(data))

    made.register_dumper(str, Text)
    made.register_dumper(OddText, Odd)
    for kind in ("text", "varchar", "bpchar", "name"):
        made.register_loader(kind, Received)
    made.register_loader("numeric", Number)
    return made


def _sent(text: str) -> bytes:
    """A text as the server can keep it: as it is, but for NUL and what begins as a text that was changed for it."""
    if "\x00" in text or text.startswith(_ODD):
        return f"{_ODD}{text.encode().hex()}!".encode()
    return text.encode()


def _received(data: bytes) -> str | bytes:
    text = data.decode()
    if not text.startswith(_ODD):
        return text
    if text.endswith("!"):
        return bytes.fromhex(text[1:-1]).decode()
    return OddText(bytes.fromhex(text[1:]))


@contextmanager
def told(place: Server) -> Iterator[None]:
    """What the server reports, as one sentence for the person at the keyboard.

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
        raise StoreError(f"{place}: this store was opened for reading only; open it without `read_only`.") from error
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
