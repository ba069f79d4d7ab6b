"""Opens a store on a server, and creates or migrates its tables under a lock.

The caller passes the migration steps; the table `store_version` holds how many were applied.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing

from evalmark.core.errors import StoreError

from .addresses import ServerLocation
from .connection import ServerConnection
from .dialect import FUNCTIONS

Step = Callable[[ServerConnection], None]

_VERSION = "select version from store_version"
_OLDEST = 140_000


def open_writable(location: ServerLocation, notes: Callable[[str], None], steps: Sequence[Step]) -> ServerConnection:
    """Open a store for writing; create missing tables and migrate older ones.

    Raises:
        StoreError: the server cannot be reached, the user lacks a permission, or a newer evalmark wrote the store.
    """
    with ExitStack() as unless_done:
        db = unless_done.enter_context(closing(ServerConnection(location, read_only=False, notes=notes)))
        if version_at(db) != len(steps):
            _migrate(db, location, steps)
        db.version = len(steps)
        unless_done.pop_all()
    return db


def open_read_only(location: ServerLocation, notes: Callable[[str], None], steps: Sequence[Step]) -> ServerConnection:
    """Open a store for reading.

    Raises:
        StoreError: the server cannot be reached, there is no store, or it has another version.
    """
    with ExitStack() as unless_done:
        db = unless_done.enter_context(closing(ServerConnection(location, read_only=True, notes=notes)))
        _refuse_other(location, version_at(db), steps)
        unless_done.pop_all()
    return db


def recheck_version(db: ServerConnection, steps: Sequence[Step]) -> None:
    """Raise StoreError if the schema version has changed since the connection was opened."""
    _refuse_other(db.location, int(db.execute(_VERSION).get or 0), steps)


def store_exists(location: ServerLocation) -> bool:
    """Return whether the server has a store at this location."""
    with closing(ServerConnection(location, read_only=True, notes=lambda _: None)) as db:
        return version_at(db) > 0


def is_writable(location: ServerLocation) -> bool:
    """Return whether the server has a store at this location to which the user may add labels."""
    with closing(ServerConnection(location, read_only=True, notes=lambda _: None)) as db:
        return version_at(db) > 0 and bool(db.execute("select has_table_privilege('label', 'insert')").get)


def version_at(db: ServerConnection) -> int:
    """Return the number of applied migration steps; 0 without a store."""
    exists = db.execute("select to_regclass(?) is not null", (f"{db.location.schema}.store_version",)).get
    return int(db.execute(_VERSION).get or 0) if exists else 0


def _migrate(db: ServerConnection, location: ServerLocation, steps: Sequence[Step]) -> None:
    _refuse_newer(location, version_at(db), steps)
    _refuse_unfit(db, location)
    with ExitStack() as transaction:
        db.execute("begin immediate")  # takes a lock, so that concurrent migrations wait
        transaction.push(db)
        if db.execute("select to_regnamespace(?)", (location.schema,)).get is None:
            db.execute(f"create schema {location.schema}")
        done = version_at(db)
        if done == 0:
            _refuse_foreign(db, location)
            db.execute("create table if not exists store_version (version integer not null)")
            db.execute("insert into store_version (version) values (0)")
        if done < len(steps):
            db.execute(FUNCTIONS)
        for step in steps[done:]:
            step(db)
        db.execute("update store_version set version = ?", (max(done, len(steps)),))


def _refuse_unfit(db: ServerConnection, location: ServerLocation) -> None:
    version, encoding = db.server
    if version < _OLDEST:
        raise StoreError(f"{location}: the server is PostgreSQL {version // 10_000}; a store needs 14 or a newer one.")
    if encoding != "UTF8":
        raise StoreError(f"{location}: the encoding of the database is {encoding}; make one with UTF8.")


def _refuse_foreign(db: ServerConnection, location: ServerLocation) -> None:
    if db.execute("select 1 from pg_class where relnamespace = to_regnamespace(?) limit 1", (location.schema,)).get:
        raise StoreError(
            f"{location}: the schema {location.schema} of this database contains tables of another program; name a schema for evalmark "
            "with ?schema=NAME."
        )


def _refuse_other(location: ServerLocation, found: int, steps: Sequence[Step]) -> None:
    if found == 0:
        raise StoreError(
            f"{location}: there is no store yet; the first run makes one, or name another store with --store."
        )
    _refuse_newer(location, found, steps)
    if found < len(steps):
        raise StoreError(
            f"{location}: an older evalmark wrote this store (store version {found}, this one needs {len(steps)}); "
            "open it once for writing to bring it up to date, for example with `evalmark run` or `evalmark view`, as the owner of its tables."
        )


def _refuse_newer(location: ServerLocation, found: int, steps: Sequence[Step]) -> None:
    if found > len(steps):
        raise StoreError(
            f"{location}: a newer evalmark wrote this store (store version {found}, this one knows {len(steps)}); "
            "update evalmark, or name another store."
        )
