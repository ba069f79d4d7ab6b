"""What two runs share is counted over the same trials, and over nothing else."""

import asyncio
from dataclasses import replace

import pytest

from evalmark import Case, Output, Result, Score
from evalmark.core.values.score import Trial
from evalmark.storage.queries.overlap import SharedTrials
from tests.storage.store import sample

EVERYWHERE = True


def judged(case: str, passes: bool | None = True, target="app", **fields) -> Result:
    content = {name: fields.pop(name) for name in ("input", "metadata", "tags") if name in fields}
    trial = Trial(case=Case(id=case, **{"input": "?", **content}), dataset="d", target=target, **fields)
    scores = () if passes is None else (Score(name="x", value=float(passes), passed=passes),)
    return Result(trial=trial, output=Output(value="a"), scores=scores)


def kept(store, name: str, results, target="app"):
    run = sample.run(name, target=target)
    store.start(run)
    asyncio.run(store.sink(name).write(results))
    store.finish(replace(run, status="complete"))
    return store.run(name)


@pytest.mark.parametrize(
    ("before", "now", "found"),
    [
        pytest.param([judged("a"), judged("b")], [judged("a"), judged("b", False)], (2, 2, 1), id="one became worse"),
        pytest.param([judged("a", False)], [judged("a")], (1, 0, 1), id="one became better"),
        pytest.param([judged("a"), judged("gone")], [judged("a"), judged("new")], (1, 1, 1), id="cases of one of them"),
        pytest.param([judged("a", input="1")], [judged("a", input="2")], (0, 0, 0), id="an edited case is another"),
        pytest.param([judged("a", None), judged("b")], [judged("a"), judged("b", None)], (0, 0, 0), id="unjudged"),
        pytest.param(
            [judged("a", repeat=0), judged("a", False, repeat=1)],
            [judged("a", repeat=0), judged("a", repeat=1), judged("a", repeat=2)],
            (2, 1, 2),
            id="repeat by repeat",
        ),
        pytest.param(
            [judged("a"), judged("a", False, mode="conversation")],
            [judged("a", False), judged("a", mode="conversation")],
            (2, 1, 1),
            id="by itself and as a turn",
        ),
        pytest.param([], [judged("a")], (0, 0, 0), id="nothing before"),
    ],
)
def test_what_two_runs_share(store, before, now, found):
    earlier, run = kept(store, "before", before), kept(store, "now", now)
    shared = store.shared_trials(run, earlier)
    assert (shared.n, shared.before, shared.now) == found


@pytest.mark.parametrize(
    ("targets", "n"),
    [
        pytest.param(("old", "new"), 1, id="one target each, whatever it is called"),
        pytest.param(("m/a, m/b", "m/a, m/b"), 2, id="target by target"),
        pytest.param(("m/a, m/b", "m/b"), 1, id="those that both have"),
        pytest.param(("m/a, m/b", "m/c"), 0, id="none in common"),
    ],
)
def test_targets_are_compared_with_themselves_where_there_are_several(store, targets, n):
    earlier, run = (
        kept(store, name, [judged("a", target=one) for one in target.split(", ")], target)
        for name, target in zip(("before", "now"), targets, strict=True)
    )
    assert store.shared_trials(run, earlier).n == n


def test_tests_beside_the_headline_are_left_out_where_somebody_says_that_there_are_some(store):
    results = [judged("a", metadata={"rule": "r"}), judged("b", metadata={"rule": "r", "valid": False})]
    earlier, run = kept(store, "before", results), kept(store, "now", results)
    assert store.shared_trials(run, earlier).n == 2
    assert store.shared_trials(run, earlier, counted_only=True).n == 1


def test_results_that_have_left_a_run_are_not_shared(store):
    earlier = kept(store, "before", [judged("a"), judged("b")])
    run = kept(store, "now", [judged("a"), judged("b")])
    store.resume("now")
    recorded = store.recorded("now")
    assert recorded(judged("a").trial)
    store.finish(run)
    assert store.shared_trials(store.run("now"), earlier).n == 1


def test_points_are_of_what_is_shared():
    assert SharedTrials(n=8, before=6, now=4).points == -25.0
    assert SharedTrials(n=0, before=0, now=0).points is None
