"""A connection to a store, wherever it is."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from evalmark.core.errors import StoreError
from evalmark.core.lazy import need
from evalmark.storage.postgres.addresses import is_address, server_at

from .connection import Connection, StoreLocation
from .opening import Notes, make_folder, reading, writing
from .schema import STEPS

BESIDE = ".evalmark"
"""The folder for what stands beside a store on a server."""


def place_of(where: str | os.PathLike[str], folder: Path | None = None) -> StoreLocation:
    """The place that somebody names: an address of a server, else a file, within `folder` or the working directory.

    Raises:
        ConfigError: the address makes no sense.
    """
    named, here = os.fspath(where), folder or Path()
    if is_address(named):
        return server_at(named, Path(os.path.abspath(here / BESIDE)))  # noqa: PTH100  a target may change the working directory
    return Path(os.path.abspath(here / named))  # noqa: PTH100  as above


def look_into(place: StoreLocation, notes: Notes = lambda _: None) -> Connection:
    """A connection that changes nothing.

    Raises:
        StoreError: there is no store, it is damaged, or it has another version.
    """
    if isinstance(place, Path):
        return reading(place, notes)
    found: Connection = on_servers().reading(place, notes, STEPS)
    return found


def look_again(db: Connection) -> None:
    """Make sure that a connection which was kept for the next look still fits the store.

    Raises:
        StoreError: the store has another version by now, or cannot be reached.
    """
    on_servers().look_again(db, STEPS)


def on_servers() -> Any:
    """What opens stores on servers; it asks for the extra `postgres` when it is used."""
    return need("evalmark.storage.postgres.opening")


def write_to(place: StoreLocation, notes: Notes, max_pages: int | None = None) -> Connection:
    """A connection that may write; a missing store is made, an older one is brought up to date.

    Raises:
        StoreError: the store cannot be made or written, is none, is damaged, or is a newer one.
    """
    if isinstance(place, Path):
        return writing(place, notes, max_pages)
    _make_folder_beside(place)
    found: Connection = on_servers().writing(place, notes, STEPS)
    return found


def _make_folder_beside(place: StoreLocation) -> None:
    with suppress(OSError):
        make_folder(place.parent)
    if not (place.parent.is_dir() and os.access(place.parent, os.W_OK)):
        raise StoreError(
            f"{place}: which requests are under way is noted in {place.parent}, where nothing can be written; work in a folder "
            "that you may write to."
        )
