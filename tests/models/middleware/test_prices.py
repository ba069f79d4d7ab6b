"""What calls cost, and when that is not known."""

import subprocess
import sys
from decimal import Decimal

import pytest
from genai_prices import Usage as PricedUsage
from genai_prices import calc_price
from genai_prices.data_snapshot import DataSnapshot, set_custom_snapshot
from hypothesis import given, settings
from hypothesis import strategies as st

from evalmark.core.values.case import Usage
from evalmark.errors import ConfigError
from evalmark.models.middleware.prices import MOST_TOKENS, PricedModel, Prices, TokenPrices, read_prices, valid_usage
from evalmark.models.providers.endpoint import find_endpoint
from evalmark.testing.virtual_time import run_in_virtual_time

from .asking import OPENAI, ask, reply
from .watched import Watched

MILLION = Usage(input_tokens=1_000_000, output_tokens=1_000_000)


def model(name, address):
    return Watched(name=name, identity=f"{name}@{address}")


KNOWN = [
    pytest.param("openai/gpt-4o-mini", "https://api.openai.com/v1", "openai", "gpt-4o-mini", id="openai"),
    pytest.param(
        "anthropic/claude-sonnet-4-0", "https://api.anthropic.com", "anthropic", "claude-sonnet-4-0", id="anthropic"
    ),
    pytest.param(
        "gemini/gemini-2.0-flash",
        "https://generativelanguage.googleapis.com",
        "google",
        "gemini-2.0-flash",
        id="gemini",
    ),
    pytest.param("azure/gpt-4o-mini", "https://mine.openai.azure.com/openai/v1", "azure", "gpt-4o-mini", id="azure"),
    pytest.param(
        "openrouter/openai/gpt-4o-mini",
        "https://openrouter.ai/api/v1",
        "openrouter",
        "openai/gpt-4o-mini",
        id="openrouter",
    ),
    pytest.param(
        "groq/llama-3.3-70b-versatile", "https://api.groq.com/openai/v1", "groq", "llama-3.3-70b-versatile", id="groq"
    ),
    pytest.param(
        "mistral/mistral-large-latest", "https://api.mistral.ai/v1", "mistral", "mistral-large-latest", id="mistral"
    ),
    pytest.param("deepseek/deepseek-chat", "https://api.deepseek.com", "deepseek", "deepseek-chat", id="deepseek"),
    pytest.param(
        "together/MiniMaxAI/MiniMax-M3",
        "https://api.together.ai/v1",
        "together",
        "MiniMaxAI/MiniMax-M3",
        id="together",
    ),
    pytest.param("pydantic-ai/openai:gpt-4o-mini", "", "openai", "gpt-4o-mini", id="pydantic-ai"),
]


@pytest.mark.parametrize(("name", "address", "provider", "priced"), KNOWN)
def test_a_published_price_is_found_by_the_address_and_is_the_published_one(name, address, provider, priced):
    usage = Usage(
        input_tokens=12_345, output_tokens=678, cached_tokens=1_000, cache_write_tokens=0, reasoning_tokens=100
    )
    published = calc_price(
        PricedUsage(input_tokens=12_345, output_tokens=678, cache_read_tokens=1_000, output_reasoning_tokens=100),
        priced,
        provider_id=provider,
    )
    cost = Prices().cost(model(name, address), usage)
    assert cost == pytest.approx(float(published.total_price), rel=1e-9)
    assert cost > 0


UNKNOWN = [
    pytest.param("ollama/llama3", "http://127.0.0.1:11434/v1", id="a local server"),
    pytest.param("openai/gpt-4o-mini", "http://127.0.0.1:8000/v1", id="a local server under a known name"),
    pytest.param("openai/gpt-4o-mini", "https://proxy.example/v1", id="another server under a known name"),
    pytest.param("openai_compatible/gpt-4o-mini", "https://llm.example/v1", id="a compatible server"),
    pytest.param("openai/no-such-model-at-all", "https://api.openai.com/v1", id="a model nobody knows"),
    pytest.param("azure/my-deployment", "https://mine.openai.azure.com", id="a deployment of Azure"),
    pytest.param("pydantic-ai/bedrock", "", id="a bridge without a model"),
    pytest.param("pydantic-ai/nobody:gpt-4o-mini", "", id="a bridge to nobody"),
    pytest.param("mine", "", id="an object of the user's"),
]


