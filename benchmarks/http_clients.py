"""Processor time of a request: evalmark's built-in HTTP client, aiohttp, and other clients that are installed.

First the clients alone, each in a process of its own, then whole runs of the command line with each value of
`http_library`, and at last runs of one case. All take turns, and the medians count. The floor is a bare loop of aiohttp.

Run: python benchmarks/http_clients.py [--server http://127.0.0.1:8099] [--cases 4000] [--rounds 3]
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import orchestration
from orchestration import Server, floor, measured, server_at, write_suite
from rows import AddRow, add_json, row_output

Post = Callable[[bytes], Awaitable[bytes]]
FLOOR = "a bare loop of aiohttp"
BUILT_IN, AIOHTTP = "http_library = builtin", "http_library = aiohttp"
IN_FLIGHT = (64, 512)
HEADERS = {"authorization": "Bearer none", "content-type": "application/json"}


def own(library: str, url: str) -> Post:
    client = import_module("evalmark.models.providers.http").HttpClient({}, library)

    async def post(body: bytes) -> bytes:
        return (await client.post(url, body, HEADERS, within=60)).body

    return post


def pyreqwest(url: str) -> Post:
    client = import_module("pyreqwest.client").ClientBuilder().build()

    async def post(body: bytes) -> bytes:
        return bytes(await (await client.post(url).headers(HEADERS).body_bytes(body).build().send()).bytes())

    return post


def rnet(url: str) -> Post:
    client = import_module("rnet").Client()

    async def post(body: bytes) -> bytes:
        return await (await client.post(url, headers=HEADERS, body=body)).bytes()

    return post


def aiosonic(url: str) -> Post:
    client = import_module("aiosonic").HTTPClient()

    async def post(body: bytes) -> bytes:
        return await (await client.post(url, headers=HEADERS, data=body)).content()

    return post


CLIENTS: dict[str, Callable[[str], Post]] = {
    BUILT_IN: partial(own, "builtin"),
    AIOHTTP: partial(own, "aiohttp"),
    "aiosonic": aiosonic,
    "pyreqwest": pyreqwest,
    "rnet": rnet,
}


async def requests(name: str, lines: list[str], url: str, jobs: int) -> None:
    """Send a request for each case, and check each response."""
    cases = map(json.loads, lines)
    post = CLIENTS[name](f"{url}/v1/chat/completions")

    async def worker() -> None:
        for case in cases:
            body = {"model": "mock", "messages": [{"role": "user", "content": case["input"]}]}
            response = json.loads(await post(json.dumps(body).encode()))
            assert response["choices"][0]["message"]["content"] == case["expected"]

    await asyncio.gather(*(worker() for _ in range(jobs)))
    sys.stdout.flush()
    os._exit(0)  # the clients have different ways to close


def in_turn(rounds: int, commands: dict[str, Callable[[int], list[str]]], folder: Path, server: Server) -> dict:
    """Run each command once a round; the medians of processor time, time and memory."""
    taken = {name: [] for name in commands}
    for number in range(rounds):
        for name, words in commands.items():
            os.environ["EVALMARK_HTTP_LIBRARY"] = "aiohttp" if name == AIOHTTP else "builtin"
            taken[name].append(measured(words(number), folder, server))
            assert taken[name][-1].code == 0, (folder / "log.txt").read_text(encoding="utf-8")[-2_000:]
    return {
        name: [median(getattr(run, key) for run in runs) for key in ("cpu", "wall", "memory", "others")]
        for name, runs in taken.items()
    }


def clients(folder: Path, server: Server, args: argparse.Namespace, add_row: AddRow) -> None:
    """The clients alone."""
    installed = [name for name in CLIENTS if name in (BUILT_IN, AIOHTTP) or find_spec(name)]
    for jobs in IN_FLIGHT:
        words = [sys.executable, __file__, "--cases-file", str(folder / "cases.jsonl"), "--jobs", str(jobs)]
        commands = {FLOOR: lambda _, jobs=jobs: floor(folder, server, 1, jobs)}
        for name in installed:
            commands[name] = lambda _, words=words, name=name: [*words, "--server", server.url, "--client", name]
        for name, (cpu, wall, _, others) in in_turn(args.rounds, commands, folder, server).items():
            note = f"{args.cases / wall:,.0f} requests/s; other processes used {others:.1f} cores"
            add_row(what=f"a request, {jobs} in flight: {name}", found=cpu * 1_000 / args.cases, unit="ms", note=note)


def runs(folder: Path, server: Server, args: argparse.Namespace, add_row: AddRow) -> None:
    """Whole runs with each library."""
    for jobs in IN_FLIGHT:
        commands = {FLOOR: lambda _, jobs=jobs: floor(folder, server, 1, jobs)}
        for name in (BUILT_IN, AIOHTTP):
            commands[name] = lambda number, jobs=jobs, name=name: orchestration.command(
                store=f"{jobs}-{name[-7:]}-{number}.db", jobs=jobs
            )
        found = in_turn(args.rounds, commands, folder, server)
        for name, (cpu, wall, memory, others) in found.items():
            note = f"{cpu / found[FLOOR][0]:.2f} x the floor; {args.cases / wall:,.0f} cases/s; {memory:.0f} MB"
            note += f"; other processes used {others:.1f} cores"
            what = f"{args.cases:,} x 1 call, {jobs} in flight: {name}"
            add_row(what=what, found=cpu * 1_000 / args.cases, unit="ms", note=note)


def one_case(folder: Path, server: Server, args: argparse.Namespace, add_row: AddRow) -> None:
    """Whole processes that ask for one case."""
    write_suite(folder, 1, 1)
    commands = {"bare Python": lambda _: [sys.executable, "-c", "import time; time.sleep(0.05)"]}
    commands[FLOOR] = lambda _: floor(folder, server, 1, 1)
    for name in (BUILT_IN, AIOHTTP):
        commands[name] = lambda number, name=name: orchestration.command(store=f"one-{name[-7:]}-{number}.db")
    for name, (cpu, wall, memory, _) in in_turn(3 * args.rounds, commands, folder, server).items():
        add_row(what=f"one case: {name}", found=cpu * 1_000, unit="ms", note=f"{wall * 1_000:.0f} ms; {memory:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", help="one that runs already; without it benchmarks/mock_server.py is started")
    parser.add_argument("--cases", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=3)
    for internal in ("--client", "--cases-file", "--jobs"):
        parser.add_argument(internal, help=argparse.SUPPRESS)
    add_json(parser)
    args = parser.parse_args()
    if args.client:
        lines = Path(args.cases_file).read_text(encoding="utf-8").splitlines()
        asyncio.run(requests(args.client, lines, args.server, int(args.jobs)))
    plain = orchestration.environment
    orchestration.environment = lambda server: {
        **plain(server),
        "EVALMARK_HTTP_LIBRARY": os.environ["EVALMARK_HTTP_LIBRARY"],
    }
    with (
        tempfile.TemporaryDirectory() as name,
        server_at(args.server) as server,
        row_output(args.json) as add_row,
    ):
        folder = Path(name)
        write_suite(folder, args.cases, 1)
        for measure in (clients, runs, one_case):
            measure(folder, server, args, add_row)


if __name__ == "__main__":
    main()
