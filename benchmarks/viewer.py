"""The viewer over a store with many results: how long it takes to start, to answer each page, and how much memory it uses.

Run: python benchmarks/viewer.py [--results 1000000] [--targets 4] [--store FILE]

A server, started as users do, gets requests over loopback, one page at a time: first each page once while the figures of the
run are computed, then several times afterwards. Its processor time does not depend on other processes. Chromium then loads
pages with an empty cache, and types into the filter. With several targets, the pages are those of a grid. `--store` keeps the
store for the next run.
"""

import argparse
import asyncio
import http.client
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from browser import chromium, first_paint
from rows import AddRow, add_json, row_output

from evalmark import Case, Output, Result, Run, Score
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.reports.viewer.static_files import static_files
from evalmark.reports.viewer.urls.paths import run_path
from evalmark.stats.summary.summarise import summarise
from evalmark.stats.summary.totals import summary_text
from evalmark.store import open_store

RUN = "20261121-101500-3f9a"
WORDS = (
    "the quick brown",
    "fox",
    "jumps over",
    "lazy dog",
    "while parcels",
    "travel",
    "slowly",
    "to",
    "Peru",
    "and back",
)
LOOKS = 11
"""Times that each page is asked for when all is known; the median counts."""
STARTS = 5
START_GOAL, MEMORY_GOAL = 600, 200
LIST_GOAL, FILTER_GOAL, CASE_GOAL = 150, 150, 100
PAGE_GOAL, LARGE_GOAL = 200, 500
"""For the page of a run, with up to 100,000 results and with more."""
PAINT_GOAL, SIZE_GOAL = 200, 150
"""Milliseconds until the browser paints a page, and kB of a page with 50 cases."""
PAINTS = 7


def random_text(draw: random.Random, n: int) -> str:
    return " ".join(draw.choices(WORDS, k=n))


def one(draw: random.Random, number: int, targets: int = 1) -> Result:
    """Make a result; with several targets, those of a case follow each other."""
    number, target = divmod(number, targets)
    value, grade = draw.random(), draw.randint(1, 5)
    of_case = draw if targets == 1 else random.Random(number)  # noqa: S311
    case = Case(
        id=f"q{number}",
        input=random_text(of_case, 20),
        expected=random_text(of_case, 20),
        tags=(("even", "odd")[number % 2],),
    )
    scores = (
        Score(name="similarity", raw=value, value=value, passed=value >= 0.6, reason=random_text(draw, 8)),
        Score(name="correct", raw=grade, value=(grade - 1) / 4, passed=grade >= 3, reason=random_text(draw, 20)),
        Score(name="polite", raw=number % 7 > 0, value=float(number % 7 > 0), passed=number % 7 > 0),
    )
    trial = Trial(case=case, dataset="questions", target=target_names(targets)[target], position=number)
    return Result(trial=trial, output=Output(value=random_text(draw, 60), seconds=draw.random()), scores=scores)


def target_names(targets: int) -> list[str]:
    return ["my_app:answer", *(f"my_app:answer_{number}" for number in range(2, targets + 1))]


def fill(path: Path, results: int, targets: int = 1) -> float:
    """Write a run of so many results; how many microseconds each took, the making of it apart."""
    draw = random.Random(1)  # noqa: S311  the same rows every time
    metrics = (Metric(name="similarity", threshold=0.6), Metric(name="correct", unit="1..5"), Metric(name="polite"))
    run = Run(
        id=RUN,
        name="support bot",
        created="2026-11-21T10:15:00+00:00",
        status="running",
        target=", ".join(target_names(targets)),
        datasets=(DatasetInfo(name="questions"),),
        metrics=metrics,
    )
    taken = 0.0
    with open_store(path) as store:
        store.start(run)
        sink = store.sink(RUN)

        async def write() -> float:
            taken = 0.0
            for first in range(0, results, 1_000):
                batch = [one(draw, number, targets) for number in range(first, min(first + 1_000, results))]
                started = time.perf_counter()
                await sink.write(batch)
                taken += time.perf_counter() - started
            return taken

        taken = asyncio.run(write())
        store.finish(replace(run, status="complete", finished="2026-11-21T10:25:00+00:00"))
        ended = store.run(RUN)
        store.save_summary(
            ended, summary_text(summarise(ended))
        )  # a run does so at its end, from the results as they come
    return taken / results * 1e6


