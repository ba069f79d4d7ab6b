"""Where the tests keep their runs: in a file and, for modules that hold `EVERYWHERE`, on a server as well."""

from tests.storage.store.conftest import path, store
from tests.storage.store.places import everywhere

__all__ = ["path", "store"]

pytest_generate_tests = everywhere
