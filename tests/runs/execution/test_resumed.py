"""A run that is taken up again: what its calls came to in all passes."""

import asyncio
from dataclasses import replace

import pytest

from evalmark import Case
from evalmark.core.values.run import DatasetInfo, Shard
from evalmark.errors import ConfigError, RunStoppedError
from evalmark.judges import ClosedQA
from evalmark.runs.execution.execute import execute
from evalmark.runs.execution.options import RunOptions
from evalmark.runs.planning.models import ConfiguredModel, ModelFactory
from evalmark.runs.planning.plan import DatasetSource, Plan, ScorerSpec
from evalmark.runs.targets.function import as_target
from evalmark.store import open_store
from evalmark.testing.chat import ScriptedModel


def answer(question):
    return "Oslo"


def plan(replies, **settings):
    """One case and a judge that says this, asked with these settings."""
    judge = ConfiguredModel(model=ScriptedModel(replies), settings=settings)
    return Plan(
        name="cities",
        sources=(DatasetSource(info=DatasetInfo(name="cities"), read=lambda note: iter([Case(id="1", input="?")])),),
        targets=(as_target(answer),),
        scorers=(ScorerSpec(scorer=ClosedQA(criteria="It names a city."), judge=judge),),
    )


def test_a_call_that_was_under_way_when_the_run_broke_off_is_counted_as_sent_again(world):
    with open_store(world / "s.db") as store:
        broken = asyncio.run(execute(plan([RunStoppedError("the line was cut")]), RunOptions(store=store)))
        assert broken.status == "stopped"
        done = asyncio.run(execute(plan([{"pass": True}]), RunOptions(store=store, resume=broken.id)))
        (spent,) = done.spending
        assert (done.status, spent.calls, spent.repeated) == ("complete", 1, 1)
        assert "1 model call was in flight when the run was interrupted; it is sent again." in done.notes


def test_a_run_is_not_taken_up_by_a_judge_with_other_settings(world):
    with open_store(world / "s.db") as store:
        broken = asyncio.run(
            execute(plan([RunStoppedError("the line was cut")], temperature=0), RunOptions(store=store))
        )
        with pytest.raises(ConfigError, match="used a different target, scorers or model"):
            asyncio.run(execute(plan([], temperature=1), RunOptions(store=store, resume=broken.id)))
        again = plan([{"pass": True}], temperature=0)
        assert asyncio.run(execute(again, RunOptions(store=store, resume=broken.id))).status == "complete"


def letters(name="letters", suite="suite.yaml", rows="abc", repeat=1):
    """A plan of some letters, as a suite would make it."""
    cases = [Case(id=row, input=row) for row in rows]
    source = DatasetSource(info=DatasetInfo(name="letters"), read=lambda note: iter(cases))
    asked = (ScorerSpec(scorer=Short()),)
    target = as_target(answer)
    return Plan(name=name, suite=suite, sources=(source,), targets=(target,), scorers=asked, repeat=repeat)


class Short:
    """Whether an answer is short."""

    name = "short"

    def __call__(self, output):
        return len(output) < 9


@pytest.mark.parametrize(
    ("begun", "wanted", "says"),
    [
        pytest.param(letters("multi", "multi.yaml"), letters("demo"), "belongs to the suite 'multi' (multi.yaml), not to the suite 'demo' (suite.yaml); resume it with its own suite, or omit --resume.", id="another suite"),
        pytest.param(letters("a", "a/suite.yaml"), letters("b", "b/suite.yaml"), "belongs to the suite 'a' (a/suite.yaml), not to the suite 'b' (b/suite.yaml)", id="another suite in a file of that name"),
        pytest.param(letters("talk", ""), letters("demo"), "belongs to 'talk', not to the suite 'demo'", id="a run that no suite has made"),
        pytest.param(letters("first", ""), letters("second", ""), "belongs to 'first', not to 'second'", id="a run over other cases, without suites"),
        pytest.param(letters(repeat=3), letters(repeat=2), "each case 3 times, and now 2 (--repeat)", id="fewer repeats"),
    ],
)  # fmt: skip
def test_a_run_is_not_taken_up_where_some_of_it_would_vanish(world, begun, wanted, says):
    with open_store(world / "s.db") as store:
        run = asyncio.run(execute(begun, RunOptions(store=store)))
        with pytest.raises(ConfigError) as refused:
            asyncio.run(execute(wanted, RunOptions(store=store, resume=run.id)))
        assert str(refused.value).startswith(f"run {run.id} ")
        assert says in str(refused.value)
        assert store.run(run.id) == run


