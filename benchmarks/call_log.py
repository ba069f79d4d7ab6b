"""The cost of the call log: 64 requests in flight, each answered after 50 ms, each announced, sent and stored.

The time of the whole against the limit that latency and requests in flight allow; the CPU time of a call over that of
the same loop without a call log; how long a task waits for the disk; and the time to find a stored call.

Run: python benchmarks/call_log.py [--calls 12800]
"""

import argparse
import asyncio
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

from rows import add_json, row_output

from evalmark import Run, Turn
from evalmark.core.protocols import CallLog
from evalmark.core.values.call import Call, Reply, Request
from evalmark.core.values.case import Usage
from evalmark.store import open_store

IN_FLIGHT = 64
LATENCY = 0.05
GOALS = {"whole": 1.15, "keep": 60, "find": 40}

QUESTION = "What is the capital of the country that lies north of the other one? " * 24
SYSTEM = "You compare an answer with a reference and say which is which. " * 12
SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "choice": {"enum": ["A", "B", "C", "D", "E"]}},
    "required": ["reason", "choice"],
}
IDENTITY = "openai model https://api.example/v1"
REPLY = Reply(
    text='{"reason": "' + "it says the same in other words, " * 12 + '", "choice": "C"}',
    data={"reason": "it says the same in other words, " * 12, "choice": "C"},
    form="schema",
    usage=Usage(input_tokens=700, output_tokens=90),
    cost=0.00123,
    model="model-2026-11-01",
    seconds=LATENCY,
    headers={"x-request-id": "req_0123456789"},
)


def made(number: int) -> Call:
    """A call of some 4 kB; its key is made before the clock starts, because it is needed with and without a call log."""
    request = Request(
        messages=(Turn(role="system", content=SYSTEM), Turn(role="user", content=f"{number}. {QUESTION}")),
        schema=SCHEMA,
        settings={"temperature": 0, "max_tokens": 300},
    )
    created = "2026-11-21T14:32:05.123+00:00"
    return Call(
        key=request.key(IDENTITY),
        model="openai/model",
        identity=IDENTITY,
        request=request,
        reply=REPLY,
        created=created,
    )


@dataclass(frozen=True, kw_only=True)
class Taken:
    wall: float
    cpu: float
    waits: dict[str, list[float]]


async def ask_all(calls: list[Call], call_log: CallLog | None) -> Taken:
    """Send, await and store all calls, `IN_FLIGHT` at a time."""
    waits: dict[str, list[float]] = {"sending": [], "keep": []}

    async def timed(what: str, waiting) -> None:
        started = time.perf_counter()
        await waiting
        waits[what].append(time.perf_counter() - started)

    left = iter(calls)

    async def worker(number: int) -> None:
        await asyncio.sleep(LATENCY * number / IN_FLIGHT)  # a server does not answer all at once
        for call in left:
            if call_log is not None:
                await timed("sending", call_log.sending(call.key))
            await asyncio.sleep(LATENCY)
            if call_log is not None:
                await timed("keep", call_log.keep(call))

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker(number) for number in range(IN_FLIGHT)))
    return Taken(wall=time.perf_counter() - wall, cpu=time.process_time() - cpu, waits=waits)


async def find_all(calls: list[Call], call_log: CallLog) -> float:
    """Seconds of CPU to find every call."""
    cpu = time.process_time()
    for call in calls:
        assert await call_log.find(call.key) is not None
    return time.process_time() - cpu


def milliseconds(waits: list[float]) -> str:
    return f"median {median(waits) * 1e3:.2f} ms, p95 {quantiles(waits, n=20)[-1] * 1e3:.2f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=12_800)
    add_json(parser)
    args = parser.parse_args()
    count = args.calls
    calls = [made(number) for number in range(count)]
    limit = count * LATENCY / IN_FLIGHT
    with tempfile.TemporaryDirectory() as name, open_store(Path(name) / "evalmark.db") as store:
        run = Run(id="measured", name="measured", created="2026-11-21T14:32:05Z", status="running")
        store.start(run)
        call_log = store.call_log(run.id)
        asyncio.run(ask_all(calls[:IN_FLIGHT], call_log))  # imports are not measured
        bare = asyncio.run(ask_all(calls, None))
        logged = asyncio.run(ask_all(calls, call_log))
        found = asyncio.run(find_all(calls, call_log))
        size = store.check().size
    with row_output(args.json) as add_row:
        note = f"without a call log {bare.wall / limit:.3f}; {count:,} calls, {IN_FLIGHT} in flight"
        add_row(what="time over the limit", found=logged.wall / limit, unit="x", at_most=GOALS["whole"], note=note)
        more = (logged.cpu - bare.cpu) / count * 1e6
        add_row(what="processor time of `sending` and `keep`", found=more, unit="µs", at_most=GOALS["keep"])
        add_row(what="processor time of `find`", found=found / count * 1e6, unit="µs", at_most=GOALS["find"])
        for kind in ("sending", "keep"):
            waits = logged.waits[kind]
            add_row(what=f"a task waits, {kind}", found=median(waits) * 1e3, unit="ms", note=milliseconds(waits))
        add_row(what="a call in the store", found=size / count / 1e3, unit="kB")


if __name__ == "__main__":
    main()