@pytest.mark.parametrize(("name", "address"), UNKNOWN)
def test_an_unknown_price_is_none_and_never_nothing(name, address):
    prices = Prices()
    assert prices.cost(model(name, address), MILLION) is None
    assert prices.estimate(model(name, address), 10, 10) is None
    assert not prices.are_known(model(name, address))


@pytest.mark.parametrize(
    "usage",
    [Usage(), Usage(input_tokens=10), Usage(output_tokens=10)],
    ids=["nothing said", "only what went in", "only what came out"],
)
def test_unknown_usage_has_no_cost(usage):
    assert Prices().cost(Watched(**OPENAI), usage) is None
    assert Prices({"mine": TokenPrices(input=1, output=1)}).cost(model("mine", ""), usage) is None


def test_the_model_that_answered_goes_before_the_one_that_was_asked():
    deployment = model("azure/my-deployment", "https://mine.openai.azure.com")
    assert Prices().cost(deployment, MILLION, "gpt-4o-mini-2024-07-18") == pytest.approx(0.75)
    asked = Watched(**OPENAI)
    assert Prices().cost(asked, MILLION, "gpt-4o") == pytest.approx(12.5)
    assert Prices().cost(asked, MILLION, "a name without a price") == pytest.approx(0.75)


def test_the_price_that_the_user_gives_goes_before_the_published_one():
    prices = Prices(
        {"openai/gpt-4o-mini": TokenPrices(input=1.0, output=2.0), "ollama/llama3": TokenPrices(input=0.1, output=0.4)}
    )
    assert prices.cost(Watched(**OPENAI), MILLION) == pytest.approx(3.0)
    assert prices.cost(model("ollama/llama3", "http://127.0.0.1:11434/v1"), MILLION) == pytest.approx(0.5)
    assert (
        Prices({"mine": TokenPrices(input=0.0, output=0.0)}).cost(model("mine", ""), MILLION) == 0.0
    )  # the user says so


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["gpt-4o-mini", "gpt-4.1", "o3", "gpt-5", "gpt-5.4"]),
    st.integers(0, 900_000),
    st.integers(0, 90_000),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_our_sum_is_that_of_the_price_list(name, read, written, cached, thought):
    known = Usage(
        input_tokens=read,
        output_tokens=written,
        cached_tokens=int(read * cached),
        reasoning_tokens=int(written * thought),
    )
    published = calc_price(
        PricedUsage(
            input_tokens=read,
            output_tokens=written,
            cache_read_tokens=known.cached_tokens,
            output_reasoning_tokens=known.reasoning_tokens,
        ),
        name,
        provider_id="openai",
    )
    cost = Prices().cost(model(f"openai/{name}", "https://api.openai.com/v1"), known)
    assert cost == pytest.approx(float(published.total_price), rel=1e-9, abs=1e-12)


def test_a_price_with_steps_is_asked_for_each_time():
    gemini = model("gemini/gemini-2.5-pro", "https://generativelanguage.googleapis.com")
    small, large = (Prices().estimate(gemini, tokens, 0) / tokens for tokens in (100_000, 300_000))
    assert large == pytest.approx(2 * small)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param(Usage(input_tokens=-1, output_tokens=5), Usage(output_tokens=5), id="negative"),
        pytest.param(Usage(input_tokens=10**12, output_tokens=10**12), Usage(), id="absurd"),
        pytest.param(Usage(input_tokens=True, output_tokens=1.5), Usage(), id="no whole numbers"),
        pytest.param(Usage(input_tokens=10**400, output_tokens=1), Usage(output_tokens=1), id="beyond a float"),
        pytest.param(
            Usage(input_tokens=5, output_tokens=5, cached_tokens=6),
            Usage(input_tokens=5, output_tokens=5),
            id="more from the cache than there was",
        ),
        pytest.param(
            Usage(input_tokens=5, output_tokens=5, cached_tokens=3, cache_write_tokens=3),
            Usage(input_tokens=5, output_tokens=5),
            id="parts larger than the whole",
        ),
        pytest.param(
            Usage(input_tokens=5, output_tokens=5, reasoning_tokens=6),
            Usage(input_tokens=5, output_tokens=5),
            id="more thought than said",
        ),
        pytest.param(
            Usage(input_tokens=MOST_TOKENS, output_tokens=0),
            Usage(input_tokens=MOST_TOKENS, output_tokens=0),
            id="the most",
        ),
        pytest.param(Usage(cached_tokens=3), Usage(cached_tokens=3), id="a part of an unknown whole"),
    ],
)
def test_counts_that_cannot_be_are_unknown(given, kept):
    assert valid_usage(given) == kept


