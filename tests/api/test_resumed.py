"""A run that is taken up again: what its calls came to in all passes."""

import asyncio
from dataclasses import replace

import pytest

from evalmark.api import Conduct, execute
from evalmark.errors import ConfigError, RunStoppedError
from evalmark.judges import ClosedQA
from evalmark.plans import Asked, Configured, Models, Plan, Source
from evalmark.store import open_store
from evalmark.targets import as_target
from evalmark.testing.chat import ScriptedModel
from evalmark.values import Case, DatasetInfo


def answer(question):
    return "Oslo"


def plan(replies, **settings):
    """One case and a judge that says this, asked with these settings."""
    judge = Configured(model=ScriptedModel(replies), settings=settings)
    return Plan(
        name="cities",
        sources=(Source(info=DatasetInfo(name="cities"), read=lambda note: iter([Case(id="1", input="?")])),),
        targets=(as_target(answer),),
        asked=(Asked(scorer=ClosedQA(criteria="It names a city."), judge=judge),),
    )


def test_a_call_that_was_under_way_when_the_run_broke_off_is_counted_as_sent_again(world):
    with open_store(world / "s.db") as store:
        broken = asyncio.run(execute(plan([RunStoppedError("the line was cut")]), Conduct(ledger=store)))
        assert broken.status == "stopped"
        done = asyncio.run(execute(plan([{"pass": True}]), Conduct(ledger=store, resume=broken.id)))
        (spent,) = done.spending
        assert (done.status, spent.calls, spent.repeated) == ("complete", 1, 1)
        assert "1 model call was under way when the run broke off, and sent again." in done.notes


def test_a_run_is_not_taken_up_by_a_judge_with_other_settings(world):
    with open_store(world / "s.db") as store:
        broken = asyncio.run(execute(plan([RunStoppedError("the line was cut")], temperature=0), Conduct(ledger=store)))
        with pytest.raises(ConfigError, match="was made by another target, other scorers or another model"):
            asyncio.run(execute(plan([], temperature=1), Conduct(ledger=store, resume=broken.id)))
        again = plan([{"pass": True}], temperature=0)
        assert asyncio.run(execute(again, Conduct(ledger=store, resume=broken.id))).status == "complete"


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
        sources=(Source(info=DatasetInfo(name="talk"), read=lambda note: iter(rows)),),
        targets=(as_target(Chat),),
        asked=(Asked(scorer=Before()),),
        repeat=2,
    )
    with open_store(world / "s.db") as store:
        part = asyncio.run(execute(talk, Conduct(ledger=store, only=lambda case, dataset: int(case.id) < done)))
        whole = asyncio.run(execute(talk, Conduct(ledger=store, resume=part.id)))
        said = {(r.trial.repeat, r.trial.position): (r.output.value, r.scores[0].raw) for r in whole.results}
    expected = ["q0", "q0 q1", "q0 q1 q2", "q0 q1 q2 q3"]
    assert said == {(repeat, n): (text, 2 * n) for repeat in range(2) for n, text in enumerate(expected)}


def test_a_run_is_whole_when_connections_cannot_be_closed(world):
    class Stubborn(Models):
        async def close(self):
            raise OSError("the provider's own library broke")

    with open_store(world / "s.db") as store:
        with pytest.raises(OSError, match="own library"):
            asyncio.run(execute(replace(plan([{"pass": True}]), models=Stubborn()), Conduct(ledger=store)))
        assert store.run("last").status == "complete"