def pages(results: int) -> dict[str, tuple[str, int]]:
    """What is asked for, and the goal in milliseconds. Numbers of results count from 1, in the order of the run."""
    middle = results // 2
    asked = {
        "the list of runs": ("/", LIST_GOAL),
        "a run": ("", PAGE_GOAL if results <= 100_000 else LARGE_GOAL),
        "in the middle of it": (f"?page={middle // 50 + 1}&after={middle}", FILTER_GOAL),
        "its last page": (f"?page={results // 50}&after={results - 50}", FILTER_GOAL),
        "those that failed": ("?verdict=fail", FILTER_GOAL),
        "in the middle of these": (f"?verdict=fail&page=2&after={middle}", FILTER_GOAL),
        "by tag": ("?tag=even", FILTER_GOAL),
        "by a text that many hold": ("?text=Peru+and", FILTER_GOAL),
        "by a text that none holds": ("?text=nowhere", FILTER_GOAL),
        "by a range of a score": ("?metric=similarity&low=0.1&high=0.11", FILTER_GOAL),
        "by a narrow range of any score": ("?low=0.1&high=0.1001", FILTER_GOAL),
        "sorted by score": ("?sort=score:similarity", FILTER_GOAL),
        "in the middle of that": (f"?sort=score:similarity&page=2&after={middle}", FILTER_GOAL),
        "failed, best score first": ("?verdict=fail&sort=-score:similarity", FILTER_GOAL),
        "slowest first": ("?sort=-seconds", FILTER_GOAL),
        "sorted by id, in the middle": (f"?sort=case&page=2&after={middle}", FILTER_GOAL),
        "worst ended first": ("?sort=verdict", FILTER_GOAL),
        "a case": ("/results/500", CASE_GOAL),
        "a case near the end": (f"/results/{results - 50}", CASE_GOAL),
        "a case, as sorted by score": (f"/results/{middle}?sort=-score:similarity", CASE_GOAL),
    }
    return {what: (path if path == "/" else run_path(RUN) + path, goal) for what, (path, goal) in asked.items()}


def grid_pages() -> dict[str, tuple[str, int]]:
    """What is asked for of a run with several targets. The first look at the grid only starts to read the cases."""
    asked = {"the list of runs": "/", "a grid, while it is read": ""}
    asked |= {"a grid": "&order=", "its last page": "&page=99999", "cases that differ": "&show=differ"}
    grid = f"/grid?run={RUN}"
    return {what: (path if path == "/" else grid + path, FILTER_GOAL) for what, path in asked.items()}


@dataclass
class Viewer:
    """A server that is asked as by a browser."""

    process: subprocess.Popen
    connection: http.client.HTTPConnection
    cookie: str
    seconds: float
    """From its start until the first page was here."""

    def page(self, address: str) -> tuple[float, int]:
        """Milliseconds until a page was here, and its size."""
        started = time.perf_counter()
        self.connection.request("GET", address, headers={"cookie": self.cookie})
        answer = self.connection.getresponse()
        body = answer.read()
        assert answer.status == 200, (address, answer.status)
        return (time.perf_counter() - started) * 1_000, len(body)

    def spent(self) -> float:
        """Milliseconds of processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK") * 1_000

    def wait(self) -> None:
        """Wait until the server computes nothing in the background."""
        self.connection.close()  # the server would; the next page opens it again
        before, now = -1.0, self.spent()
        while now - before > 50:
            time.sleep(1)
            before, now = now, self.spent()

    def memory(self) -> float:
        """The most that it used so far, in MB; None where the system does not tell."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1_024


