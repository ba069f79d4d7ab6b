"""Answers questions about the location of a store before it is opened."""

import os
from pathlib import Path

from evalmark.storage.database.open import parse_store_location, postgres_stores
from evalmark.storage.postgres.addresses import is_address


def display_location(where: str | os.PathLike[str]) -> str:
    """Format a location without user, password and options.

    >>> display_location("evals.db"), display_location("postgresql://ann:secret@db/evals")
    ('evals.db', 'postgresql://db/evals')
    """
    named = os.fspath(where)
    return str(parse_store_location(named)) if is_address(named) else named


def parse_run_address(reference: str) -> tuple[str, str] | None:
    """Split `ADDRESS@RUN` into the address and the run, by default `last`; None if it is not an address.

    >>> parse_run_address("postgresql://ann@db/evals@last~1"), parse_run_address("postgresql://ann@db/evals"), parse_run_address("evals.db@last")
    (('postgresql://ann@db/evals', 'last~1'), ('postgresql://ann@db/evals', 'last'), None)
    """
    if not is_address(reference):
        return None
    scheme, _, rest = reference.partition("://")
    host, slash, path = rest.partition("/")
    path, _, run = path.partition("@")
    return f"{scheme}://{host}{slash}{path}", run or "last"


def store_exists(where: str | os.PathLike[str]) -> bool:
    """Return whether a store exists at this location.

    Raises:
        StoreError: the server cannot be reached.
    """
    place = parse_store_location(where)
    return place.exists() if isinstance(place, Path) else bool(postgres_stores().store_exists(place))


def store_is_writable(where: str | os.PathLike[str]) -> bool:
    """Return whether a store exists at this location and the user may write it.

    Raises:
        StoreError: the server cannot be reached.
    """
    place = parse_store_location(where)
    if not isinstance(place, Path):
        return bool(postgres_stores().is_writable(place))
    return place.is_file() and os.access(place, os.W_OK) and os.access(place.parent, os.W_OK)
