"""The cost of the middleware around a chat model: processor time of a call that the model answers at once."""

import argparse
import asyncio
import gc
import time
from collections.abc import Callable

from rows import add_json, row_output

from evalmark import Turn
from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Call, Reply, Request
from evalmark.core.values.case import Usage
from evalmark.models.middleware.call_config import CallConfig, wrap_model
from evalmark.models.middleware.logged_model import LoggedModel, request_announcer
from evalmark.models.middleware.meter import Budget, Meter, MeteredModel
from evalmark.models.middleware.prices import PricedModel, Prices
from evalmark.models.middleware.rate_limits import RateLimits
from evalmark.models.middleware.replay import ReplayingModel
from evalmark.models.middleware.retry import RetryingModel
from evalmark.models.middleware.throttle import LimitedModel, Throttle

CALLS = 20_000
WORKERS = 16
TRIES = 5
"""The best one counts: nothing makes a program faster than it is."""
HEADERS = {
    "x-ratelimit-remaining-requests": "9999",
    "x-ratelimit-reset-requests": "6ms",
    "x-ratelimit-remaining-tokens": "1999999",
    "x-ratelimit-reset-tokens": "0s",
    "date": "Thu, 01 Jan 2026 00:00:00 GMT",
}
REPLY = Reply(
    text="Oslo",
    usage=Usage(input_tokens=150, output_tokens=5, cached_tokens=0, reasoning_tokens=0),
    model="gpt-4o-mini-2024-07-18",
    headers=HEADERS,
)
PRICES = Prices()
MONEY = Budget(max_cost=1e9, max_tokens=10**12)


class Instant:
    """Answers at once, always the same."""

    name = "openai/gpt-4o-mini"
    identity = "openai/gpt-4o-mini@https://api.openai.com/v1"

    async def __call__(self, request: Request) -> Reply:
        return REPLY


class Nowhere:
    """A call log that costs nothing and stores nothing."""

    async def find(self, key: str) -> Call | None:
        return None

    async def sending(self, key: str) -> None:
        pass

    async def keep(self, call: Call) -> None:
        pass


def everything(budget: Budget, pace: RateLimits) -> ChatModel:
    given = CallConfig(meter=Meter(budget, (), PRICES), throttle=Throttle(pace), prices=PRICES, call_log=Nowhere())
    return wrap_model(Instant(), given)


LAYERS: dict[str, Callable[[], ChatModel]] = {
    "no wrapper": Instant,
    "Limited": lambda: LimitedModel(Instant(), Throttle(), request_announcer(Nowhere())),
    "Retrying": lambda: RetryingModel(Instant()),
    "Priced": lambda: PricedModel(Instant(), PRICES),
    "Metered": lambda: MeteredModel(Instant(), Meter(MONEY, (), PRICES)),
    "Journaled, with the key": lambda: LoggedModel(Instant(), Nowhere()),
    "Replayed, with the key": lambda: ReplayingModel(Instant(), Nowhere()),
    "all": lambda: everything(Budget(), RateLimits()),
    "all, with --max-cost, --rpm and --tpm": lambda: everything(MONEY, RateLimits(rpm=10**9, tpm=10**12)),
}


def requests(number: int) -> list[Request]:
    """Requests of some 700 characters, as judges make them; none of them was made before."""
    system = Turn(role="system", content="You are a judge. " * 20)
    return [
        Request(
            messages=(system, Turn(role="user", content=f"{n} What is the capital of Norway? " * 10)),
            settings={"temperature": 0, "max_tokens": 100},
        )
        for n in range(number)
    ]


async def spend(model: ChatModel) -> float:
    """Processor time of one call in microseconds."""
    await model(requests(1)[0])
    left = iter(requests(CALLS))

    async def work() -> None:
        for request in left:
            await model(request)

    gc.collect()
    started = time.process_time()
    await asyncio.gather(*(work() for _ in range(WORKERS)))
    return (time.process_time() - started) / CALLS * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_json(parser)
    args = parser.parse_args()
    how = f"processor time a call; {CALLS:,} by {WORKERS} workers, best of {TRIES}"
    with row_output(args.json) as add_row:
        for name, make in LAYERS.items():
            least = min(asyncio.run(spend(make())) for _ in range(TRIES))
            add_row(what=name, found=least, unit="µs", note=how)
        asked = requests(CALLS)
        started = time.process_time()
        for request in asked:
            request.key(Instant.identity)
        alone = (time.process_time() - started) / CALLS * 1e6
        add_row(what="the key of a request alone", found=alone, unit="µs", note=how)


if __name__ == "__main__":
    main()
