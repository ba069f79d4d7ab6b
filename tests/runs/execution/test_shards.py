"""Runs that ask a share of the cases."""

import asyncio
from dataclasses import replace
from itertools import combinations

import pytest

from evalmark import Case, evaluate
from evalmark.core.settings import Settings
from evalmark.core.values.run import DatasetInfo, Shard
from evalmark.errors import ConfigError
from evalmark.runs.execution.execute import execute
from evalmark.runs.execution.merge import merge_shards
from evalmark.runs.execution.options import RunOptions
from evalmark.runs.planning.plan import DatasetSource, Plan, ScorerSpec
from evalmark.runs.targets.function import as_target
from evalmark.scorers import Equals
from evalmark.store import open_store


def test_evaluate_asks_a_share(world):
    cases = [{"id": name, "input": name, "expected": name} for name in "abcde"]
    runs = [evaluate(cases, answer, ["equals"], shard=f"{n}/2", store=f"{n}.db", limit=4) for n in (1, 2)]
    assert [[result.trial.case.id for result in run.results] for run in runs] == [["a", "c"], ["b", "d"]]
    assert [(str(run.shard), run.shard.limit) for run in runs] == [("1/2", 4), ("2/2", 4)]
    assert str(evaluate(cases, answer, ["equals"], shard="2/3", store=None).shard) == "2/3"
    with (
        open_store("1.db", read_only=True) as one,
        open_store("2.db", read_only=True) as two,
        open_store("w.db") as whole,
    ):
        merged = merge_shards([(one, one.run("last")), (two, two.run("last"))], whole).run
        assert [result.trial.case.id for result in merged.results] == ["a", "b", "c", "d"]
        assert (merged.status, merged.is_part) == ("complete", True)
    with pytest.raises(ConfigError, match="'3/2' is not a shard"):
        evaluate(cases, answer, ["equals"], shard="3/2", store=None)


class Talk:
    """Judges the turns of a conversation."""

    needs_history = True
    name = "talk"

    def __call__(self, case):
        return len(case.history)


def answer(question):
    return question


def source(name, rows):
    cases = [Case(id=f"{name}{number}", input=str(number), expected=str(number)) for number in range(rows)]
    return DatasetSource(info=DatasetInfo(name=name), read=lambda note: iter(cases))


def plan(*scorers, repeat=1, **sizes):
    sources = tuple(source(name, rows) for name, rows in (sizes or {"a": 5, "b": 4, "c": 1}).items())
    asked = tuple(ScorerSpec(scorer=scorer) for scorer in scorers or (Equals(),))
    return Plan(name="letters", sources=sources, targets=(as_target(answer),), scorers=asked, repeat=repeat)


def ran(store, shard, wanted=None, **how):
    number, of = map(int, shard.split("/"))
    return asyncio.run(execute(wanted or plan(), RunOptions(store=store, shard=Shard(number=number, of=of), **how)))


def trials(run):
    return {(r.trial.case.id, r.trial.repeat, r.trial.mode) for r in run.results}


@pytest.mark.parametrize(
    ("wanted", "how"),
    [
        pytest.param(plan(), {}, id="three datasets"),
        pytest.param(plan(repeat=3), {}, id="repeats"),
        pytest.param(plan(), {"limit": 2}, id="of the first cases of each"),
        pytest.param(plan(), {"only": lambda case, dataset: case.id[-1] in "024"}, id="of some cases"),
        pytest.param(plan(Talk(), repeat=2), {}, id="conversations"),
        pytest.param(plan(Talk(), Equals()), {}, id="conversations, and rows by themselves"),
    ],
)
def test_every_trial_of_the_whole_is_in_exactly_one_shard_at_its_place(world, wanted, how):
    with open_store("s.db") as store:
        whole = asyncio.run(execute(wanted, RunOptions(store=store, **how)))
        shards = [ran(store, f"{number}/3", wanted, **how) for number in (1, 2, 3)]
        assert all(not trials(one) & trials(other) for one, other in combinations(shards, 2))
        together = {(r.trial.case.id, r.trial.repeat, r.trial.mode): r.trial for run in shards for r in run.results}
        assert together == {(r.trial.case.id, r.trial.repeat, r.trial.mode): r.trial for r in whole.results}
        for place, info in enumerate(whole.datasets):
            assert sum(run.datasets[place].rows for run in shards) == info.rows


