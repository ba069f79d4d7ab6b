"""Which earlier run a run is held against where nobody says."""

from dataclasses import replace

import pytest

from evalmark import Run
from evalmark.core.values.run import DatasetInfo, UntilDecided
from evalmark.stats.comparison.baseline_choice import choose_baseline, comparable_runs


def a_run(number=1, datasets=("capitals.jsonl",), **fields):
    known = {"name": "bot", "suite": "suites/bot.yaml", "created": f"2026-11-2{number}T00:00:00Z"}
    return Run(id=f"r{number}", datasets=tuple(DatasetInfo(name=name) for name in datasets), **(known | fields))


NOW, BEFORE = a_run(9), a_run(1)
DECIDED = UntilDecided(seed=1, level=0.95, outcome="pass")


@pytest.mark.parametrize(
    ("run", "earlier", "found"),
    [
        pytest.param(NOW, [a_run(2), BEFORE], "r2", id="the newest before it"),
        pytest.param(NOW, [a_run(2, name="other"), BEFORE], "r1", id="another name is another evaluation"),
        pytest.param(NOW, [a_run(2, suite="bots.yaml"), BEFORE], "r1", id="another suite as well"),
        pytest.param(NOW, [a_run(2, suite="/ci/bot.yaml")], "r2", id="the folder of a suite does not count"),
        pytest.param(NOW, [a_run(2, ("rivers.jsonl",)), BEFORE], "r1", id="other datasets"),
        pytest.param(NOW, [a_run(2, ("capitals.jsonl", "rivers.jsonl")), BEFORE], "r1", id="more datasets"),
        pytest.param(NOW, [a_run(2, target="app:other")], "r2", id="another target is what is compared"),
        pytest.param(NOW, [a_run(2, status="running"), BEFORE], "r1", id="one that is under way"),
        pytest.param(NOW, [a_run(2, status="interrupted"), a_run(3, status="stopped")], None, id="none was complete"),
        pytest.param(NOW, [a_run(2, is_part=True), BEFORE], "r1", id="one of a part of the cases hides the others"),
        pytest.param(NOW, [a_run(2, until_decided=DECIDED), BEFORE], "r1", id="one that stopped once decided as well"),
        pytest.param(
            NOW, [a_run(2, until_decided=replace(DECIDED, outcome=None))], "r2", id="unless it asked all cases"
        ),
        pytest.param(replace(NOW, is_part=True), [a_run(2, is_part=True), BEFORE], "r2", id="a part beside a part"),
        pytest.param(replace(NOW, is_part=True), [BEFORE], "r1", id="a part beside the whole"),
        pytest.param(replace(NOW, status="running"), [BEFORE], "r1", id="a run that goes on has one already"),
        pytest.param(NOW, [], None, id="the first run"),
        pytest.param(
            a_run(9, (), name="", suite=""), [a_run(1, (), name="", suite="")], None, id="nothing says what it is"
        ),
    ],
)
def test_a_run_is_held_against_the_newest_whole_run_of_the_same(run, earlier, found):
    said = choose_baseline(run, [a_run(10), run, *earlier])
    assert (said.id if said else None) == found


def test_a_run_that_is_not_kept_yet_comes_after_all():
    assert choose_baseline(NOW, [BEFORE]) == BEFORE


def test_runs_to_choose_from_share_a_dataset_and_may_be_unfinished():
    later, both = a_run(10), a_run(3, ("capitals.jsonl", "rivers.jsonl"), status="interrupted")
    runs = [later, NOW, both, a_run(2, ("rivers.jsonl",)), BEFORE]
    assert list(comparable_runs(NOW, runs)) == [both, BEFORE]
