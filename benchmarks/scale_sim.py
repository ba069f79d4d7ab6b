"""A simulated run of a million cases over a thousand workers, with the real coordinator, gate and call log.

Run: python benchmarks/scale_sim.py [--short] [--seed 1] [--rpc-ms 0.57] [--message-ms 0.06]

Workers and endpoint are those of `scale_world.py`; all decisions are made by evalmark's own code: which worker gets a
case, when a request is sent, what is repeated and recorded. Simulated figures (cases a second, shares, fairness) are the
same for the same seed and options. Processor time and memory are those of this process, without the simulation. What a batch of messages costs in Ray is an option, and is measured where Ray is installed.
"""

import argparse
import asyncio
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from rows import AddRow, add_json, row_output
from scale_world import Setting, World

from evalmark import Run
from evalmark.core.context.tool_replay import ToolReplay
from evalmark.core.protocols import Sink
from evalmark.errors import MissingExtraError
from evalmark.runs.cluster.coordinator import CoordinatorConfig, run_on_workers
from evalmark.runs.cluster.ray_connection import connect, parse_cluster_address
from evalmark.runs.cluster.remote_calls import CallProxy
from evalmark.runs.cluster.services import SharedServices
from evalmark.runs.engine.work import Limits, Work
from evalmark.store import open_store
from evalmark.testing.virtual_time import run_in_virtual_time

RPM, TPM = 24_000, 12_000_000
"""What the endpoint takes in a minute: 400 requests a second; tokens are enough for that."""
SIZES = (10_000, 100_000, 1_000_000)
SEEDS = (3, 3, 1)
"""Runs of each size."""
FAR = (10_000_000, 100_000_000)
"""Sizes that are only calculated."""


async def carried_out(world: World, sink: Sink | None = None) -> float:
    """Have the coordinator do everything; gives the processor time, the part of the picture included."""
    setting = world.setting
    work = Work(trials=world.trials(), targets={}, scorers=(), sink=sink or world.books)
    offers = SharedServices(ToolReplay(lambda: None, "off"), None, None)
    duty = CoordinatorConfig(
        pool=world.pool(), calls=CallProxy(world), services=offers, max_items=2 * setting.jobs + 256
    )
    started = time.process_time()
    outcome = await run_on_workers(work, Limits(jobs=setting.in_flight), duty)
    took = time.process_time() - started
    assert not outcome.stopped, outcome
    assert outcome.recorded == setting.cases, outcome
    return took


def imagined(setting: Setting) -> dict:
    """One run on the clock that leaps: `picture` depends on the setting alone, `real` on this machine."""

    async def story() -> dict:
        world = World(setting)
        took = await carried_out(world)
        real = {"processor": took - world.own, "own": world.own, "memory": peak()}
        return {"picture": pictured(world), "real": real}

    return run_in_virtual_time(story())


def pictured(world: World) -> dict:
    """What happened, in numbers."""
    setting, books, coordinator = world.setting, world.books, world.coordinator
    assert set(books.recorded) == {1}, "a case without a result, or with two"
    first, last = (books.times[round(len(books.times) * share)] for share in (0.1, 0.9))
    statuses = world.endpoint.statuses
    return {
        "seconds": world.now,
        "rate": 0.8 * setting.cases / (last - first),
        "share": steady_share(world, first, last),
        "failed": books.failed,
        "ended": world.ended,
        "met_limits": statuses[429],
        "faults": statuses[500],
        "paid_twice": statuses[200] - sum(map(bool, books.kept)),
        "kept_twice": sum(count > 1 for count in books.kept),
        "busy": coordinator.busy / world.now,
        "relay_busy": max((relay.busy for relay in world.relays), default=0.0) / world.now,
        "waited": coordinator.longest,
        "batches": coordinator.batches / setting.cases,
        "messages": coordinator.messages / setting.cases,
        **fairness(world, first, last),
    }


def steady_share(world: World, first: float, last: float) -> float | None:
    """Replies over those that the endpoint would have given, in whole minutes far from start and end."""
    counts = [sum(counts) for counts in whole_minutes(world, first, last)]
    return statistics.mean(counts) / world.setting.rpm if counts and world.setting.rpm else None


def whole_minutes(world: World, first: float, last: float) -> list[Sequence[int]]:
    """Replies by worker, for each such minute."""
    return list(world.endpoint.by_minute[math.ceil(first / 60) : math.floor(last / 60)])


def fairness(world: World, first: float, last: float) -> dict:
    """Jain's index over the workers' replies: 1 where all have the same; and what chance alone would leave of it."""
    minutes = np.array(whole_minutes(world, first, last), float)
    if not len(minutes):
        return {"jain": None, "jain_minute": None, "jain_chance": None, "least": None}
    every, whole = [jain(counts) for counts in minutes], minutes.sum(0)
    return {
        "jain": jain(whole),
        "jain_minute": min(every),
        "jain_chance": 1 / (1 + 1 / minutes.mean()),
        "least": whole.min() / whole.mean(),
    }


