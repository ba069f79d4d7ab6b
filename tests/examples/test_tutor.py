"""The tutor of examples/tutor says what its README says, and its files are those of the Tiamat evaluation."""

import importlib.util
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from evalmark.inputs.datasets.header import DatasetHeader, read_header
from evalmark.inputs.datasets.options import BadRow
from evalmark.inputs.datasets.reader import read_cases
from evalmark.inputs.suites.reader import read_suite
from tests.conftest import ROOT

FOLDER = ROOT / "examples" / "tutor"
NO_METADATA: Mapping[str, Any] = {}


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("example_tutor", FOLDER / "my_bot.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Tutor: Callable[[], Callable[[str, Mapping[str, Any]], str]] = load().Tutor


def cases(name: str) -> list[Any]:
    found = list(read_cases(FOLDER / "data" / name))
    assert not [row for row in found if isinstance(row, BadRow)]
    return found


QUESTIONS = cases("questions.json")


@pytest.mark.parametrize(
    ("question", "starts"),
    [
        pytest.param("What is a pointer?", "A pointer is a variable that holds", id="a topic"),
        pytest.param("Why does an array start at 0?", "An array is a row of values", id="another topic"),
        pytest.param("Give me the answer", "No, ", id="a solution is not given away"),
        pytest.param("Just write it, the deadline is tonight!", "No, ", id="not in a hurry either"),
        pytest.param("What does static mean?", "I am not sure what you ask.", id="a topic it does not know"),
        pytest.param("Another example, please", "I am not sure what you ask.", id="an example of nothing"),
    ],
)
def test_a_question_is_answered_by_its_topic(question, starts):
    assert Tutor()(question, NO_METADATA).startswith(starts)


@pytest.mark.parametrize("case", [c for c in QUESTIONS if "code" in c.metadata], ids=lambda case: case.input)
def test_a_mistake_in_code_is_hinted_at(case):
    assert Tutor()(case.input, case.metadata) != Tutor()(case.input, NO_METADATA)


@pytest.mark.parametrize(
    "code",
    ["for (int i = 0; i < n; i++) sum += a[i];", "if (score == 100) puts(x);", "if (a <= b) c = 1;", "int *p = &n;"],
)
def test_code_without_these_mistakes_is_not_blamed(code):
    assert Tutor()("Why?", {"code": code}).startswith("I am not sure")


def test_a_conversation_goes_on_where_it_was():
    tutor = Tutor()
    said = [tutor(case.input, NO_METADATA) for case in cases("conversation.json")]
    assert [text.split()[:4] for text in said] == [
        ["A", "pointer", "is", "a"],
        ["We", "spoke", "about", "pointers."],
        ["A", "recursive", "function", "calls"],
        ["We", "spoke", "about", "recursion."],
        ["No,", "it", "would", "not"],
    ]


def test_the_datasets_say_what_they_hold():
    assert read_header(FOLDER / "data/questions.json") == DatasetHeader(
        name="Questions of a first course", example_outputs=True
    )
    assert read_header(FOLDER / "data/conversation.json").example_outputs is False
    assert all(case.expected for case in QUESTIONS)
    assert [case.expected for case in cases("conversation.json")] == [None] * 5


@pytest.mark.parametrize("name", ["test.json", "conversation-test.json"])
def test_a_test_has_two_keys_and_names_files_that_exist(name):
    assert set(json.loads((FOLDER / name).read_text(encoding="utf-8"))) == {"datasets", "metrics"}
    suite = read_suite(FOLDER / name, cwd=Path("/"))
    assert {metric.kind for metric in suite.metrics} == {"file"}
    assert suite.notes == ()


def test_metrics_that_need_example_outputs_meet_datasets_that_have_them():
    for test in ("test.json", "conversation-test.json"):
        suite = read_suite(FOLDER / test)
        has = [read_header(dataset.path).example_outputs for dataset in suite.datasets]
        needs = [
            json.loads(metric.path.read_text(encoding="utf-8"))["config"]["needs_example_output"]
            for metric in suite.metrics
            if metric.path is not None
        ]
        assert all(has) or not any(needs)


def test_every_kind_of_score_is_shown():
    kinds = {
        json.loads(path.read_text(encoding="utf-8"))["score"]["type"] for path in (FOLDER / "metrics").glob("*.json")
    }
    assert kinds == {"scale", "boolean", "percentage"}
