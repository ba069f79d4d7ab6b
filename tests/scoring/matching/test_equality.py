"""When what was found agrees with what was expected, a row a rule."""

import math
import re
import time

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from evalmark.errors import ConfigError
from evalmark.scoring.matching.differences import describe_data, describe_difference
from evalmark.scoring.matching.equality import ABSENT, Fuzzy, fuzzy_options, holds_nan, json_data, strict_equal
from evalmark.scoring.matching.json_text import NotJsonError

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
DATA = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
)


@pytest.mark.parametrize(
    ("expected", "found", "same"),
    [
        pytest.param(1, 1.0, True, id="1 and 1.0 are one number"),
        pytest.param(1, True, False, id="true is no number"),
        pytest.param(False, 0, False, id="0 is not false"),
        pytest.param("1", 1, False, id="a number is not a text"),
        pytest.param(None, None, True, id="null is null"),
        pytest.param(None, "", False, id="an empty text is not null"),
        pytest.param(math.nan, math.nan, False, id="NaN equals nothing"),
        pytest.param(math.inf, math.inf, True, id="infinity equals itself"),
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, True, id="the order of keys does not count"),
        pytest.param({"a": 1}, {"a": 1, "b": 2}, False, id="one key more"),
        pytest.param({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, False, id="one key more, further down"),
        pytest.param({"a": None}, {}, False, id="null is not the same as missing"),
        pytest.param({"a": ABSENT}, {}, True, id="missing, as it should be"),
        pytest.param({"a": ABSENT}, {"a": None}, False, id="there, and should be missing"),
        pytest.param([1, 2], [2, 1], False, id="the order of items counts"),
        pytest.param([1], [1, 2], False, id="one item more"),
        pytest.param({}, [], False, id="a mapping is no list"),
        pytest.param(2**53 + 1, float(2**53), False, id="whole numbers beyond the precision of floats"),
    ],
)
def test_strictly(expected, found, same):
    assert strict_equal(expected, found) is same


