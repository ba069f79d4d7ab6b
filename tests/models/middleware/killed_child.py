"""The process that is killed: asks sixty questions through all wrappers and a real store, or goes on where it stood."""

import asyncio
import sys
from pathlib import Path

from evalmark.core.context.trial_context import TrialContext, trial_context
from evalmark.errors import EvalmarkError
from evalmark.models.middleware.call_config import CallConfig, wrap_model
from evalmark.models.middleware.meter import Meter
from evalmark.models.middleware.prices import Prices
from evalmark.models.middleware.rate_limits import RateLimits
from evalmark.models.middleware.throttle import Throttle
from evalmark.models.providers.chat_models import open_chat
from evalmark.models.providers.http import HttpClient
from evalmark.store import open_store
from tests.storage.store import sample

from .asking import ask

QUESTIONS = 60
AT_ONCE = 6


async def ask_all(store, run_id: str, url: str) -> None:
    http = HttpClient()
    model = open_chat("openai/some-model", environ={"OPENAI_BASE_URL": f"{url}/v1"}, table={}, http=http, within=10.0)
    asked = wrap_model(
        model,
        CallConfig(
            meter=Meter(),
            throttle=Throttle(RateLimits(start=AT_ONCE, most=AT_ONCE)),
            prices=Prices(),
            call_log=store.call_log(run_id),
        ),
    )

    async def one(number: int) -> None:
        with trial_context(TrialContext()):
            reply = await asked(ask(str(number)))
            sys.stdout.write(f"{number} {reply.text}\n")
            sys.stdout.flush()

    try:
        await asyncio.gather(*(one(number) for number in range(QUESTIONS)))
    finally:
        await http.close()


def main(path: str, url: str) -> None:
    run = sample.run()
    with open_store(Path(path)) as store:
        try:
            store.resume(run.id)
        except EvalmarkError:
            store.start(run)
        sys.stdout.write(f"repeats {store.interrupted_calls(run.id)}\n")
        sys.stdout.flush()
        asyncio.run(ask_all(store, run.id, url))


if __name__ == "__main__":
    main(*sys.argv[1:])