def jain(amounts: np.ndarray) -> float:
    return float(amounts.sum() ** 2 / (len(amounts) * (amounts**2).sum()))


def peak() -> float:
    """The most memory that this process has used, in MB; Linux only."""
    status = Path("/proc/self/status")
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines()) if status.exists() else {}
    return int(lines["VmHWM"].split()[0]) / 1_000 if lines else math.nan


def alone(setting: Setting) -> dict:
    """The same in a process of its own, so that memory is that of this run."""
    words = [sys.executable, __file__, "--one", json.dumps(asdict(setting))]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    return json.loads(done.stdout)


def tell_sizes(add_row: AddRow, setting: Setting, sizes: Sequence[int], seeds: Sequence[int]) -> None:
    """Runs of several sizes, and the law that they follow."""
    found = []
    for cases, times in zip(sizes, seeds, strict=True):
        for seed in range(times):
            here = replace(setting, cases=cases, seed=setting.seed + 10 * seed)
            found.append((cases, alone(here)))
            add_rows(add_row, here, found[-1][1], every=seed == 0)
    tell_law(add_row, found)


def add_rows(add_row: AddRow, setting: Setting, found: dict, *, every: bool = True) -> None:
    picture, real = found["picture"], found["real"]
    name = f"{setting.cases:,} cases, {setting.workers:,} workers"
    each = real["processor"] / setting.cases * 1e3
    if not every:
        add_row(what=f"{name}, seed {setting.seed}: processor time a case", found=each, unit="ms")
        return
    told = "told to the run" if setting.is_told else "met by the run"
    share = f"; {picture['share']:.1%} of the limit, {told}" if picture["share"] is not None else ""
    add_row(
        what=f"{name}: rate", found=picture["rate"], unit="cases/s", note=f"{picture['seconds']:,.0f} s in all{share}"
    )
    add_row(
        what=f"{name}: the coordinator is busy",
        found=picture["busy"] * 100,
        unit="%",
        note=f"{picture['batches']:.2f} batches of {picture['messages']:.1f} messages a case; "
        f"the longest wait for the coordinator {picture['waited']:.1f} s",
    )
    if picture["jain"] is not None:
        note = f"in the worst minute {picture['jain_minute']:.3f}, where chance alone would leave {picture['jain_chance']:.3f}; "
        add_row(
            what=f"{name}: fairness (Jain)",
            found=picture["jain"],
            note=f"{note}the worker with least has {picture['least']:.0%} of the mean",
        )
    add_row(
        what=f"{name}: paid twice",
        found=picture["paid_twice"],
        unit="calls",
        note=f"{picture['ended']:,} workers ended; {picture['met_limits']:,} x 429, {picture['faults']:,} x 500, "
        f"{picture['failed']:,} cases without a reply",
    )
    add_row(
        what=f"{name}: processor time a case",
        found=each,
        unit="ms",
        note=f"{real['own'] / setting.cases * 1e3:.2f} more for the picture",
    )
    own = 6 * setting.cases / 1e6
    add_row(what=f"{name}: memory", found=real["memory"] - own, unit="MB", note=f"{own:.0f} more for the picture")


def tell_law(add_row: AddRow, found: Sequence[tuple[int, dict]]) -> None:
    """How processor time grows with cases, and what that would be for more of them than were tried."""
    cases = [size for size, _ in found]
    processor = [one["real"]["processor"] for _, one in found]
    if len(set(cases)) < 2 or len(cases) < 3:
        return
    from scipy import stats  # noqa: PLC0415  each run has a process of its own, whose memory is measured

    law, slope = stats.linregress(np.log(cases), np.log(processor)), stats.t.ppf(0.975, len(cases) - 2)
    spread, rate = slope * law.stderr, found[-1][1]["picture"]["rate"]
    add_row(
        what="processor time grows with cases to the power of",
        found=law.slope,
        note=f"95 %: {law.slope - spread:.3f} to {law.slope + spread:.3f}, {len(cases)} runs",
    )
    for size in FAR:
        middle, error = predicted(law, cases, processor, size)
        low, high = (math.exp(middle + side * slope * error) / 3600 for side in (-1, 1))
        add_row(
            what=f"{size:,} cases, EXTRAPOLATED: processor time",
            found=math.exp(middle) / 3600,
            unit="h",
            note=f"95 %: {low:.2g} to {high:.2g}; at the rate of the largest run it takes {size / rate / 3600:,.0f} h",
        )


def predicted(law: object, cases: Sequence[int], processor: Sequence[float], size: int) -> tuple[float, float]:
    """The logarithm that a straight line gives for a size, and the standard error of one more run there."""
    known, wanted = np.log(cases), math.log(size)
    left = np.log(processor) - (law.intercept + law.slope * known)
    variance = float((left**2).sum()) / (len(cases) - 2)
    reach = 1 + 1 / len(cases) + (wanted - known.mean()) ** 2 / ((known - known.mean()) ** 2).sum()
    return law.intercept + law.slope * wanted, math.sqrt(variance * reach)


