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


def open_writable(place: ServerLocation, notes: Callable[[str], None], steps: Sequence[Step]) -> ServerConnection:
    """Open a store for writing; create missing tables and migrate older ones.

    Raises:
        StoreError: the server cannot be reached, the user lacks a permission, or a newer evalmark wrote the store.
    """
    with ExitStack() as unless_done:
        db = unless_done.enter_context(closing(ServerConnection(place, read_only=False, notes=notes)))
        if version_at(db) != len(steps):
            _migrate(db, place, steps)
        db.version = len(steps)
        unless_done.pop_all()
    return db


def open_read_only(place: ServerLocation, notes: Callable[[str], None], steps: Sequence[Step]) -> ServerConnection:
    """Open a store for reading.

    Raises:
        StoreError: the server cannot be reached, there is no store, or it has another version.
    """
    with ExitStack() as unless_done:
        db = unless_done.enter_context(closing(ServerConnection(place, read_only=True, notes=notes)))
        _refuse_other(place, version_at(db), steps)
        unless_done.pop_all()
    return db


def recheck_version(db: ServerConnection, steps: Sequence[Step]) -> None:
    """Raise StoreError if the schema version has changed since the connection was opened."""
    _refuse_other(db.place, int(db.execute(_VERSION).get or 0), steps)


def store_exists(place: ServerLocation) -> bool:
    """Return whether the server has a store at this location."""
    with closing(ServerConnection(place, read_only=True, notes=lambda _: None)) as db:
        return version_at(db) > 0


def is_writable(place: ServerLocation) -> bool:
    """Return whether the server has a store at this location to which the user may add labels."""
    with closing(ServerConnection(place, read_only=True, notes=lambda _: None)) as db:
        return version_at(db) > 0 and bool(db.execute("select has_table_privilege('label', 'insert')").get)


def version_at(db: ServerConnection) -> int:
    """Return the number of applied migration steps; 0 without a store."""
    there = db.execute("select to_regclass(?) is not null", (f"{db.place.schema}.store_version",)).get
    return int(db.execute(_VERSION).get or 0) if there else 0


def _migrate(db: ServerConnection, place: ServerLocation, steps: Sequence[Step]) -> None:
    _refuse_newer(place, version_at(db), steps)
    _refuse_unfit(db, place)
    with ExitStack() as transaction:
        db.execute("begin immediate")  # takes a lock, so that concurrent migrations wait
        transaction.push(db)
        if db.execute("select to_regnamespace(?)", (place.schema,)).get is None:
            db.execute(f"create schema {place.schema}")
        done = version_at(db)
        if done == 0:
            _refuse_foreign(db, place)
            db.execute("create table if not exists store_version (version integer not null)")
            db.execute("insert into store_version (version) values (0)")
        if done < len(steps):
            db.execute(FUNCTIONS)
        for step in steps[done:]:
            step(db)
        db.execute("update store_version set version = ?", (max(done, len(steps)),))


def _refuse_unfit(db: ServerConnection, place: ServerLocation) -> None:
    version, encoding = db.server
    if version < _OLDEST:
        raise StoreError(f"{place}: the server is PostgreSQL {version // 10_000}; a store needs 14 or a newer one.")
    if encoding != "UTF8":
        raise StoreError(f"{place}: the encoding of the database is {encoding}; make one with UTF8.")


def _refuse_foreign(db: ServerConnection, place: ServerLocation) -> None:
    if db.execute("select 1 from pg_class where relnamespace = to_regnamespace(?) limit 1", (place.schema,)).get:
        raise StoreError(
            f"{place}: the schema {place.schema} of this database contains tables of another program; name a schema for evalmark "
            "with ?schema=NAME."
        )


def _refuse_other(place: ServerLocation, found: int, steps: Sequence[Step]) -> None:
    if found == 0:
        raise StoreError(
            f"{place}: there is no store yet; the first run makes one, or name another place with --store."
        )
    _refuse_newer(place, found, steps)
    if found < len(steps):
        raise StoreError(
            f"{place}: an older evalmark wrote this store (store version {found}, this one needs {len(steps)}); "
            "open it once for writing to bring it up to date."
        )


def _refuse_newer(place: ServerLocation, found: int, steps: Sequence[Step]) -> None:
    if found > len(steps):
        raise StoreError(
            f"{place}: a newer evalmark wrote this store (store version {found}, this one knows {len(steps)}); "
            "update evalmark, or name another store."
        )
