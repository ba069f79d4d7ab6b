"""What a test imports by its users' names, such as `bot`, is not there for the next one."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def own_imports(*folders: Path) -> Iterator[None]:
    """The import path is as before afterwards, and modules of these folders are forgotten."""
    path, before = [*sys.path], set(sys.modules)
    try:
        yield
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - before:
            home = getattr(sys.modules[name], "__file__", None)
            if home and home.startswith(tuple(map(str, folders))):
                del sys.modules[name]