def tell_most(add_row: AddRow, setting: Setting, cases: int, shapes: Sequence[tuple[int, int]]) -> None:
    """What the coordinator carries where an endpoint without limits answers soon, with as much in flight over ever more workers."""
    for workers, jobs in shapes:
        here = replace(
            setting, cases=cases, workers=workers, jobs=jobs, rpm=None, tpm=None, lost=0.0, seconds=0.5, stragglers=0.0
        )
        found = alone(here)
        picture, real = found["picture"], found["real"]
        add_row(
            what=f"no limit, {workers:,} workers with {jobs:,} at a time: rate",
            found=picture["rate"],
            unit="cases/s",
            note=f"{picture['batches']:.2f} batches a case; without a cost of messages it would be "
            f"{here.in_flight / (0.5 * math.exp(here.spread**2 / 2)):,.0f}",
        )
        each = real["processor"] / cases * 1e3
        add_row(
            what=f"no limit, {workers:,} workers with {jobs:,} at a time: processor time a case", found=each, unit="ms"
        )


def tell_store(add_row: AddRow, cases: int) -> None:
    """The coordinator without a picture of time: workers that answer at once, messages packed, call log and results on the disk."""
    setting = Setting(cases=cases, workers=10, jobs=40, seconds=0, faults=0, lost=0, rpc=0, message=0, hiring=0)

    async def story(kept: bool) -> float:
        with tempfile.TemporaryDirectory() as name, open_store(Path(name) / "evalmark.db") as store:
            run = Run(id="imagined", name="imagined", created="2026-11-22T00:00:00Z", status="running")
            store.start(run)
            world = World(setting, call_log=store.call_log(run.id) if kept else None, packs=True)
            took = await carried_out(world, store.sink(run.id) if kept else None)
            return (took - world.own) / cases * 1e3

    bare, whole = asyncio.run(story(False)), asyncio.run(story(True))
    add_row(
        what="processor time of the coordinator a case, call log and store on the disk",
        found=whole,
        unit="ms",
        note=f"without them {bare:.2f}; messages packed and unpacked, without Ray",
    )


def measure_ray(add_row: AddRow, calls: int) -> None:
    """What one call of an actor costs the process that makes it, as coordinator and workers of Ray exchange batches."""
    try:
        spent = asyncio.run(ray_calls(calls))
    except MissingExtraError:
        add_row(what="processor time of the coordinator for a call in Ray", found=None, note="Ray is not installed")
        return
    one, many = spent
    add_row(
        what="processor time of the coordinator for a call in Ray",
        found=one * 1e3,
        unit="ms",
        note=f"one after the other; {many * 1e3:.2f} with 64 at a time",
    )


async def ray_calls(calls: int) -> tuple[float, float]:
    """Seconds of processor time a call, one after the other and 64 at a time."""

    class Echo:
        async def send(self, messages: list) -> list:
            return messages

    with connect(parse_cluster_address("ray")) as ray:
        actor = ray.remote(max_concurrency=100)(Echo).remote()
        message = [("a message",)]
        await actor.send.remote(message)
        started = time.process_time()
        for _ in range(calls):
            await actor.send.remote(message)
        middle = time.process_time()
        for _ in range(calls // 64):
            await asyncio.gather(*(actor.send.remote(message) for _ in range(64)))
        return (middle - started) / calls, (time.process_time() - middle) / (calls // 64 * 64)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="a few hundred cases: proves that it works")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--rpc-ms", type=float, default=0.57, help="processor time of the coordinator for a batch of messages"
    )
    parser.add_argument("--message-ms", type=float, default=0.06, help="the same for each message in it")
    parser.add_argument("--most", type=int, default=SIZES[-1], help="no run has more cases")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    add_json(parser)
    return parser.parse_args()


def main() -> None:
    args = parsed()
    if args.one:
        print(json.dumps(imagined(Setting(**json.loads(args.one)))))
        return
    setting = Setting(
        cases=0,
        workers=1_000,
        jobs=4,
        seed=args.seed,
        rpm=RPM,
        tpm=TPM,
        rpc=args.rpc_ms / 1e3,
        message=args.message_ms / 1e3,
    )
    with row_output(args.json) as add_row:
        if args.short:
            few = replace(setting, workers=20, rpm=1_200, seconds=0.5)
            tell_sizes(add_row, few, (300, 600), (2, 1))
            tell_most(add_row, few, 200, ((5, 4),))
            tell_store(add_row, 200)
            return
        measure_ray(add_row, 1_000)
        tell_store(add_row, 5_000)
        tell_most(add_row, setting, min(50_000, args.most), ((10, 400), (100, 40), (1_000, 4)))
        usual = min(100_000, args.most)
        told = replace(setting, cases=usual, is_told=True)
        add_rows(add_row, told, alone(told))
        for workers, jobs in ((10, 400), (100, 40)):
            here = replace(setting, cases=usual, workers=workers, jobs=jobs)
            add_rows(add_row, here, alone(here))
        sizes = [size for size in SIZES if size <= args.most] or [args.most]
        tell_sizes(add_row, setting, sizes, SEEDS[: len(sizes)])


if __name__ == "__main__":
    main()
