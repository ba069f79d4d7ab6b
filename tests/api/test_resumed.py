"""A run that is taken up again: what its calls came to in all passes."""

import asyncio

import pytest

from evalmark.api import Conduct, execute
from evalmark.api.models import Configured
from evalmark.api.plan import Asked, Plan, Source
from evalmark.errors import ConfigError, RunStoppedError
from evalmark.judges import ClosedQA
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


def test_a_run_is_not_taken_up_by_a_judge_with_other_settings(world):
    with open_store(world / "s.db") as store:
        broken = asyncio.run(execute(plan([RunStoppedError("the line was cut")], temperature=0), Conduct(ledger=store)))
        with pytest.raises(ConfigError, match="was made by another target, other scorers or another model"):
            asyncio.run(execute(plan([], temperature=1), Conduct(ledger=store, resume=broken.id)))
        again = plan([{"pass": True}], temperature=0)
        assert asyncio.run(execute(again, Conduct(ledger=store, resume=broken.id))).status == "complete"
