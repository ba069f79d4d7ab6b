"""A run that is taken up again: what its calls came to in all passes."""

import asyncio

from evalmark.api import Conduct, execute
from evalmark.api.plan import Asked, Plan, Source
from evalmark.errors import RunStoppedError
from evalmark.judges import ClosedQA
from evalmark.store import open_store
from evalmark.targets import as_target
from evalmark.testing.chat import ScriptedModel
from evalmark.values import Case, DatasetInfo


def answer(question):
    return "Oslo"


def plan(replies):
    """One case and a judge that says this."""
    judge = ScriptedModel(replies)
    return Plan(
        name="cities",
        sources=(Source(info=DatasetInfo(name="cities"), read=lambda note: iter([Case(id="1", input="?")])),),
        target=as_target(answer),
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
