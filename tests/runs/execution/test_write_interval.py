"""Results wait for each other only where a kill loses nothing by it."""

import pytest

from evalmark.core.settings import Settings
from evalmark.runs.execution.execute import WRITE_INTERVAL, _write_interval
from evalmark.runs.planning.plan import Plan, ScorerSpec
from evalmark.runs.targets.function import as_target
from evalmark.runs.targets.model import ModelTarget
from evalmark.scorers import Equals
from evalmark.testing.chat import ScriptedModel

MODEL = ModelTarget(model=ScriptedModel(["4"]))


def own(output) -> bool:
    return bool(output)


@pytest.mark.parametrize(
    ("targets", "scorer", "settings", "waits"),
    [
        pytest.param((MODEL,), Equals(), {}, True, id="a model and a built-in scorer"),
        pytest.param((MODEL,), Equals(), {"replay": "strict"}, True, id="replies from the call log alone"),
        pytest.param((MODEL,), Equals(), {"replay": "off"}, False, id="replies that are not replayed"),
        pytest.param((MODEL,), Equals(), {"replay": "record"}, False, id="replies that are recorded again"),
        pytest.param((as_target(own),), Equals(), {}, False, id="a function"),
        pytest.param((MODEL, as_target(own)), Equals(), {}, False, id="a model and a function"),
        pytest.param((MODEL,), own, {}, False, id="a scorer of the user"),
        pytest.param((MODEL,), Equals(), {"on": "ray"}, False, id="workers of a cluster"),
        pytest.param((MODEL,), Equals(), {"isolate": True}, False, id="worker processes"),
    ],
)
def test_results_wait_where_they_are_made_again_without_a_call(targets, scorer, settings, waits):
    plan = Plan(name="p", sources=(), targets=targets, scorers=(ScorerSpec(scorer=scorer),))
    assert _write_interval(plan, Settings(**settings)) == (WRITE_INTERVAL if waits else 0.0)
