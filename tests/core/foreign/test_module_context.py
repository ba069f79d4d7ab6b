"""What code names in its own module counts for its identity; what it does not name does not."""

import importlib.util
import sys

import pytest

from evalmark.core.foreign.identity import describe_object
from evalmark.core.values.plain_data import fingerprint

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

    def load(source, name="answer", called="surrounded", docstrings=True):
        path = tmp_path / f"{called}_{len(names)}.py"
        path.write_text(source, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(called, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[called] = module
        names.append(called)
        spec.loader.exec_module(module)
        return fingerprint(describe_object(getattr(module, name), docstrings=docstrings))

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


COMMENTED = '''
"""Documentation of the module."""
SYSTEM = "Be kind."  # a prompt
FACTS = {"moon": [384400, 1.3], "sun": None}


def helped(text):
    """Explain what happens."""
    # a comment
    return deeper(
        text
    )


def deeper(text):
    """A docstring
that begins a line
"""
    return text.upper()


class Base:
    """A parent."""

    def shared(self):
        """A method."""
        return SYSTEM  # another comment


class Bot(Base):
    """A bot."""

    def __call__(self, text):
        return self.shared() + helped(text)


def answer(text):
    """Answer."""

    return [SYSTEM + word for word in FACTS] + [helped(text)]
'''


@pytest.mark.parametrize("name", ["answer", "Bot"])
def test_comments_formatting_and_docstrings_judge_nothing(loaded, name):
    plain = SOURCE.replace('UNUSED = "nobody names it"', "")
    assert loaded(COMMENTED, name, docstrings=False) == loaded(plain, name, docstrings=False)
    assert loaded(COMMENTED, name) != loaded(plain, name)  # an agent sends them to a model
    uncommented = COMMENTED.replace("# a comment", "").replace("# another comment", "").replace("# a prompt", "")
    assert loaded(COMMENTED, name) == loaded(uncommented, name)


SCORER = """
LIMIT = 10


def short(output, limit=5):
    text = "# no comment"
    return len(output) < limit + LIMIT and text


keep = lambda output: len(output) < 5
both = [
    lambda output: len(output) < 6,
    lambda output: len(output) < 7,
]
second = both[1]
"""


@pytest.mark.parametrize(
    ("name", "old", "new", "same"),
    [
        pytest.param("short", "LIMIT = 10", "LIMIT = 11", False, id="a constant of the module"),
        pytest.param("short", "limit=5", "limit=6", False, id="a default"),
        pytest.param("short", "# no comment", "# nothing", False, id="a text that looks like a comment"),
        pytest.param("short", "return len", "# shorter\n    return len", True, id="a comment"),
        pytest.param("short", "limit + LIMIT", "(limit\n    + LIMIT)", True, id="formatting"),
        pytest.param("keep", "< 5", "< 6", False, id="a lambda"),
        pytest.param("keep", "< 5", "< 5  # five", True, id="a comment behind a lambda"),
        pytest.param("second", "< 7", "< 8", False, id="a lambda in a list"),
        pytest.param("second", "< 6", "< 1", True, id="another lambda of the list"),
        pytest.param("second", "< 7,", "< 7,  # seven", True, id="a comment behind a lambda in a list"),
    ],
)
def test_only_an_edit_of_the_code_makes_another_scorer(loaded, name, old, new, same):
    edited = SCORER.replace(old, new)
    assert edited != SCORER
    assert (loaded(SCORER, name, docstrings=False) == loaded(edited, name, docstrings=False)) is same


FRAMEWORK = '''
class Meta(type):
    pass


class Question(metaclass=Meta):
    """Is it polite?"""

    def asked(self):
        """Ask."""
        return 1


def read(output):
    """A prompt."""
    return read.__doc__
'''


def test_docstrings_that_are_data_count(loaded):
    for name, text in (("Question", "Is it polite?"), ("read", "A prompt.")):
        edited = FRAMEWORK.replace(text, "Another.")
        assert loaded(FRAMEWORK, name, docstrings=False) != loaded(edited, name, docstrings=False)
    edited = FRAMEWORK.replace('"""Ask."""', "")
    assert loaded(FRAMEWORK, "Question", docstrings=False) == loaded(edited, "Question", docstrings=False)


def test_annotations_of_a_class_do_not_count_for_what_it_names(loaded):
    # From Python 3.14 on, a class has a function that makes its annotations; the identity of a target is the same there.
    source = "class Reply:\n    size = {}\n\n\nclass Bot:\n    last: Reply\n\n    def __call__(self, text):\n        return text\n"
    assert loaded(source.format(1), "Bot") == loaded(source.format(2), "Bot")
