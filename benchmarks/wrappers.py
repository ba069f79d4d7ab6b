"""What the wrappers around a chat model cost: processor time of a call that a model answers at once, in one process."""

import argparse
import asyncio
import gc
import time
from collections.abc import Callable

from rows import add_json, telling

from evalmark import Turn
from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Call, Reply, Request
from evalmark.core.values.usage import Usage
from evalmark.models.middleware.conditions import Conditions, through
from evalmark.models.middleware.journaled import Journaled, announcing
from evalmark.models.middleware.limited import Limited
from evalmark.models.middleware.meter import Budget, Meter
from evalmark.models.middleware.metered import Metered
from evalmark.models.middleware.pace import Pace
from evalmark.models.middleware.priced import Priced
from evalmark.models.middleware.prices import Prices
from evalmark.models.middleware.replayed import Replayed
from evalmark.models.middleware.retrying import Retrying
from evalmark.models.middleware.throttle import Throttle

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
    """A journal that costs nothing and knows nothing."""

    async def find(self, key: str) -> Call | None:
        return None

    async def sending(self, key: str) -> None:
        pass

    async def keep(self, call: Call) -> None:
        pass


def everything(budget: Budget, pace: Pace) -> ChatModel:
    given = Conditions(meter=Meter(budget, (), PRICES), throttle=Throttle(pace), prices=PRICES, call_log=Nowhere())
    return through(Instant(), given)


LAYERS: dict[str, Callable[[], ChatModel]] = {
    "no wrapper": Instant,
    "Limited": lambda: Limited(Instant(), Throttle(), announcing(Nowhere())),
    "Retrying": lambda: Retrying(Instant()),
    "Priced": lambda: Priced(Instant(), PRICES),
    "Metered": lambda: Metered(Instant(), Meter(MONEY, (), PRICES)),
    "Journaled, with the key": lambda: Journaled(Instant(), Nowhere()),
    "Replayed, with the key": lambda: Replayed(Instant(), Nowhere()),
    "all": lambda: everything(Budget(), Pace()),
    "all, with --max-cost, --rpm and --tpm": lambda: everything(MONEY, Pace(rpm=10**9, tpm=10**12)),
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
    said = parser.parse_args()
    how = f"processor time a call; {CALLS:,} by {WORKERS} workers, best of {TRIES}"
    with telling(said.json) as tell:
        for name, make in LAYERS.items():
            least = min(asyncio.run(spend(make())) for _ in range(TRIES))
            tell(what=name, found=least, unit="µs", beside=how)
        asked = requests(CALLS)
        started = time.process_time()
        for request in asked:
            request.key(Instant.identity)
        alone = (time.process_time() - started) / CALLS * 1e6
        tell(what="the key of a request alone", found=alone, unit="µs", beside=how)


if __name__ == "__main__":
    main()
