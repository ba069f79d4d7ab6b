"""A connection to a store, wherever it is."""

import os
from pathlib import Path
from typing import Any

from evalmark.errors import need

from .addresses import is_address, server_at
from .opening import Notes, reading, writing
from .ways import Connection, Place

BESIDE = ".evalmark"
"""The folder for what stands beside a store on a server."""


def place_of(where: str | os.PathLike[str], folder: Path | None = None) -> Place:
    """The place that somebody names: an address of a server, else a file, within `folder` or the working directory.

    Raises:
        ConfigError: the address makes no sense.
    """
    named, here = os.fspath(where), folder or Path()
    if is_address(named):
        return server_at(named, Path(os.path.abspath(here / BESIDE)))  # noqa: PTH100  a target may change the working directory
    return Path(os.path.abspath(here / named))  # noqa: PTH100  as above


def look_into(place: Place, notes: Notes = lambda _: None) -> Connection:
    """A connection that changes nothing.

    Raises:
        StoreError: there is no store, it is damaged, or it has another version.
    """
    if isinstance(place, Path):
        return reading(place, notes)
    found: Connection = server_store().looking(place, notes)
    return found


def server_store() -> Any:
    """What opens stores on servers.

    Raises:
        DependencyError: the extra `postgres` is missing.
    """
    return need("evalmark.database.serving", "postgres")


def write_to(place: Place, notes: Notes, max_pages: int | None = None) -> Connection:
    """A connection that may write; a missing store is made, an older one is brought up to date.

    Raises:
        StoreError: the store cannot be made or written, is none, is damaged, or is a newer one.
    """
    if isinstance(place, Path):
        return writing(place, notes, max_pages)
    found: Connection = server_store().serving(place, notes)
    return found