@pytest.mark.parametrize(
    ("begun", "wanted", "results"),
    [
        pytest.param(letters("letters"), letters("alphabet"), 3, id="another name in the same file"),
        pytest.param(
            letters(suite="suite.yaml"),
            letters(suite="evals/letters.yaml"),
            3,
            id="the same name in a file that was moved",
        ),
        pytest.param(letters(suite=""), letters(suite=""), 3, id="no suite at all"),
        pytest.param(letters(rows="abc"), letters(rows="bcde"), 4, id="cases that were edited"),
        pytest.param(letters(repeat=1), letters(repeat=2), 6, id="more repeats"),
    ],
)
def test_a_run_goes_on_after_its_suite_was_edited(world, begun, wanted, results):
    with open_store(world / "s.db") as store:
        run = asyncio.run(execute(begun, RunOptions(store=store)))
        again = asyncio.run(execute(wanted, RunOptions(store=store, resume=run.id)))
        assert (again.id, again.status, len(again.results)) == (run.id, "complete", results)


@pytest.mark.parametrize(
    ("begun", "wanted", "says"),
    [
        pytest.param({}, {"limit": 2}, "all cases, and now the first 2 of each dataset (--limit)", id="a limit"),
        pytest.param({}, {"only": lambda case, dataset: True}, "all cases, and now some (--filter)", id="conditions"),
        pytest.param({"shard": Shard(number=1, of=2)}, {"shard": Shard(number=1, of=2, limit=1)}, "all cases, and now the first 1 of each dataset (--limit)", id="a limit of a shard of all"),
        pytest.param({"shard": Shard(number=1, of=2, limit=1)}, {"shard": Shard(number=1, of=2)}, "the first 1 of each dataset, and now all cases (--limit)", id="a shard of all, and it had a limit"),
        pytest.param({"shard": Shard(number=1, of=2, only=("tag=x",))}, {"shard": Shard(number=1, of=2, only=("tag=y", "id=a"))}, "those with tag=x, and now those with tag=y and id=a (--filter)", id="other conditions of a shard"),
    ],
)  # fmt: skip
def test_a_run_is_not_made_complete_by_asking_less(world, begun, wanted, says):
    with open_store(world / "s.db") as store:
        run = asyncio.run(execute(letters(), RunOptions(store=store, **begun)))
        with pytest.raises(ConfigError) as refused:
            asyncio.run(execute(letters(), RunOptions(store=store, resume=run.id, **wanted)))
        assert f"was started with another selection ({says}); resume it with the original flags" in str(refused.value)
        assert store.run(run.id) == run


class Chat:
    """Remembers the conversation by itself."""

    def __init__(self):
        self.heard = []

    def __call__(self, question):
        self.heard.append(question)
        return " ".join(self.heard)


class Before:
    """How much was said before the turn."""

    needs_history = True
    name = "before"

    def __call__(self, case):
        return len(case.history)


@pytest.mark.parametrize("done", [0, 1, 3])
def test_an_object_that_remembers_hears_again_what_was_said_before_the_break(world, done):
    rows = [Case(id=f"{number}", input=f"q{number}") for number in range(4)]
    talk = Plan(
        name="talk",
        sources=(DatasetSource(info=DatasetInfo(name="talk"), read=lambda note: iter(rows)),),
        targets=(as_target(Chat),),
        scorers=(ScorerSpec(scorer=Before()),),
        repeat=2,
    )
    with open_store(world / "s.db") as store:
        part = asyncio.run(execute(talk, RunOptions(store=store, only=lambda case, dataset: int(case.id) < done)))
        whole = asyncio.run(execute(talk, RunOptions(store=store, resume=part.id)))
        said = {(r.trial.repeat, r.trial.position): (r.output.value, r.scores[0].raw) for r in whole.results}
    expected = ["q0", "q0 q1", "q0 q1 q2", "q0 q1 q2 q3"]
    assert said == {(repeat, n): (text, 2 * n) for repeat in range(2) for n, text in enumerate(expected)}


def test_a_run_is_whole_when_connections_cannot_be_closed(world):
    class Stubborn(ModelFactory):
        async def close(self):
            raise OSError("the provider's own library broke")

    with open_store(world / "s.db") as store:
        with pytest.raises(OSError, match="own library"):
            asyncio.run(execute(replace(plan([{"pass": True}]), models=Stubborn()), RunOptions(store=store)))
        assert store.run("last").status == "complete"
