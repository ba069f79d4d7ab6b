"""A foreign object is told from another by its code and its settings, in every process alike."""

import json
from types import SimpleNamespace

import pytest

from evalmark.roles import described


def typed(source):
    """A function as one types it at a prompt: no file holds its source."""
    return eval(source)  # noqa: S307


def holding(thing):
    return lambda: thing


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
        pytest.param(SimpleNamespace(_a=1), SimpleNamespace(_a=2), True, id="what is private is no setting"),
    ],
)
def test_descriptions_differ_when_code_or_settings_do(one, another, same):
    assert (described(one) == described(another)) is same


def test_a_circle_of_objects_comes_to_an_end():
    one = SimpleNamespace()
    one.other = one
    assert json.dumps(described(one))
