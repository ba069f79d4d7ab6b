"""The compiled writers and the fast JSON give what the plain rules give, whatever users put into the fields."""

import enum
import json
import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.core.values.case import Output, Usage
from evalmark.core.values.plain_data import plain
from evalmark.core.values.score import Score
from evalmark.storage.database import field_specs as specs
from evalmark.storage.database.fields import (
    REQUIRED,
    Field,
    Spec,
    dump_fields,
    from_json,
    load_fields,
    storable,
    to_json,
    to_row_json,
)
from tests.storage.results import test_rows as values


def dump_by_the_rules(value, spec):
    """What the compiled function does, as `Field` describes it."""
    data = {}
    for name, field in spec.items():
        item = getattr(value, field.attribute or name)
        if (item is None and field.skip is not REQUIRED) or (type(item) is type(field.skip) and item == field.skip):
            continue
        data[name] = field.write(item)
    return data


class Word(str):
    __slots__ = ()


class Level(enum.IntEnum):
    LOW = 1


STRANGE = st.sampled_from(
    [
        math.nan,
        math.inf,
        -0.0,
        5e-324,
        1e-7,
        1e16,
        2**63,
        -(2**64),
        1 << 14_000,
        "\ud800",
        "\udc00\ud800",
        "\x7f\x00\x1f",
        "\u2028é😀",
        Word("word"),
        Level.LOW,
        True,
        b"bytes",
        Decimal("0.1"),
        np.float32(0.5),
        np.array([[1.0, math.nan]]),
        (1, (2,)),
        {3, 1},
        {1: "a", None: 2, "b": ()},
        Usage(input_tokens=True),
        object,
    ]
)


def nested(levels):
    data = []
    for _ in range(levels):
        data = [data, {"a": 1}]
    return data


anything = st.recursive(
    values.data | STRANGE | st.sampled_from([nested(99), nested(200)]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
careless = st.builds(
    Output,
    value=anything,
    error=anything,
    seconds=anything,
    waited=anything,
    contexts=anything,
    metadata=anything,
    masked=anything,
    usage=st.none() | st.builds(Usage, input_tokens=anything, output_tokens=anything),
)
careless_scores = st.builds(
    Score, name=anything, raw=anything, value=anything, passed=anything, reason=anything, detail=anything
)


@given(careless)
def test_compiled_writers_write_what_the_rules_write(output):
    assert spelled(dump_fields(output, specs.OUTPUT)) == spelled(dump_by_the_rules(output, specs.OUTPUT))


@given(careless_scores)
def test_compiled_writers_write_the_scores_that_the_rules_write(score):
    assert spelled(dump_fields(score, specs.SCORE)) == spelled(dump_by_the_rules(score, specs.SCORE))


def spelled(fields):
    """Data as text, so that True is not 1; `to_json` refuses what is not plain."""
    return to_json(fields)


@given(values.results)
def test_compiled_writers_write_the_cases_that_the_rules_write(result):
    case = result.trial.case
    assert spelled(dump_fields(case, specs.CASE)) == spelled(dump_by_the_rules(case, specs.CASE))


@given(anything)
def test_fast_json_is_read_as_strict_json_is(value):
    data = storable(value)
    strict = to_json(data)
    fast = to_row_json(data)
    assert fast.isascii()
    assert_same(json.loads(fast), json.loads(strict))
    assert_same(from_json(fast), json.loads(fast))
    assert_same(from_json(strict), json.loads(strict))


def assert_same(left, right):
    """Equal to the last bit, with the same types and the same order of keys."""
    assert repr(left) == repr(right)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('"\\ud800"', id="a lone surrogate"),
        pytest.param("NaN", id="NaN"),
        pytest.param("-Infinity", id="infinity"),
        pytest.param("1e400", id="a number beyond every float"),
        pytest.param("18446744073709551617", id="an integer beyond 64 bits"),
        pytest.param("1" * 1_000, id="a long integer"),
        pytest.param("-0", id="minus zero"),
        pytest.param("-0.0", id="minus zero as a float"),
        pytest.param("1E5", id="an exponent"),
        pytest.param("2.2250738585072011e-308", id="the smallest normal float"),
        pytest.param('{"a":1,"a":2}', id="a key twice"),
        pytest.param(" [1, 2] \n", id="white space"),
        pytest.param('"\x7f"', id="a delete character"),
        pytest.param("[" * 200 + "]" * 200, id="deep data"),
        pytest.param('"\ud83d\ude00"', id="surrogates that were not escaped"),
    ],
)
def test_texts_are_read_as_the_standard_library_reads_them(text):
    assert_same(from_json(text), json.loads(text))


@pytest.mark.parametrize("text", ["", "{", "[1,]", "nul", "01", "+1", '"a\nb"', "1 2", "\ufeff1"])
def test_what_is_not_json_is_refused_by_the_standard_library(text):
    with pytest.raises(ValueError, match=r"Expecting|Extra data|Illegal|Invalid|Unexpected|BOM"):
        from_json(text)


def test_a_required_field_is_written_even_if_it_is_none():
    spec = Spec({"value": Field(plain, plain, REQUIRED), "other": Field(plain, plain)})
    assert dump_fields(type("Pair", (), {"value": None, "other": None}), spec) == {"value": None}


def test_a_value_of_another_type_than_the_plain_one_is_still_checked():
    with pytest.raises(ValueError, match="int in the place of a text"):
        load_fields(Score, specs.SCORE, {"name": "s", "reason": 1})
