"""The bot of examples/similarity does what its cases say, and is weak where they say so."""

import importlib.util
import sys
from types import ModuleType

import pytest
import yaml

from tests.conftest import ROOT

FOLDER = ROOT / "examples" / "similarity"
CASES = yaml.safe_load((FOLDER / "cases.yaml").read_text(encoding="utf-8"))


def load(name: str) -> ModuleType:
    """The module of the example, without leaving it among the imported ones for others to find."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


bot = load("bot")


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        pytest.param("20 minutes", 20, id="minutes"),
        pytest.param("for 2 hours", 120, id="hours"),
        pytest.param("1 h 15 min", 75, id="hours and minutes"),
        pytest.param("two hours", None, id="a number as a word is not understood"),
        pytest.param("at gate 7", None, id="a number that is no time"),
    ],
)
def test_the_length_of_a_ride_is_read(text, minutes):
    assert bot.understand(text).minutes == minutes


@pytest.mark.parametrize(
    ("minutes", "has_pass", "cents"),
    [
        pytest.param(0, False, 100, id="unlocking alone"),
        pytest.param(53, False, 895, id="just below the price of a day"),
        pytest.param(54, False, 900, id="never more than a day pass"),
        pytest.param(45, True, 0, id="free with a pass"),
        pytest.param(46, True, 15, id="one minute over"),
    ],
)
def test_a_fare_follows_the_price_list(minutes, has_pass, cents):
    assert bot.fare(minutes, has_pass=has_pass) == cents


@pytest.mark.parametrize("case", [c for c in CASES if "weak" not in c.get("tags", [])], ids=lambda case: case["id"])
def test_the_bot_mentions_the_facts_of_a_case(case):
    assert [fact for fact in case["must_mention"] if fact not in bot.answer(case["input"])] == []


@pytest.mark.parametrize("case", [c for c in CASES if "weak" in c.get("tags", [])], ids=lambda case: case["id"])
def test_the_known_weaknesses_are_still_there(case):
    assert [fact for fact in case["must_mention"] if fact not in bot.answer(case["input"])]


def test_the_change_breaks_many_answers_but_not_all():
    same = [bot.answer(case["input"]) == bot.answer_v2(case["input"]) for case in CASES]
    assert 4 <= sum(same) <= len(CASES) // 2


def test_what_the_bot_does_not_know_it_says():
    assert bot.answer("Tell me a joke about penguins").startswith("I am sorry, I did not understand")
    assert bot.answer("").startswith("I am sorry")


def test_cases_have_ids_examples_and_facts():
    assert len(CASES) >= 20
    assert len({case["id"] for case in CASES}) == len(CASES)
    for case in CASES:
        assert case.get("liked") or case.get("expected"), case["id"]
        assert case["must_mention"], case["id"]
        assert not set(case.get("liked", [])) & set(case.get("disliked", [])), case["id"]
    assert sum("disliked" in case for case in CASES) >= 12
    assert sum("expected" in case for case in CASES) >= 4
