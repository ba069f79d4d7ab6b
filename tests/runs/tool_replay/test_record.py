"""What may be recorded of a call, and what is said where it may not."""

import asyncio
import json
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import PurePosixPath
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from evalmark.core.values.plain_data import canonical
from evalmark.core.values.tool import tool_key
from evalmark.errors import ToolError
from evalmark.runs.tool_replay.plain_values import NotPlainError, as_argument, as_result
from evalmark.tools import replayed

from .trials import Agent

Point = namedtuple("Point", ["x", "y"])


class Color(Enum):
    RED = "red"


class Size(IntEnum):
    SMALL = 1


class Name(str):
    pass


@dataclass
class Hit:
    title: str
    rank: int = 1


class Filter(BaseModel):
    after: date
    tags: set[str] = set()


def nested(depth):
    found = []
    for _ in range(depth):
        found = [found]
    return found


circle: list[object] = []
circle.append(circle)

json_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture
def agent():
    return Agent()


@given(json_data)
def test_json_data_is_a_result_as_it_is(data):
    assert as_result(data) == data == json.loads(json.dumps(as_result(data)))


@pytest.mark.parametrize(
    ("value", "found"),
    [
        pytest.param(OrderedDict(a=(1,)), {"a": [1]}, id="a kind of dict"),
        pytest.param(Name("ann"), "ann", id="a kind of text"),
        pytest.param(np.float64(0.5), 0.5, id="a number of numpy that is one of Python's"),
        pytest.param(nested(90), nested(90), id="deep data"),
    ],
)
def test_what_is_equal_to_plain_data_is_a_result(value, found):
    plain = as_result(value)
    assert plain == found == value or plain == found
    assert type(plain) in (dict, str, float, list)


NOT_PLAIN = [
    pytest.param(Hit("a"), "it is of the type Hit", id="an object"),
    pytest.param([{"hit": Hit("a")}], "[0]['hit'] is of the type Hit", id="an object within"),
    pytest.param(Point(1, 2), "it is of the type Point", id="a named tuple, whose names would be lost"),
    pytest.param({1, 2}, "it is of the type set", id="a set"),
    pytest.param(b"abc", "it is of the type bytes", id="bytes"),
    pytest.param(datetime(2026, 1, 1, tzinfo=UTC), "it is of the type datetime", id="a date"),
    pytest.param(Size.SMALL, "it is of the type Size", id="a member of an enumeration"),
    pytest.param({"a": float("nan")}, "['a'] is nan, which JSON cannot represent", id="no number"),
    pytest.param(float("-inf"), "it is -inf, which JSON cannot represent", id="infinity"),
    pytest.param({1: "a"}, "it has the key 1, which is not a text", id="a number as a key"),
    pytest.param({None: "a"}, "it has the key None, which is not a text", id="nothing as a key"),
    pytest.param(10**5000, "it is an integer of more than 4,000 digits", id="a huge number"),
    pytest.param(np.zeros(2), "it is of the type ndarray", id="an array"),
    pytest.param(nested(200), "it is nested deeper than 100", id="data too deep"),
    pytest.param(circle, "it is nested deeper than 100", id="a circle"),
    pytest.param(print, "it is of the type builtin_function_or_method", id="a function"),
    pytest.param(Filter(after=date(2026, 1, 1)), "it is of the type Filter", id="a model of pydantic"),
]


@pytest.mark.parametrize(("value", "says"), NOT_PLAIN)
def test_what_would_come_back_as_something_else_is_no_result(agent, value, says):
    with pytest.raises(NotPlainError) as fault:
        as_result(value)
    assert str(fault.value) == says
    with pytest.raises(ToolError) as error:
        agent.calls(replayed(name="tool")(lambda: value))
    assert str(error.value).startswith(f"tool: the result cannot be recorded: {says}. Return dicts, lists")
    assert agent.keys == []
    assert agent.tools.fault is error.value


def test_a_plain_function_that_gives_a_coroutine_is_told_what_to_do(agent):
    async def fetch():
        return 1

    with pytest.raises(ToolError, match="Declare the tool with `async def`"):
        agent.calls(replayed(name="fetch")(lambda: fetch()))


@pytest.mark.parametrize(
    ("value", "found"),
    [
        pytest.param(Hit("a", 2), {"title": "a", "rank": 2}, id="a dataclass"),
        pytest.param(
            Filter(after=date(2026, 1, 1), tags={"b", "a"}),
            {"after": "2026-01-01", "tags": ["a", "b"]},
            id="a model of pydantic",
        ),
        pytest.param([Color.RED, Size.SMALL], ["red", 1], id="members of enumerations"),
        pytest.param({Decimal("1.50"), UUID(int=1)}, ["00000000-0000-0000-0000-000000000001", "1.50"], id="a set"),
        pytest.param((PurePosixPath("a/b"), b"\x00\xff"), ["a/b", "00ff"], id="a path and bytes"),
    ],
)
def test_arguments_count_by_what_they_say(value, found):
    assert as_argument(value) == found