@pytest.mark.parametrize(
    ("options", "expected", "found", "same"),
    [
        pytest.param({}, "Oslo", "OSLO", True, id="case does not count"),
        pytest.param({"ignore_case": False}, "Oslo", "OSLO", False, id="unless it is to"),
        pytest.param({}, "Oslo", "Oslo, Norway", False, id="a part is not the whole"),
        pytest.param({"substring": True}, "Oslo", "in oslo", True, id="unless it is to be, found in expected"),
        pytest.param({"substring": True}, "in Oslo", "oslo", True, id="or expected in found"),
        pytest.param({"substring": True}, "Oslo", "", False, id="an empty text is part of nothing"),
        pytest.param({"substring": True}, "", "Oslo", False, id="nor is anything part of it"),
        pytest.param({"substring": True}, "", "", True, id="but it is itself"),
        pytest.param({}, 1000, 1000.9, True, id="a thousandth off"),
        pytest.param({}, 1000, 1001.1, False, id="more than a thousandth off"),
        pytest.param({}, 0, 0.001, True, id="near zero the tolerance is absolute"),
        pytest.param({}, -1000, -1000.5, True, id="below zero"),
        pytest.param({"tolerance": 0}, 0.1, 0.1 + 1e-12, False, id="no tolerance"),
        pytest.param({}, math.inf, 5, False, id="no number is near infinity"),
        pytest.param({}, math.inf, math.inf, True, id="but infinity"),
        pytest.param({}, math.nan, math.nan, False, id="NaN is near nothing"),
        pytest.param({}, 10**400, 10**400, True, id="a number too long for a float equals itself"),
        pytest.param({}, 10**400, 10**400 + 1, False, id="and is near no other"),
        pytest.param({}, 1, True, False, id="true is no number"),
        pytest.param({}, None, None, True, id="null"),
        pytest.param({}, None, "", False, id="null is not a text"),
        pytest.param({}, [1, 1, 2], [1, 2], False, id="each item needs its own"),
        pytest.param({}, [1, 1, 2], [2, 3, 1, 1], True, id="in any order, among others"),
        pytest.param({"any_order": False}, [1, 2], [2, 1], False, id="unless the order counts"),
        pytest.param({"any_order": False}, [1, 2], [1, 2, 3], False, id="and then no more may be there"),
        pytest.param({"any_order": False}, ["A", 2], ["a", 2.001], True, id="item by item"),
        pytest.param(
            {"substring": True}, ["a", "abc"], ["abc", "a"], True, id="the bare item leaves the other its own"
        ),
        pytest.param({"substring": True}, ["abc", "a"], ["a", "xa"], True, id="whichever comes first"),
        pytest.param({}, {"a": 1}, {"a": 1, "b": 2}, True, id="fields nobody expected"),
        pytest.param({}, {"a": {"b": "X"}}, {"a": {"b": "x", "c": 1}}, True, id="further down too"),
        pytest.param({}, {"a": None}, {}, False, id="missing is not null"),
        pytest.param({}, {"a": ABSENT}, {"b": 1}, True, id="missing, as it should be"),
        pytest.param({}, {"a": 1}, [1], False, id="a list is no mapping"),
        pytest.param({}, [1], {"0": 1}, False, id="a mapping is no list"),
        pytest.param({}, re.compile("^o", re.I), "Oslo", True, id="a pattern"),
        pytest.param({}, re.compile("^o"), "Oslo", False, id="a pattern has its own flags"),
        pytest.param({}, regex.compile(r"\p{Lu}"), "Oslo", True, id="a pattern of the package regex"),
        pytest.param({}, re.compile("1"), 1, False, id="a pattern is for texts"),
        pytest.param({}, lambda value: value > 17, 18, True, id="a function"),
        pytest.param({}, {"age": [lambda value: value > 17]}, {"age": [3, 18]}, True, id="a function, further down"),
        pytest.param({}, 42, "42", False, id="a text is no number"),
        pytest.param({"coerce": True}, 42, "42", True, id="unless it is to be one"),
        pytest.param({"coerce": True}, 42, "42 km", False, id="which takes all of the text"),
        pytest.param({"coerce": True}, "1,000", 1000, True, id="either way round"),
        pytest.param({"coerce": True}, True, "True", True, id="a truth value as text"),
        pytest.param({"coerce": True}, False, "0", True, id="or as digit"),
        pytest.param({"coerce": True}, True, 1, True, id="or as number"),
        pytest.param({"coerce": True}, True, 2, False, id="but 2 is none"),
        pytest.param({"coerce": True}, "yes", True, False, id="nor is any other word"),
    ],
)
def test_fuzzily(options, expected, found, same):
    assert Fuzzy(**options)(expected, found) is same


@given(DATA)
def test_data_agrees_with_itself(value):
    assert strict_equal(value, value)
    assert Fuzzy()(value, value)
    assert Fuzzy(any_order=False, tolerance=0, coerce=True, ignore_case=False)(value, value)


@given(DATA, DATA)
def test_what_agrees_strictly_agrees_fuzzily(one, other):
    assert not strict_equal(one, other) or Fuzzy()(one, other)


@given(st.lists(SCALARS, max_size=6), st.lists(SCALARS, max_size=6), st.randoms())
def test_the_order_of_lists_does_not_matter_to_a_fuzzy_match(expected, found, random):
    before = Fuzzy(substring=True)(expected, [*found, *expected[:3]])
    shuffled = [*found, *expected[:3]]
    random.shuffle(shuffled)
    mixed = random.sample(expected, len(expected))
    assert Fuzzy(substring=True)(mixed, shuffled) is before


def test_long_lists_are_compared_in_any_order_too():
    items = [f"item {number}" for number in range(5_000)]
    mixed = [item.upper() for item in reversed(items)]
    began = time.monotonic()
    assert Fuzzy()(items, mixed)
    assert not Fuzzy()(items, ["another", *mixed[1:]])
    assert not Fuzzy()([*items, items[0]], [*mixed, "item"])
    assert Fuzzy(substring=True)([*items, items[0]], [*mixed, "item"])
    assert time.monotonic() - began < 30  # pair by pair it would be 25 million comparisons, several times


def test_a_pattern_that_takes_for_ever_is_stopped():
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=r"'\(a\|aa\)\+\$' took longer than 1 s"):
        Fuzzy()(re.compile("(a|aa)+$"), "a" * 60 + "b")
    assert time.monotonic() - began < 30


def test_what_is_nested_too_deeply_is_refused_rather_than_cut():
    deep = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(NotJsonError, match="nested too deeply"):
        json_data(deep)


