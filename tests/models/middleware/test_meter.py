"""What calls come to, and how a run stays within its budget."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalmark.core.values.call import Reply
from evalmark.core.values.case import Usage
from evalmark.core.values.spending import Spending
from evalmark.errors import ModelCallError, RunStoppedError
from evalmark.models.middleware.meter import Budget, Meter, MeteredModel
from evalmark.models.middleware.prices import PricedModel, Prices, TokenPrices
from evalmark.models.middleware.rate_limits import RateLimits
from evalmark.models.middleware.throttle import LimitedModel, Throttle
from evalmark.testing.virtual_time import run_in_virtual_time

from .asking import OPENAI, ask, closed, fault, lost, reply
from .watched import Watched, outcomes

PRICES = Prices({"openai/gpt-4o-mini": TokenPrices(input=1.0, output=2.0)})
ONE_DOLLAR = Reply(text="yes", usage=Usage(input_tokens=1_000_000, output_tokens=0))


def spend(model, budget, count, *, workers=1, earlier=(), unanswered=0):
    """What so many calls come to, and the meter."""
    meter = Meter(budget, earlier, PRICES, unanswered)
    return run_in_virtual_time(outcomes(MeteredModel(PricedModel(model, PRICES), meter), count, workers=workers)), meter


def test_calls_are_counted_by_model():
    model = Watched([reply(), fault(), reply(attempts=fault().attempts), Reply(text="?")], **OPENAI)
    _, meter = spend(model, Budget(), 4)
    other = MeteredModel(Watched(["yes"], name="ollama/llama3"), meter)
    run_in_virtual_time(outcomes(other, 1))
    meter.record_replay("ollama/llama3", reply())
    assert meter.spending() == (
        Spending(
            model="openai/gpt-4o-mini",
            calls=3,
            failed=1,
            attempts=1,
            input_tokens=20,
            output_tokens=10,
            unknown_usage=1,
            cost=pytest.approx(40e-6),
            unknown_cost=1,
        ),
        Spending(model="ollama/llama3", calls=1, replayed=1, unknown_usage=1, unknown_cost=1),
    )


def test_earlier_passes_of_the_run_count_but_for_what_they_replayed():
    earlier = Spending(
        model="openai/gpt-4o-mini", calls=3, replayed=9, failed=1, repeated=2, input_tokens=5, output_tokens=5, cost=1.5
    )
    _, meter = spend(Watched([ONE_DOLLAR], **OPENAI), Budget(), 1, earlier=[earlier])
    (spent,) = meter.spending()
    assert (spent.calls, spent.replayed, spent.failed, spent.repeated, spent.cost) == (4, 0, 1, 2, 2.5)


@pytest.mark.parametrize(
    ("budget", "sent", "said"),
    [
        pytest.param(
            Budget(max_cost=2.5),
            3,
            "The budget of $2.50 is reached: 3 calls cost $3.00. Go on with a larger --max-cost.",
            id="money",
        ),
        pytest.param(
            Budget(max_calls=4), 4, "The budget of 4 calls is reached. Go on with a larger --max-calls.", id="calls"
        ),
        pytest.param(
            Budget(max_tokens=1_500_000),
            2,
            "The budget of 1,500,000 tokens is reached: 2 calls used 2,000,000. Go on with a larger --max-tokens.",
            id="tokens",
        ),
        pytest.param(
            Budget(max_calls=0), 0, "The budget of 0 calls is reached. Go on with a larger --max-calls.", id="nothing"
        ),
    ],
)
def test_a_run_ends_when_its_budget_is_reached(budget, sent, said):
    model = Watched(lambda request: ONE_DOLLAR, **OPENAI)
    found, _ = spend(model, budget, 10)
    assert len(model.requests) == sent
    assert {(type(each), str(each)) for each in found[sent:]} == {(RunStoppedError, said)}


def test_what_earlier_passes_spent_is_part_of_the_budget():
    earlier = [Spending(model="openai/gpt-4o-mini", calls=2, cost=2.0)]
    model = Watched(lambda request: ONE_DOLLAR, **OPENAI)
    spend(model, Budget(max_cost=3.0), 10, earlier=earlier)
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("repeated", "unanswered", "sent"),
    [
        pytest.param(0, 0, 6, id="nothing was lost"),
        pytest.param(0, 3, 3, id="requests that went out before a kill"),
        pytest.param(2, 0, 4, id="requests that were sent again after one"),
        pytest.param(2, 3, 1, id="both"),
    ],
)
def test_requests_that_nobody_knows_the_reply_of_are_part_of_the_budget(repeated, unanswered, sent):
    earlier = [Spending(model="openai/gpt-4o-mini", calls=4, cost=4.0, repeated=repeated)]
    for budget in (Budget(max_calls=10), Budget(max_cost=10.0)):
        model = Watched(lambda request: ONE_DOLLAR, **OPENAI)
        spend(model, budget, 10, earlier=earlier, unanswered=unanswered)
        assert len(model.requests) == sent


def test_what_earlier_passes_spent_without_a_price_counts_as_the_average():
    earlier = [Spending(model="openai/gpt-4o-mini", calls=4, cost=2.0, unknown_cost=2)]
    model = Watched(lambda request: ONE_DOLLAR, **OPENAI)
    spend(model, Budget(max_cost=3.9), 10, earlier=earlier)
    assert len(model.requests) == 0


def test_tokens_that_nobody_reported_are_said_to_be_an_estimate():
    replies = [Reply(text="yes", usage=Usage(input_tokens=90, output_tokens=10)), Reply(text="yes")]
    found, _ = spend(Watched(replies, **OPENAI), Budget(max_tokens=150), 3)
    said = str(found[-1])
    estimate = int(said.partition(" of them estimated")[0].rpartition(", ")[2].replace(",", ""))
    assert f"2 calls used {estimate + 100:,}, {estimate:,} of them estimated. Go on" in said
    assert estimate >= 1_000  # what a reply is taken to be, where nothing is known


@pytest.mark.parametrize("usage", [Usage(), Usage(input_tokens=-5, output_tokens=10**12)], ids=["missing", "absurd"])
def test_a_call_whose_usage_is_not_known_counts_as_a_cautious_guess(usage):
    model = Watched(lambda request: Reply(text="yes", usage=usage), **OPENAI)
    found, meter = spend(model, Budget(max_cost=0.01), 100)
    assert 3 <= len(model.requests) <= 6  # some 1,050 tokens each, most of them output at 2 dollars a million
    assert "of it estimated" in str(found[-1])
    (spent,) = meter.spending()
    assert (spent.cost, spent.unknown_usage) == (None, len(model.requests))  # the guess is no figure of the report


def test_the_limit_of_a_request_is_its_guess():
    model = Watched(lambda request: Reply(text="yes"), **OPENAI)
    meter = Meter(Budget(max_tokens=1_000), (), PRICES)

    async def main():
        for _ in range(11):
            await MeteredModel(model, meter)(ask("", settings={"max_tokens": 92}))

    with pytest.raises(RunStoppedError):
        run_in_virtual_time(main())
    assert len(model.requests) == 10  # 8 in and 92 out each


def test_near_the_end_of_a_budget_callers_wait_for_those_under_way():
    model = Watched(lambda request: ONE_DOLLAR, seconds=1.0, **OPENAI)
    large = "x" * 2_000_000  # a guess of one dollar

    async def main():
        meter = Meter(Budget(max_cost=2.5), (), PRICES)
        calls = [MeteredModel(PricedModel(model, PRICES), meter)(ask(large + str(n))) for n in range(20)]
        return await asyncio.gather(*calls, return_exceptions=True)

    found = run_in_virtual_time(main())
    assert len(model.requests) == 3
    assert sum(isinstance(each, RunStoppedError) for each in found) == 17


def test_far_from_the_end_of_a_budget_nobody_waits():
    model = Watched(lambda request: reply(), seconds=1.0, **OPENAI)
    meter = Meter(Budget(max_cost=1.0, max_tokens=10**6), (), PRICES)  # five hundred guesses of two thousandths

    async def main():
        await outcomes(MeteredModel(PricedModel(model, PRICES), meter), 2_000, workers=10)
        return asyncio.get_running_loop().time()

    assert run_in_virtual_time(main()) == 200.0


def test_a_model_that_was_seen_to_say_much_is_expected_to():
    model = Watched(lambda request: reply(read=0, written=50_000), seconds=1.0, **OPENAI)
    metered = MeteredModel(model, Meter(Budget(max_tokens=120_000), (), PRICES))

    async def main():
        await outcomes(metered, 1)
        await outcomes(metered, 10)

    run_in_virtual_time(main())
    assert len(model.requests) == 3


def test_small_calls_are_not_kept_from_a_small_budget():
    model = Watched(lambda request: reply(read=10, written=1), seconds=1.0, **OPENAI)
    found, meter = spend(model, Budget(max_cost=0.001), 500, workers=10)  # a guess is twice the budget
    (spent,) = meter.spending()
    assert spent.cost == pytest.approx(0.001, rel=0.02)
    assert isinstance(found[-1], RunStoppedError)


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 8),
    st.lists(st.tuples(st.integers(0, 3_000), st.sampled_from([None, "lost", "server", "unknown"])), max_size=60),
    st.integers(1, 40_000),
    st.sampled_from(["max_cost", "max_tokens", "max_calls"]),
)
def test_a_run_goes_over_its_budget_by_one_call_for_each_caller_at_the_most(workers, steps, most, which):
    steps = list(steps)
    guessed = 8 + 1_024 + 2

    def answer(request):
        size, kind = steps.pop() if steps else (500, None)
        if kind == "unknown":
            return Reply(text="?")
        return {"lost": lost(), "server": fault()}.get(kind) or reply(read=size, written=0)

    budget = Budget(**{which: {"max_cost": most / 1e6, "max_tokens": most, "max_calls": 1 + most // 1_000}[which]})
    model = Watched(answer, seconds=1.0, **OPENAI)
    found, meter = spend(model, budget, 100, workers=workers)
    spent = meter.spending()[0] if meter.spending() else Spending(model="")
    assert spent.calls + spent.failed == len(model.requests)
    if budget.max_calls is not None:
        assert len(model.requests) <= budget.max_calls
        return
    tokens = spent.input_tokens + spent.output_tokens
    largest = max(3_000, guessed)
    assert tokens <= most + workers * largest
    if all(size <= guessed for size in [each.usage.input_tokens or 0 for each in found if isinstance(each, Reply)]):
        assert tokens <= most + guessed  # where the guesses hold, by one call in all
    if not any(isinstance(each, RunStoppedError) for each in found):
        assert len(found) == len(model.requests) == 100


@pytest.mark.parametrize(
    ("said", "unsaid", "sent"),
    [
        pytest.param(0, 0, 5, id="nothing was asked before"),
        pytest.param(2, 0, 3, id="every call said what it took"),
        pytest.param(2, 2, 1, id="those that did not say count as the others"),
        pytest.param(0, 20, 0, id="none of them said"),
    ],
)
def test_a_budget_of_tokens_holds_for_earlier_passes_too(said, unsaid, sent):
    earlier = Spending(model=OPENAI["name"], calls=said + unsaid, unknown_usage=unsaid, input_tokens=3_000 * said)
    model = Watched(lambda request: reply(read=3_000, written=0), **OPENAI)
    spend(model, Budget(max_tokens=15_000), 10, earlier=[earlier] if said + unsaid else [])
    assert len(model.requests) == sent


def test_calls_that_never_went_out_are_not_counted():
    model = Watched([RunStoppedError("closed"), "yes"], **OPENAI)
    found, meter = spend(model, Budget(max_calls=1), 3)
    assert [type(each) for each in found] == [RunStoppedError, Reply, RunStoppedError]
    assert meter.spending()[0].calls == 1


def test_a_call_that_came_back_with_the_end_of_the_run_counts_as_sent():
    model = LimitedModel(Watched([closed()], **OPENAI), Throttle(RateLimits(start=1, most=1)))
    found, meter = spend(model, Budget(), 3)
    assert {type(each) for each in found} == {RunStoppedError}
    assert (meter.spending()[0].calls, meter.spending()[0].failed) == (0, 1)


@pytest.mark.parametrize(
    ("error", "paid"),
    [
        pytest.param(fault(200), True, id="a broken reply was paid for"),
        pytest.param(lost(seconds=60.0), True, id="a model worked until the time was up"),
        pytest.param(lost(seconds=0.01), False, id="nobody was there"),
        pytest.param(fault(429), False, id="a limit"),
        pytest.param(fault(500), False, id="a fault of the server"),
        pytest.param(closed(), False, id="a wrong key"),
    ],
)
def test_attempts_that_may_have_been_paid_for_count_against_the_budget(error, paid):
    model = Watched(lambda request: error, **OPENAI)
    found, meter = spend(model, Budget(max_cost=0.01), 100)
    stopped = any(isinstance(each, RunStoppedError) for each in found)
    assert stopped is paid
    assert meter.spending()[0].cost is None


def test_calls_that_are_cut_off_by_their_caller_count_against_the_budget():
    model = Watched(seconds=100.0, **OPENAI)
    meter = Meter(Budget(max_cost=0.01), (), PRICES)

    async def main():
        for sent in range(100):
            try:
                async with asyncio.timeout(5.0):
                    await MeteredModel(model, meter)(ask())
            except TimeoutError:
                continue
            except RunStoppedError:
                return sent
        return None

    assert 3 <= run_in_virtual_time(main()) <= 6


def test_one_who_waits_for_the_budget_and_gives_up_holds_nobody_up():
    model = Watched(lambda request: reply(), seconds=1.0, **OPENAI)
    meter = Meter(Budget(max_tokens=1_500), (), PRICES)

    async def main():
        calls = [asyncio.create_task(MeteredModel(model, meter)(ask())) for _ in range(5)]
        await asyncio.sleep(0.5)
        calls[3].cancel()
        return await asyncio.gather(*calls, return_exceptions=True)

    kinds = [type(each) for each in run_in_virtual_time(main())]
    assert kinds == [Reply, Reply, Reply, asyncio.CancelledError, Reply]


def test_a_budget_of_money_refuses_a_model_without_a_price_before_the_run():
    local = Watched(name="ollama/llama3", identity="ollama/llama3@http://127.0.0.1:11434/v1")
    assert Meter(Budget(max_calls=3)).refuse_unknown(local) is None
    assert Meter(Budget(max_cost=1.0)).refuse_unknown(Watched(**OPENAI)) is None
    refused = Meter(Budget(max_cost=1.0)).refuse_unknown(local)
    assert refused == (
        "--max-cost: the price of ollama/llama3 is not known. Name the model in [tool.evalmark.models] with its `input` "
        "and `output`, in dollars for a million tokens, or limit --max-calls or --max-tokens instead."
    )
    with pytest.raises(RunStoppedError, match="is not known"):  # and in case nobody asked
        run_in_virtual_time(MeteredModel(local, Meter(Budget(max_cost=1.0)))(ask()))
    assert local.requests == []


def test_models_that_change_while_a_run_goes_on_are_noted():
    model = Watched(
        [reply(model="m-1", system_fingerprint="a"), reply(model="m-2", system_fingerprint="b"), fault(), reply()],
        **OPENAI,
    )
    _, meter = spend(model, Budget(), 4)
    meter.record_replay("openai/gpt-4o-mini", reply(model="m-0", system_fingerprint="a"))
    meter.record_replay("steady", reply(model="s"))
    meter.record_replay("steady", reply(model="s"))
    changed, moved = meter.notes()
    assert changed == (
        "openai/gpt-4o-mini: 3 models replied under this name (m-1, m-2, m-0). Results may differ for that reason "
        "alone; name one version to rule it out."
    )
    assert moved == (
        "openai/gpt-4o-mini: the provider changed the system behind it during the run (2 fingerprints: a, b)."
    )


def test_errors_reach_the_caller_as_they_are():
    error = fault(400, kind="rejected")
    found, meter = spend(Watched([error], **OPENAI), Budget(max_cost=1.0), 1)
    assert found == [error]
    assert isinstance(found[0], ModelCallError)
    assert meter.spending()[0].failed == 1
