import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evalmark.store import Store, open_store
from tests.storage.store import sample
from tests.storage.store.places import everywhere

RUN = sample.run().id


pytest_generate_tests = everywhere


@pytest.fixture
def path(request, tmp_path: Path):
    """A place for a store: a file, and for modules that hold `EVERYWHERE` a server as well."""
    if getattr(request, "param", "in a file") == "in a file":
        return tmp_path / ".evalmark" / "evalmark.db"
    return request.getfixturevalue("on_a_server")


@pytest.fixture
def store(path) -> Iterator[Store]:
    """A store in which a run is being written."""
    with open_store(path) as opened:
        opened.start(sample.run())
        yield opened


def keep(store: Store, *calls, run: str | None = RUN) -> None:
    """Send and keep these calls, all at the same time."""
    journal = store.call_log(run)

    async def one(call) -> None:
        await journal.sending(call.key)
        await journal.keep(call)

    async def everything() -> None:
        await asyncio.gather(*map(one, calls))

    asyncio.run(everything())


def send(store: Store, *keys: str, run: str | None = RUN) -> None:
    """Note that these requests go out, and nothing more."""
    journal = store.call_log(run)

    async def everything() -> None:
        await asyncio.gather(*map(journal.sending, keys))

    asyncio.run(everything())


def find(store: Store, key: str):
    return asyncio.run(store.call_log().find(key))


def break_off(store: Store) -> None:
    """End the pass as an interrupted one."""
    store.finish(replace(sample.run(), status="interrupted"))