@contextmanager
def viewer(path: Path, kept: Path) -> Iterator[Viewer]:
    """The viewer of a store, its byte code kept from one start to the next, as Python does unless it is told otherwise."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(kept)
    words = [sys.executable, "-m", "evalmark", "view", "--no-open", "--port", "0", "--store", str(path)]
    started = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        address = next(line for line in process.stdout if line.startswith("http://"))
        host, way = re.match(r"http://([^/]+)(/\S*)", address).groups()
        connection = http.client.HTTPConnection(host)
        connection.request("GET", way)
        answer = connection.getresponse()
        answer.read()
        made = Viewer(process, connection, answer.getheader("set-cookie").partition(";")[0], 0.0)
        made.page("/")
        made.seconds = time.perf_counter() - started
        yield made
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def started(path: Path, kept: Path) -> tuple[float, float]:
    """Milliseconds from the start of the command until the list of runs was here, and how many of them a processor worked.

    Medians; the first start writes byte code and does not count.
    """
    taken = []
    for _ in range(STARTS + 1):
        with viewer(path, kept) as server:
            taken.append((server.seconds * 1_000, server.spent()))
    times, spent = zip(*taken[1:], strict=True)
    return median(times), median(spent)


def measure(path: Path, results: int, kept: Path, add_row: AddRow, targets: int = 1) -> None:
    print(
        f"\n| over {results:,} results | first, ms | later, ms | processor, ms | goal | kB |\n|---|---|---|---|---|---|"
    )
    start, spent = started(path, kept)
    print(f"| the start of the viewer, until the list is here | {start:.0f} | | {spent:.0f} | {START_GOAL} | |")
    note = f"{spent:.0f} ms of processor time"
    add_row(what="the start, until the list is here", found=start, unit="ms", at_most=START_GOAL, note=note)
    with viewer(path, kept) as server:
        asked = pages(results) if targets == 1 else grid_pages()
        first = {what: server.page(address) for what, (address, _) in asked.items()}
        known = time.perf_counter()
        server.wait()
        known = time.perf_counter() - known
        print(f"| from these pages until all figures are there, s | {known:.1f} | | | | |")
        add_row(what="from the first look at these pages until all figures are there", found=known, unit="s")
        for what, (address, goal) in asked.items():
            size = server.page(address)[1]
            before = server.spent()
            again = median(server.page(address)[0] for _ in range(LOOKS))
            spent = (server.spent() - before) / LOOKS
            taken = first[what][0]
            print(f"| {what} | {taken:.0f} | {again:.0f} | {spent:.0f} | {goal} | {size / 1_000:.0f} |", flush=True)
            note = f"first look; later {again:.0f} ms, {spent:.0f} of processor time; {size / 1_000:.0f} kB"
            add_row(what=what, found=taken, unit="ms", at_most=goal, note=note)
        for file in static_files().values():
            if not file.media_type.startswith("image/"):
                print(f"| {file.name} of all pages | | | | | {len(file.body) / 1_000:.1f} |")
                add_row(what=f"{file.name} of all pages", found=len(file.body) / 1_000, unit="kB")
        print(f"| the most memory it used, MB | | {server.memory():.0f} | | {MEMORY_GOAL} | |")
        add_row(what="the most memory it used", found=server.memory(), unit="MB", at_most=MEMORY_GOAL)


# From the letter in the filter until the list is another one, with all its rows laid out.
TYPE = """text => new Promise(done => {
    const field = document.querySelector('[name=q]'), started = performance.now();
    document.addEventListener('evalmark:replaced', () => {
        document.body.offsetHeight; done(performance.now() - started); }, { once: true });
    field.value = text;
    field.dispatchEvent(new Event('input', { bubbles: true }));
})"""


def look(path: Path, kept: Path, add_row: AddRow) -> None:
    """Measure when Chromium shows pages that the server has shown before, and how soon it lists what is typed."""
    with viewer(path, kept) as server, chromium() as browser:
        if browser is None:
            print("| first paint: there is no Playwright or no Chromium | | | | | |")
            return
        host = f"http://{server.connection.host}:{server.connection.port}"
        name, _, value = server.cookie.partition("=")
        shown = {"the list of runs": "/", "a run": run_path(RUN), "a case": f"{run_path(RUN)}/results/500"}
        for address in shown.values():
            server.page(address)
        server.wait()
        for what, address in shown.items():
            paints = []
            for _ in range(PAINTS + 1):  # the first one starts processes of the browser and does not count
                context = browser.new_context(viewport={"width": 1280, "height": 800})  # with an empty cache
                context.add_cookies([{"name": name, "value": value, "url": host}])
                page = context.new_page()
                page.goto(host + address, wait_until="load")
                paints.append(first_paint(page))
                context.close()
            first, loaded = (median(times) for times in zip(*paints[1:], strict=True))
            print(f"| first paint of {what} | | {first:.0f} | | {PAINT_GOAL} | |")
            note = f"loaded with its scripts after {loaded:.0f} ms"
            add_row(what=f"first paint of {what}", found=first, unit="ms", at_most=PAINT_GOAL, note=note)
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        context.add_cookies([{"name": name, "value": value, "url": host}])
        page = context.new_page()
        page.goto(host + run_path(RUN), wait_until="load")
        for what, words in {
            "that many hold": [f"Peru and {word}" for word in ("fox", "to", "travel", "slowly", "lazy dog")],
            "that none holds": [f"nowhere{number}" for number in range(5)],
        }.items():
            taken = []
            for word in words:
                taken.append(page.evaluate(TYPE, word))
                server.wait()
            print(f"| from typing a text {what} to the list | | {median(taken):.0f} | | {FILTER_GOAL} | |")
            add_row(what=f"from typing a text {what} to the list", found=median(taken), unit="ms", at_most=FILTER_GOAL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=int, default=100_000)
    parser.add_argument(
        "--targets", type=int, default=1, help="that the results are of, shown as a grid if there are several"
    )
    parser.add_argument("--store", type=Path)
    add_json(parser)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, row_output(args.json, table=True) as add_row:
        path = args.store or Path(name) / "evalmark.db"
        if not path.exists():
            print(
                f"written in {fill(path, args.results, args.targets):.0f} microseconds a result, {path.stat().st_size / 1e6:.0f} MB"
            )
        measure(path, args.results, Path(name), add_row, args.targets)
        if args.targets == 1:
            look(path, Path(name), add_row)


if __name__ == "__main__":
    main()
