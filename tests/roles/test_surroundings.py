"""What code names in its own module counts for its identity; what it does not name does not."""

import importlib.util
import sys

import pytest

from evalmark.roles import described
from evalmark.values import fingerprint

SOURCE = """
SYSTEM = "Be kind."
FACTS = {"moon": [384400, 1.3], "sun": None}
UNUSED = "nobody names it"


def helped(text):
    return deeper(text)


def deeper(text):
    return text.upper()


class Base:
    def shared(self):
        return SYSTEM


class Bot(Base):
    def __call__(self, text):
        return self.shared() + helped(text)


def answer(text):
    return [SYSTEM + word for word in FACTS] + [helped(text)]
"""


@pytest.fixture
def loaded(tmp_path):
    """Imports a source text as a new module; gives a hash of what one of its names is."""
    names = []

    def load(source, name="answer", called="surrounded"):
        path = tmp_path / f"{called}_{len(names)}.py"
        path.write_text(source, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(called, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[called] = module
        names.append(called)
        spec.loader.exec_module(module)
        return fingerprint(described(getattr(module, name)))

    yield load
    for name in names:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", ["answer", "Bot"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("Be kind.", "Be brief.", id="a prompt in a constant"),
        pytest.param("return deeper(text)", "return deeper(text) + '!'", id="a function that it calls"),
        pytest.param("text.upper()", "text.lower()", id="a function that this one calls"),
    ],
)
def test_an_edit_of_what_it_names_is_another_thing(loaded, name, old, new):
    assert loaded(SOURCE, name) == loaded(SOURCE, name) != loaded(SOURCE.replace(old, new), name)


def test_a_fact_in_a_table_counts_and_so_does_a_method_of_the_parent(loaded):
    assert loaded(SOURCE) != loaded(SOURCE.replace("384400", "384401"))
    assert loaded(SOURCE, "Bot") != loaded(SOURCE.replace("return SYSTEM\n", "return SYSTEM * 2\n"), "Bot")


def test_what_it_does_not_name_does_not_count(loaded):
    assert loaded(SOURCE) == loaded(SOURCE.replace("nobody names it", "changed"))


def test_what_is_no_data_is_left_out(loaded):
    source = "import re\nPATTERN = re.compile('a')\nLOCK = object()\nDEEP = [LOCK]\ndef answer(text):\n    return PATTERN, LOCK, DEEP\n"
    assert loaded(source) == loaded(source)
