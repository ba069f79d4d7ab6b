"""What a run would take, before anything is sent."""

import asyncio

import pytest

from evalmark.api import Conduct, Memory, foresee
from evalmark.api.plan import Asked, Plan, Source
from evalmark.judges import Criteria
from evalmark.targets import as_target
from evalmark.testing.chat import ScriptedModel
from evalmark.values import Case, DatasetInfo


def answer(question):
    return "Oslo"


def forecast(*scorers, cases=10):
    """The forecast of the one model that judges, which is never asked."""
    judge = ScriptedModel([])
    rows = [Case(id=f"{number}", input=f"question {number}") for number in range(cases)]
    plan = Plan(
        name="cities",
        sources=(Source(info=DatasetInfo(name="cities"), read=lambda note: iter(rows)),),
        target=as_target(answer),
        asked=tuple(Asked(scorer=scorer, name=f"s{n}", judge=judge) for n, scorer in enumerate(scorers)),
    )
    (found,) = asyncio.run(foresee(plan, Conduct(ledger=Memory()))).models
    assert judge.asked == []
    return found


SHORT = Criteria(criteria="It names a city.", settings={"max_tokens": 5})
LONG = Criteria(criteria="It says why.")


@pytest.mark.parametrize(
    ("scorers", "calls", "tokens"),
    [
        pytest.param([LONG], 10, 10 * 150, id="nothing is known of the replies"),
        pytest.param([SHORT], 10, 10 * 5, id="all replies have a limit"),
        pytest.param([SHORT, LONG], 20, 10 * 5 + 10 * 150, id="the limit of some replies is not that of the others"),
    ],
)
def test_a_reply_counts_as_long_as_usual_and_no_longer_than_its_limit(scorers, calls, tokens):
    found = forecast(*scorers)
    assert (found.calls, found.output_tokens) == (calls, tokens)
