"""Which of its ways a store takes, and that only that one is loaded."""

import subprocess
import sys

import pytest

from evalmark.storage.database.open import parse_store_location
from evalmark.storage.postgres.addresses import ServerLocation

pytestmark = pytest.mark.slow

USES_A_FILE = """
import sys
from evalmark.storage.store.location import store_exists, store_is_writable
from evalmark.store import open_store
with open_store("evals.db") as store:
    store.runs()
assert store_exists("evals.db") and store_is_writable("evals.db")
loaded = {name for name in sys.modules if name.split(".")[0] == "psycopg"}
loaded |= {"evalmark.storage.postgres.connection", "evalmark.storage.postgres.open"} & sys.modules.keys()
assert not loaded, loaded
"""


def test_a_store_in_a_file_loads_nothing_of_a_server(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", USES_A_FILE], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("named", "is_on_a_server"),
    [
        pytest.param("evals.db", False, id="a file"),
        pytest.param("postgresql", False, id="a file with the name of the scheme"),
        pytest.param("postgresql://db/evals", True, id="an address"),
        pytest.param("postgres://db/evals?schema=team", True, id="an address in its short form"),
    ],
)
def test_a_place_is_on_a_server_where_an_address_names_it(named, is_on_a_server, tmp_path):
    place = parse_store_location(named, tmp_path)
    assert isinstance(place, ServerLocation) is is_on_a_server
    assert place.with_name("notes").is_relative_to(tmp_path)
