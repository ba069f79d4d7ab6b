"""One of several processes on one store: writes a run, or reads all of them until told to stop."""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[3]))
import sample

from evalmark.store import open_store
from tests.storage.call_log import calls


def write(path: str, name: str) -> None:
    with open_store(path) as store:
        store.start(sample.run(name))
        sink = store.sink(name)
        for trial in sample.trials([sample.case(n) for n in range(sample.COUNT)]):
            asyncio.run(sink.write([sample.answered(trial)]))
        store.finish(sample.run(name, status="complete"))
    sys.stdout.write(f"written {sample.COUNT}\n")


def ask(path: str, name: str, first: str) -> None:
    """Send and keep calls, many at a time; what another process has recorded is not asked again. Each has a result."""

    async def everything(journal, sink) -> int:
        left = iter(range(int(first), int(first) + sample.COUNT))
        asked = 0

        async def hand() -> None:
            nonlocal asked
            for number in left:
                if await journal.find(calls.key(number)) is None:
                    await journal.sending(calls.key(number))
                    await journal.keep(calls.call(number))
                    asked += 1
                assert await journal.find(calls.key(number)) == calls.call(number).replayed
                await sink.write([sample.answered(trial) for trial in sample.trials([sample.case(number)])])

        await asyncio.gather(*(hand() for _ in range(8)))
        return asked

    with open_store(path) as store:
        store.start(sample.run(name))
        asked = asyncio.run(everything(store.call_log(name), store.sink(name)))
        store.finish(sample.run(name, status="complete"))
    sys.stdout.write(f"asked {asked}\n")


def read(path: str, enough: str) -> None:
    """Until so many runs are complete; every result that was seen once must be seen ever after."""
    most = 0
    while True:
        with open_store(path, read_only=True) as store:
            runs = store.runs()
            seen = sum(len(list(run.results)) for run in runs)
            assert seen >= most, f"{most} results were seen before, now {seen}"
            most = seen
            if sum(run.status == "complete" for run in runs) == int(enough):
                sys.stdout.write(f"seen {most}\n")
                return


if __name__ == "__main__":
    {"write": write, "read": read, "ask": ask}[sys.argv[1]](*sys.argv[2:])