@pytest.mark.parametrize(
    ("value", "says"),
    [
        pytest.param(object(), "it is of the type object", id="an object"),
        pytest.param(Hit, "it is of the type type", id="a class"),
        pytest.param(
            {"a": [Hit(title=print)]}, "['a'][0]['title'] is of the type builtin_function", id="within a field"
        ),
    ],
)
def test_an_argument_of_which_nobody_knows_what_matters_is_refused_by_its_name(agent, value, says):
    search = replayed(name="search")(lambda query, context: query)
    with pytest.raises(ToolError) as error:
        agent.calls(search, "tea", value)
    said = str(error.value)
    assert said.startswith(f"search: the argument 'context' cannot identify the call: {says}")
    assert "@replayed(key=lambda arguments: …)" in said
    assert agent.tools.fault is error.value


@given(json_data, json_data)
def test_the_key_differs_where_the_arguments_do(one, other):
    keys = [tool_key("search", "1", {"query": as_argument(data)}, None) for data in (one, other)]
    assert (keys[0] == keys[1]) == (canonical(one) == canonical(other))


@given(st.dictionaries(st.text(min_size=1), json_data, max_size=5), st.randoms())
def test_the_key_does_not_depend_on_the_order_of_names(arguments, random):
    shuffled = list(arguments.items())
    random.shuffle(shuffled)
    agent = Agent()
    tool = replayed(name="tool")(lambda **names: len(names))
    assert agent.calls(tool, **arguments) == agent.calls(tool, **dict(shuffled))
    assert len(agent.keys) == 1


parts = st.tuples(st.text(), st.text(), json_data, json_data)


@given(parts, parts)
def test_tool_version_arguments_and_input_each_make_another_key(one, other):
    same = [canonical(a) == canonical(b) for a, b in zip(one, other, strict=True)]
    assert (tool_key(*one) == tool_key(*other)) == all(same)


def without_tokens(record):
    record["arguments"]["headers"] = "(left out)"
    return record


def test_sanitize_says_what_is_recorded_and_the_agent_goes_on_with_it(agent):
    seen = []

    def shorten(record):
        seen.append(json.loads(json.dumps(record)))
        return {**without_tokens(record), "result": record["result"][:3], "input": "(left out)"}

    @replayed(name="fetch", version="2", sanitize=shorten, key=lambda arguments: arguments["url"])
    async def get(url, headers):
        return url * 3

    async def go():
        with agent.trial({"user": "ann"}):
            return [await get("/tea", {"Cookie": "c"}), await get("/tea", {"Cookie": "d"})]

    assert asyncio.run(go()) == ["/te", "/te"]
    assert seen == [
        {
            "tool": "fetch",
            "version": "2",
            "arguments": {"url": "/tea", "headers": {"Cookie": "c"}},
            "input": {"user": "ann"},
            "result": "/tea/tea/tea",
        }
    ]
    (kept,) = agent.call_log.recordings.values()
    assert (kept.arguments, kept.input, kept.result) == (
        {"url": "/tea", "headers": "(left out)"},
        "(left out)",
        "/te",
    )


def boom(record):
    raise KeyError("token")


@pytest.mark.parametrize(
    ("sanitize", "says"),
    [
        pytest.param(boom, "`sanitize` raised KeyError: 'token'", id="it raises"),
        pytest.param(lambda record: None, "`sanitize` returned None. Return the mapping", id="it returns nothing"),
        pytest.param(lambda record: {"result": 1}, "`sanitize` returned {'result': 1}", id="it leaves something out"),
        pytest.param(lambda record: {**record, "more": 1}, "`sanitize` returned {", id="it adds something"),
        pytest.param(lambda record: {**record, "tool": "x"}, "`sanitize` returned {", id="it renames the tool"),
        pytest.param(
            lambda record: {**record, "result": {1}},
            "returned an invalid result: it is of the type set",
            id="a result that is a set",
        ),
    ],
)
def test_where_sanitize_fails_nothing_is_recorded_and_that_is_said(agent, sanitize, says):
    with pytest.raises(ToolError) as error:
        agent.calls(replayed(name="tool", sanitize=sanitize)(lambda: "secret"))
    assert str(error.value).startswith("tool: nothing is recorded, since ")
    assert says in str(error.value)
    assert agent.keys == []


def test_what_sanitize_does_to_the_record_it_was_given_stays_with_it(agent):
    arguments = {"a": [1]}

    def spoil(record):
        copy = json.loads(json.dumps(record))
        record["arguments"]["rows"].clear()
        record["result"].clear()
        return copy

    tool = replayed(name="tool", sanitize=spoil)(lambda rows: rows)
    assert agent.calls(tool, arguments["a"]) == [1]
    assert arguments == {"a": [1]}


def test_a_key_that_fails_or_gives_an_object_is_said(agent):
    for key, says in (
        (lambda arguments: arguments["url"], "`key` raised KeyError"),
        (lambda a: print, "the result of `key`"),
    ):
        with pytest.raises(ToolError, match=says):
            agent.calls(replayed(name="tool", key=key)(lambda query: query), "tea")
    assert agent.keys == []


def test_names_of_tools_are_names_and_nothing_else(agent, tmp_path):
    from evalmark.store import open_store

    with open_store(tmp_path / "evalmark.db") as store:
        agent.call_log = store.tool_log()
        for name in ("../../etc/passwd", "a'; drop table call; --", "\x00", "😀", "a" * 10_000, "\ud800"):
            tool = replayed(name=name)(lambda: 1)
            assert [agent.run(mode).calls(tool) for mode in ("auto", "strict")] == [1, 1]
        assert len(store.recordings.by_tool()) == 6
        assert sorted(path.name for path in tmp_path.iterdir()) == ["evalmark.db", "evalmark.db-shm", "evalmark.db-wal"]