def test_shares_of_cases_are_equal(world):
    with open_store("s.db") as store:
        sizes = [len(trials(ran(store, f"{number}/4"))) for number in (1, 2, 3, 4)]
    assert sizes == [3, 3, 2, 2]


def test_the_rows_of_a_conversation_stay_together(world):
    with open_store("s.db") as store:
        shards = [ran(store, f"{number}/2", plan(Talk(), Equals())) for number in (1, 2)]
    assert [{r.trial.dataset for r in run.results} for run in shards] == [{"a", "c"}, {"b"}]


def test_a_conversation_that_is_repeated_has_its_rows_once(world):
    with open_store("s.db") as store:
        run = asyncio.run(execute(plan(Talk(), repeat=3, a=4), RunOptions(store=store)))
    assert (run.datasets[0].rows, len(run.results)) == (4, 12)


def test_a_run_says_which_share_it_is_and_of_what(world):
    with open_store("s.db") as store:
        first, second = ran(store, "1/2"), ran(store, "2/2")
        other = ran(store, "1/2", plan(a=5, b=3, c=1))
    assert (first.is_part, str(first.shard), str(second.shard)) == (True, "1/2", "2/2")
    assert first.notes == ("Shard 1 of 2: the other shards have the other cases; `evalmark merge` combines them.",)
    assert first.shard.dealt == second.shard.dealt
    assert {*first.shard.dealt} == {"a", "b", "c"}
    assert [first.shard.dealt[name] == other.shard.dealt[name] for name in "abc"] == [True, False, True]


def test_what_a_limit_leaves_out_is_no_part_of_what_was_dealt(world):
    with open_store("s.db") as store:
        limited = ran(store, "1/2", plan(a=4), limit=2)
        assert limited.shard.dealt == ran(store, "1/2", plan(a=2)).shard.dealt


def test_a_share_without_cases_is_complete(world):
    with open_store("s.db") as store:
        run = ran(store, "3/3", plan(a=2), only=lambda case, dataset: True)
    assert (run.status, len(run.results), run.datasets[0].rows) == ("complete", 0, 0)
    assert len(run.notes) == 1, "nobody says that no case fits: others may have some"


def test_a_run_that_stops_once_decided_cannot_be_divided(world):
    undecided = replace(plan(a=2), until_decided=True)
    with open_store("s.db") as store:
        with pytest.raises(ConfigError, match="looks at all cases, and shard 1/2 is a share of them"):
            ran(store, "1/2", undecided)
        assert store.runs() == []


@pytest.mark.parametrize(
    ("begun", "wanted", "says"),
    [
        pytest.param("1/2", "2/2", "covers shard 1/2, but the command selects shard 2/2; use --shard 1/2", id="another shard"),
        pytest.param("1/2", "1/3", "covers shard 1/2, but the command selects shard 1/3; use --shard 1/2", id="another number of shards"),
        pytest.param("1/2", None, "covers shard 1/2, but the command selects all cases; use --shard 1/2", id="all cases"),
        pytest.param(None, "1/2", "covers all cases, but the command selects shard 1/2; omit --shard", id="a share of a run of all"),
    ],
)  # fmt: skip
def test_a_run_goes_on_as_the_same_share_only(world, begun, wanted, says):
    shard = {text: text and Shard(number=int(text[0]), of=int(text[2])) for text in (begun, wanted)}
    with open_store("s.db") as store:
        run = asyncio.run(execute(plan(), RunOptions(store=store, shard=shard[begun])))
        with pytest.raises(ConfigError) as fault:
            asyncio.run(execute(plan(), RunOptions(store=store, shard=shard[wanted], resume=run.id)))
        assert says in str(fault.value)
        assert store.run(run.id) == run


def test_a_shard_that_broke_off_goes_on_with_its_own_cases(world):
    with open_store("s.db") as store:
        wanted = plan(a=900)
        stop = asyncio.Event()
        broken = ran(store, "2/3", wanted, stop=stop, on_results=lambda results: stop.set(), settings=Settings(jobs=1))
        assert (broken.status, broken.shard.dealt) == ("interrupted", {})
        assert 0 < len(broken.results) < 300
        found = store.unfinished(wanted.fingerprint, "", broken.shard)
        assert found.id == broken.id
        assert store.unfinished(wanted.fingerprint, "") is None, "no run of all cases is unfinished"
        done = ran(store, "2/3", wanted, resume=broken.id)
        assert trials(done) == trials(ran(store, "2/3", wanted))
        assert done.status == "complete"
        assert done.shard.dealt
