"""A foreign object is told from another by its code and its settings, in every process alike."""

import ast
import json
import logging
from types import SimpleNamespace

import numpy as np
import pytest

from evalmark.core.foreign.identity import describe_object
from evalmark.core.foreign.source import parsed_source


def typed(source):
    """A function as one types it at a prompt: no file holds its source."""
    return eval(source)  # noqa: S307


class Bot:
    def __init__(self, model):
        self._model = model


def holding(thing):
    return lambda: thing


def defined():
    class Inside:
        size = 1

    return Inside


def nested(thing, times=20):
    """Data as deep as a schema of nested objects is."""
    for _ in range(times):
        thing = {"properties": [thing]}
    return thing


@pytest.mark.parametrize(
    ("one", "another", "same"),
    [
        pytest.param(typed("lambda: [x for x in 'a']"), typed("lambda: [x for x in 'a']"), True, id="the same code"),
        pytest.param(typed("lambda: lambda: 1"), typed("lambda: lambda: 2"), False, id="a function in a function"),
        pytest.param(typed("lambda x: x in {1, 2}"), typed("lambda x: x in {1, 3}"), False, id="a set in the code"),
        pytest.param(typed("lambda x: x + 1"), typed("lambda x: x * 1"), False, id="another operation"),
        pytest.param(holding(json), holding(json), True, id="a module stands for itself"),
        pytest.param(holding(json), holding(pytest), False, id="another module"),
        pytest.param(SimpleNamespace(a=[1]), SimpleNamespace(a=[2]), False, id="a setting inside a setting"),
        pytest.param(Bot("a"), Bot("a"), True, id="equal settings"),
        pytest.param(Bot("a"), Bot("b"), False, id="a private setting"),
        pytest.param(Bot(np.zeros(2)), Bot(np.ones(2)), False, id="the numbers of an array"),
        pytest.param(Bot(nested("a")), Bot(nested("a")), True, id="equal data, far down"),
        pytest.param(Bot(nested("a")), Bot(nested("b")), False, id="other data, far down"),
        pytest.param(Bot(nested(object())), Bot(nested(object())), True, id="an object far down stands for its class"),
        pytest.param(Bot(object()), Bot(object()), True, id="an address in memory is no setting"),
    ],
)
def test_descriptions_differ_when_code_or_settings_do(one, another, same):
    assert (describe_object(one) == describe_object(another)) is same


def test_a_logger_among_the_settings_leads_no_further():
    bot = Bot(logging.getLogger("a bot"))
    before = describe_object(bot)
    logging.getLogger("another part of the program")
    assert describe_object(bot) == before


@pytest.mark.parametrize("make", [SimpleNamespace, lambda: Bot(None)], ids=["with a text", "without one"])
def test_a_circle_of_objects_comes_to_an_end(make):
    one = make()
    one.other = one
    assert json.dumps(describe_object(one))


def test_a_circle_of_lists_comes_to_an_end():
    circle = []
    circle += [circle, circle, circle]
    assert json.dumps(describe_object(Bot(circle)))


@pytest.mark.parametrize(
    "thing",
    [
        pytest.param(holding, id="a function, which evalmark parses"),
        pytest.param(defined(), id="a class inside a function, which inspect looks for in the parsed file"),
    ],
)
def test_a_parser_that_fails_while_another_thread_parses_is_called_again(monkeypatch, thing):
    """Python 3.11 does, at random: 'AST constructor recursion depth mismatch'."""
    parse, calls = ast.parse, []

    def fail_once(source):
        calls.append(source)
        if len(calls) == 1:
            raise SystemError("AST constructor recursion depth mismatch (before=18, after=12)")
        return parse(source)

    expected = parsed_source(thing)
    with monkeypatch.context() as patch:  # pytest itself parses when a test fails
        patch.setattr(ast, "parse", fail_once)
        assert parsed_source(thing) == expected
    assert calls[0] == calls[1]
