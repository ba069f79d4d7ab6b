"""The quick way to plain data gives what the thorough one does, letter for letter."""

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum
from fractions import Fraction
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark import Case, Example, Output, Turn
from evalmark.core.values.plain_data import MAX_DEPTH, MAX_ITEMS, TRUNCATED, _plain, canonical, plain


class Word(StrEnum):
    YES = "yes"


class Number(IntEnum):
    ONE = 1


class Colour(Enum):
    RED = "red"


class Pair(NamedTuple):
    first: Any
    second: Any


class Letters(str):
    __slots__ = ()


class Listed(list):
    def tolist(self):
        return ["said otherwise"]


@dataclass(frozen=True)
class Point:
    x: Any
    y: Any = None


@dataclass
class Text(str):
    x: int = 1


@dataclass(eq=False)
class Table(Mapping):
    rows: Any

    def __getitem__(self, key: str) -> Any:
        return self.rows

    def __iter__(self) -> Iterator[str]:
        return iter(("rows",))

    def __len__(self) -> int:
        return 1


class Endless:
    def __iter__(self) -> Iterator[int]:
        return iter(int, 1)


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=5)
    | st.sampled_from(
        [Word.YES, Number.ONE, Colour.RED, Letters("l"), b"\xff", bytearray(b"a"), Point, Text("t"), Fraction(1, 3)]
    )
    | st.sampled_from([Turn(role="user", content="hi"), Example(value=(1, 2)), Output(value={1: 2}), Case(id="1")])
)
KEYS = st.text(max_size=3) | st.sampled_from([1, 1.5, None, True, Word.YES, ("a",), Letters("l")])
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.lists(inner, max_size=2).map(Listed)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.dictionaries(KEYS, inner, max_size=3).map(OrderedDict)
        | st.frozensets(st.integers() | st.text(max_size=2), max_size=4)
        | st.builds(Point, inner, inner)
        | st.builds(Pair, inner, inner)
        | st.builds(Table, inner)
        | st.builds(Turn, role=st.just("user"), content=inner)
    ),
    max_leaves=20,
)


def thorough(value: Any) -> Any:
    return _plain(value, 0, [MAX_ITEMS])


def written(value: Any) -> str:
    """With the types told apart that compare equal: True and 1, 1 and 1.0; and the order of keys."""
    return json.dumps(value)


@given(VALUES)
def test_plain_data_are_the_same_either_way(value):
    assert written(plain(value)) == written(thorough(value))


@given(VALUES)
def test_the_canonical_text_is_that_of_the_plain_data(value):
    said = json.dumps(thorough(value), sort_keys=True, separators=(",", ":"))
    assert canonical(value) == said


def nested(depth: int, around: Any) -> Any:
    value = "core"
    for _ in range(depth):
        value = around(value)
    return value


AROUND = [
    pytest.param(lambda inner: [inner], id="lists"),
    pytest.param(lambda inner: (inner, 1.5), id="tuples"),
    pytest.param(lambda inner: {"a": inner, "b": Word.YES}, id="objects"),
    pytest.param(lambda inner: Point(inner, []), id="dataclasses"),
    pytest.param(lambda inner: [Point({"a": (inner,)})], id="all of them"),
    pytest.param(lambda inner: OrderedDict(a=inner), id="other mappings"),
]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(
    "depth", [*range(MAX_DEPTH // 4 - 2, MAX_DEPTH // 4 + 2), *range(MAX_DEPTH - 2, MAX_DEPTH + 3)]
)
def test_data_too_deep_are_cut_at_the_same_place(around, depth):
    value = nested(depth, around)
    assert written(plain(value)) == written(thorough(value))


def test_a_cycle_ends():
    value: list[Any] = []
    value.append(value)
    assert canonical(value).count("[") == MAX_DEPTH
    assert TRUNCATED in canonical(value)


FEW = [0] * 1_000
MANY = [
    pytest.param([FEW] * 999, id="just as many as are kept"),
    pytest.param([FEW] * 1_000, id="more than are kept"),
    pytest.param([{"a": [FEW] * 998, "b": Point(FEW, FEW), "c": "left out?"}, "left out?"], id="more in an object"),
    pytest.param([FEW * 1_000], id="one more than are kept"),
    pytest.param([Endless(), "left out"], id="items without end"),
    pytest.param([Endless()] * 2, id="twice items without end"),
]


@pytest.mark.parametrize("value", MANY)
def test_what_is_too_much_is_cut_at_the_same_place(value):
    assert plain(value) == thorough(value)
