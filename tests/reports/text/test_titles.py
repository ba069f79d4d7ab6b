"""Short facts about a run."""

import pytest

from evalmark import Case, Output, Result, Run
from evalmark.core.values.score import Trial
from evalmark.reports.text.titles import run_facts
from evalmark.stats.summary.summarise import summarise


@pytest.mark.parametrize(
    ("count", "fact"),
    [
        pytest.param(1, "target t0", id="one target"),
        pytest.param(4, "target t0, t1, t2, t3", id="a few are named"),
        pytest.param(30, "30 targets", id="many are counted"),
    ],
)
def test_the_targets_of_a_run_are_named_or_counted(count, fact):
    names = [f"t{number}" for number in range(count)]
    case = Case(id="c", input="?")
    results = tuple(
        Result(trial=Trial(case=case, dataset="d", target=name), output=Output(value="!")) for name in names
    )
    run = Run(id="r", name="n", created="", target=", ".join(names), results=results)
    assert run_facts(run, summarise(run))[0] == fact
