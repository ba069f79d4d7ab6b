"""Opens a store in a file or on a server."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from evalmark.core.errors import StoreError
from evalmark.core.lazy import need
from evalmark.storage.postgres.addresses import is_address, parse_server_address

from .connection import Connection, StoreLocation
from .schema import STEPS
from .sqlite import Notes, make_folder, open_read_only_file, open_writable_file

LOCAL_FOLDER = ".evalmark"
"""The folder for local files of a store on a server."""


def parse_store_location(where: str | os.PathLike[str], folder: Path | None = None) -> StoreLocation:
    """Parse the location of a store: an address of a server, or a file within `folder` or the working directory.

    Raises:
        ConfigError: the address is invalid.
    """
    named, here = os.fspath(where), folder or Path()
    if is_address(named):
        return parse_server_address(named, Path(os.path.abspath(here / LOCAL_FOLDER)))  # noqa: PTH100  a target may change the working directory
    return Path(os.path.abspath(here / named))  # noqa: PTH100  as above


def open_read_only(location: StoreLocation, notes: Notes = lambda _: None) -> Connection:
    """Open a store for reading.

    Raises:
        StoreError: there is no store, it is damaged, or it has another version.
    """
    if isinstance(location, Path):
        return open_read_only_file(location, notes)
    found: Connection = postgres_stores().open_read_only(location, notes, STEPS)
    return found


def recheck_version(db: Connection) -> None:
    """Check that the schema version has not changed since a kept connection was last used.

    Raises:
        StoreError: the store has another version by now, or cannot be reached.
    """
    postgres_stores().recheck_version(db, STEPS)


def postgres_stores() -> Any:
    """Return the module for PostgreSQL stores; raises an error if the extra `postgres` is not installed."""
    return need("evalmark.storage.postgres.open")


def open_writable(location: StoreLocation, notes: Notes, max_pages: int | None = None) -> Connection:
    """Open a store for writing; create it if it is missing, and migrate an older one.

    Raises:
        StoreError: the store cannot be created or written, is not a store, is damaged, or is newer than this evalmark.
    """
    if isinstance(location, Path):
        return open_writable_file(location, notes, max_pages)
    _make_folder_beside(location)
    found: Connection = postgres_stores().open_writable(location, notes, STEPS)
    return found


def _make_folder_beside(location: StoreLocation) -> None:
    with suppress(OSError):
        make_folder(location.parent)
    if not (location.parent.is_dir() and os.access(location.parent, os.W_OK)):
        raise StoreError(
            f"{location}: requests in flight are noted in {location.parent}, which is not writable; work in a folder "
            "that you may write to."
        )
