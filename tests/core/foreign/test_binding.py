"""Parameters of users' functions are read whatever the annotations name."""

import functools
import sys

import pytest

from evalmark import evaluate, record
from evalmark.core.foreign.binding import signature_of
from evalmark.harness.unit_tests.embed_function import _annotated_for_lists
from evalmark.quality import Guard
from evalmark.recording import flush
from evalmark.scoring.binding.registry import resolve_scorer
from evalmark.tools import replayed
from tests.importing import own_imports

NAMES_WHAT_IS_FOR_TYPE_CHECKERS = """
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elsewhere import Question, Reply


def answer(question: Question) -> Reply:
    return question


class Bot:
    def __init__(self, model: json.Missing = "m"):
        self.model = model

    def __call__(self, question: Question) -> Reply:
        return question


def check(output: Reply, expected: json.Missing = None):
    return output == "a"


def embed(texts: Sequence[Question]) -> Reply: ...
"""


@pytest.fixture
def user():
    """The names of a user's module."""
    names = {"__name__": "users_module"}
    exec(NAMES_WHAT_IS_FOR_TYPE_CHECKERS, names)  # noqa: S102  before Python 3.14, the definitions would fail
    return names


lazy_annotations = pytest.mark.skipif(
    sys.version_info < (3, 14), reason="annotations are evaluated with the definition before Python 3.14"
)


@lazy_annotations
def test_names_for_type_checkers_in_annotations_are_no_fault_of_a_run(user):
    for target in (user["answer"], user["Bot"](), user["Bot"]):
        run = evaluate(["a"], target, [user["check"]], store=None)
        assert [(result.verdict, result.output.value) for result in run.results] == [("pass", "a")]


@lazy_annotations
def test_names_for_type_checkers_in_annotations_are_no_fault_of_other_uses(user, world):
    assert Guard([user["check"]]).wrap(user["answer"])("a") == "a"
    assert record("demo", store=world / "recorded.db")(user["answer"])("a") == "a"
    assert flush(20)
    assert replayed(user["answer"])("a") == "a"
    assert [*signature_of(functools.partial(user["check"], expected="b")).parameters] == ["output", "expected"]
    assert _annotated_for_lists(user["embed"]) is True


@pytest.mark.parametrize("annotation", ["Missing", "json.Missing", "not an annotation"])
def test_an_annotation_that_cannot_be_evaluated_leaves_a_setting_unchecked(annotation, tmp_path):
    (tmp_path / "users_scorers.py").write_text(
        f"import json\n\n\ndef near(output, within: {annotation!r} = 1):\n    return within == 2\n", encoding="utf-8"
    )
    with own_imports(tmp_path):
        scorer = resolve_scorer("users_scorers:near", {"within": 2}, folders=[tmp_path])
    assert scorer(output="a") is True