@given(st.builds(Usage, **dict.fromkeys(Usage.__slots__, st.none() | st.integers(-5, 30) | st.sampled_from([10**12]))))
def test_what_is_left_of_any_usage_makes_sense(usage):
    left = valid_usage(usage)
    assert valid_usage(left) == left
    cost = TokenPrices(input=1.0, output=2.0, cached=0.1, cache_write=1.25, reasoning=3.0).cost(left)
    assert cost is None or 0 <= cost < 1


def test_a_reply_carries_its_cost_and_no_absurd_usage():
    absurd = reply(read=-5, written=10**12)
    given = Watched([reply(read=1_000_000, written=0), absurd, reply(cost=0.5), reply(cost=float("nan"))], **OPENAI)

    async def main():
        return [await PricedModel(given, Prices())(ask()) for _ in range(4)]

    first, second, third, fourth = run_in_virtual_time(main())
    assert first.cost == pytest.approx(0.15)
    assert (second.cost, second.usage) == (None, Usage())
    assert third.cost == 0.5  # what the provider says goes before what a list says
    assert fourth.cost == pytest.approx((10 * 0.15 + 5 * 0.60) / 1e6)


def test_prices_in_the_models_table_are_read():
    table = {
        "local": {"provider": "ollama", "model": "llama3", "input": 0.1, "output": 0.4, "cached": 0},
        "other": {"provider": "openai", "model": "x"},
        "broken": "no table; somebody else says so",
    }
    assert read_prices(table) == {"local": TokenPrices(input=0.1, output=0.4, cached=0.0)}
    endpoint = find_endpoint("local", {}, {"local": table["local"]})
    assert Prices(read_prices(table)).cost(endpoint, MILLION) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"input": 0.1}, "a.output is missing: a price has both input and output."),
        (
            {"input": "cheap", "output": 1},
            "a.input is 'cheap'; write a number of dollars for a million tokens, 0 or more.",
        ),
        (
            {"input": -1, "output": float("nan")},
            "a.output is nan; write a number of dollars for a million tokens, 0 or more.",
        ),
        ({"input": True, "output": 1}, "a.input is True; write a number of dollars for a million tokens, 0 or more."),
        ({"cached": 1}, "a.input is missing: a price has both input and output."),
    ],
)
def test_a_price_that_is_none_is_named_with_its_place(row, said):
    with pytest.raises(ConfigError) as caught:
        read_prices({"a": row})
    assert f"pyproject.toml: [tool.evalmark.models] {said}" in str(caught.value).splitlines()


def test_prices_of_local_models_load_no_price_list_and_nothing_is_fetched():
    program = """
import sys
from types import SimpleNamespace
from evalmark.models.middleware.prices import Prices

def refuse(event, args):
    assert not event.startswith("socket.") or event == "socket.__new__", event

sys.addaudithook(refuse)
prices = Prices()
assert prices.estimate(SimpleNamespace(name="a", identity="ollama/llama3@http://127.0.0.1:1/v1"), 1, 1) is None
assert "genai_prices" not in sys.modules
assert prices.estimate(SimpleNamespace(name="b", identity="openai/gpt-4o-mini@https://api.openai.com/v1"), 10**6, 0) == 0.15
assert "genai_prices" in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_price_that_changes_with_the_time_of_day_is_looked_up_again_after_a_minute():
    now = [0.0]
    prices = Prices(clock=lambda: now[0])
    costs = [prices.cost(Watched(**OPENAI), MILLION)]
    set_custom_snapshot(DataSnapshot(providers=[], from_auto_update=False))
    try:
        for now[0] in (59.0, 61.0):
            costs.append(prices.cost(Watched(**OPENAI), MILLION))
    finally:
        set_custom_snapshot(None)
    assert costs == [pytest.approx(0.75), pytest.approx(0.75), None]


def test_money_is_exact_enough():
    cost = Prices().estimate(Watched(**OPENAI), 1, 1)
    assert Decimal(repr(cost)) == pytest.approx(Decimal("0.00000075"))
