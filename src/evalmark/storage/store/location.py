"""What can be said of a place for a store before it is opened."""

import os
from pathlib import Path

from evalmark.storage.database.open import parse_store_location, postgres_stores
from evalmark.storage.postgres.addresses import is_address


def display_location(where: str | os.PathLike[str]) -> str:
    """A place as it may be shown: without user, password and options.

    >>> told_place("evals.db"), told_place("postgresql://ann:secret@db/evals")
    ('evals.db', 'postgresql://db/evals')
    """
    named = os.fspath(where)
    return str(parse_store_location(named)) if is_address(named) else named


def parse_run_address(reference: str) -> tuple[str, str] | None:
    """The address and the run in `ADDRESS@RUN`, the newest run where none is named; None where it is no address.

    >>> run_at("postgresql://ann@db/evals@last~1"), run_at("postgresql://ann@db/evals"), run_at("evals.db@last")
    (('postgresql://ann@db/evals', 'last~1'), ('postgresql://ann@db/evals', 'last'), None)
    """
    if not is_address(reference):
        return None
    scheme, _, rest = reference.partition("://")
    host, slash, path = rest.partition("/")
    path, _, run = path.partition("@")
    return f"{scheme}://{host}{slash}{path}", run or "last"


def store_exists(where: str | os.PathLike[str]) -> bool:
    """Whether there is a store already.

    Raises:
        StoreError: a server cannot be asked.
    """
    place = parse_store_location(where)
    return place.exists() if isinstance(place, Path) else bool(postgres_stores().store_exists(place))


def store_is_writable(where: str | os.PathLike[str]) -> bool:
    """Whether there is a store already, and this user may write it.

    Raises:
        StoreError: a server cannot be asked.
    """
    place = parse_store_location(where)
    if not isinstance(place, Path):
        return bool(postgres_stores().is_writable(place))
    return place.is_file() and os.access(place, os.W_OK) and os.access(place.parent, os.W_OK)