def test_data_keeps_nan_rules_and_absence():
    data = json_data({"a": (1, math.nan), 2: ABSENT, "f": len})
    assert data["2"] is ABSENT
    assert data["f"] is len
    assert holds_nan(data)
    assert not holds_nan({"a": [1.0]})


@pytest.mark.parametrize(
    ("same", "expected", "found", "told"),
    [
        pytest.param(strict_equal, 1, 2, "expected 1, found 2", id="the whole"),
        pytest.param(strict_equal, {"a": {"b": 1}}, {"a": {"b": 2}}, "a.b: expected 1, found 2", id="a path of keys"),
        pytest.param(strict_equal, {"a": [{"b": 1}]}, {"a": [{"b": 2}]}, "a[0].b: expected 1, found 2", id="a list"),
        pytest.param(strict_equal, {"a": 1}, {}, "a: expected 1, but it is missing", id="a missing field"),
        pytest.param(strict_equal, {"a": 1}, {"a": None}, "a: expected 1, found null", id="null is there"),
        pytest.param(strict_equal, {}, {"a": 3}, "a: expected no such field, found 3", id="one too many"),
        pytest.param(
            strict_equal, {"a": ABSENT}, {"a": 3}, "a: expected no such field, found 3", id="one that was barred"
        ),
        pytest.param(strict_equal, [1], [1, 2], "expected [1], found [1, 2]", id="lists of other lengths"),
        pytest.param(strict_equal, {"": 1}, {"": 2}, "expected 1, found 2", id="a key without letters"),
        pytest.param(Fuzzy(), {"a": {"b": "x"}}, {"a": {"b": "y", "c": 1}}, "a.b: expected 'x', found 'y'", id="fuzzy"),
        pytest.param(Fuzzy(), [1, 2], [2, 3], "expected [1, 2], found [2, 3]", id="fuzzy lists have no places"),
        pytest.param(
            Fuzzy(any_order=False), [1, 2], [1, 3], "[1]: expected 2, found 3", id="unless their order counts"
        ),
        pytest.param(
            Fuzzy(), {"a": re.compile("x+")}, {"a": "y"}, "a: expected a text with 'x+' in it, found 'y'", id="pattern"
        ),
        pytest.param(Fuzzy(), {"a": str.isupper}, {"a": "y"}, "a: expected what isupper accepts, found 'y'", id="rule"),
        pytest.param(Fuzzy(), lambda v: False, "y", "expected what a function accepts, found 'y'", id="a lambda"),
    ],
)
def test_where_two_values_part(same, expected, found, told):
    assert describe_difference(same, expected, found) == told


@given(DATA, DATA)
def test_there_are_words_for_any_two_values_that_part(one, other):
    for same in (strict_equal, Fuzzy()):
        if not same(one, other):
            assert "expected " in describe_difference(same, one, other)


def test_rules_are_spoken_of_without_addresses_in_memory():
    assert describe_data({"a": [lambda v: v, ABSENT, re.compile("x")]}) == {
        "a": ["what a function accepts", "no such field", "a text with 'x' in it"]
    }


@pytest.mark.parametrize(
    ("options", "told"),
    [
        pytest.param({"tolerence": 1}, "no option 'tolerence'.* Did you mean 'tolerance'", id="a misspelt option"),
        pytest.param({"tolerance": -1}, "`tolerance` is -1; it has to be a number of at least 0", id="below 0"),
        pytest.param({"tolerance": True}, "`tolerance` is True", id="true is no tolerance"),
        pytest.param({"tolerance": math.nan}, "`tolerance` is nan", id="NaN is no tolerance"),
        pytest.param({"substring": "yes"}, "`substring` is 'yes'; it has to be true or false", id="a word"),
        pytest.param(Fuzzy(coerce=1), "`coerce` is 1", id="a number in Python"),
    ],
)
def test_wrong_options_are_refused(options, told):
    with pytest.raises(ConfigError, match=told):
        fuzzy_options(options, False, "here")


def test_options_are_added_to_the_default_of_the_scorer():
    assert fuzzy_options({"ignore_case": False}, True, "here") == Fuzzy(ignore_case=False, substring=True)
    assert fuzzy_options({"substring": False}, True, "here") == Fuzzy()
    assert fuzzy_options(None, True, "here") == Fuzzy(substring=True)
