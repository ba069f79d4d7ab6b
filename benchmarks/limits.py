"""Runs against endpoints that refuse requests, compared with the same run against an endpoint that does not.

250 cases of a model with 64 requests in flight, as whole processes; seeds are fixed, so each server refuses the same requests
in the same order. The rate limit is 600 requests a minute with a burst of 20; measured are the used share of the limit and the
requests sent per answered request, by the clock of the server, with 64 and with 512 requests in flight: twice as many cases, or 200 more
than fit in flight. The last rows are the processor time of a run while its calls wait for the limit that the user has set (Linux).

Run: python benchmarks/limits.py [--cases 250] [--latency 1800]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from faulty_server import BURST, PER_SECOND
from rows import AddRow, add_json, row_output

HERE = Path(__file__).parent
JOBS = 64
MANY_JOBS = 512
BUCKET_LATENCY = 250
"""Milliseconds; the limit decides, and not the latency."""
SETTLING, WATCHED = 4.0, 20.0
"""Seconds after the first reply, and those in which the processor time of waiting calls is measured."""


@contextmanager
def serving(kind: str, latency: float, retry_after: str = "0") -> Iterator[str]:
    """A server of our own, and its address."""
    words = [sys.executable, str(HERE / "faulty_server.py"), kind, "--latency", str(latency)]
    words += ["--retry-after", retry_after]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield json.loads(process.stdout.readline())
        process.stdin.close()


def write_cases(folder: Path, cases: int) -> None:
    with (folder / "cases.jsonl").open("w", encoding="utf-8") as stream:
        for number in range(cases):
            stream.write(json.dumps({"id": str(number), "input": f"Question {number}?"}) + "\n")
    suite = {"datasets": ["cases.jsonl"], "target": {"model": "openai/mock"}, "metrics": [{"length": {"min_chars": 1}}]}
    (folder / "suite.json").write_text(json.dumps(suite), encoding="utf-8")


def command(name: str, jobs: int, *more: str) -> list[str]:
    words = [sys.executable, "-m", "evalmark", "run", "suite.json", "-j", str(jobs), "-q"]
    return [*words, "--store", f"{name}.db", "-o", f"{name}.json", *more]


def environment(url: str) -> dict[str, str]:
    return {**os.environ, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "none"}


def counts_of(url: str) -> dict:
    with urllib.request.urlopen(f"{url}/stats") as reply:  # noqa: S310  our own, on this machine
        return json.loads(reply.read())


def run(folder: Path, url: str, name: str, jobs: int = JOBS) -> tuple[float, dict, list[dict]]:
    """Seconds of a whole process, the counts of the server, and the outputs."""
    started = time.perf_counter()
    subprocess.run(command(name, jobs), cwd=folder, env=environment(url), check=False, capture_output=True)
    seconds = time.perf_counter() - started
    counts = counts_of(url)
    results = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["results"]
    return seconds, counts, [result["output"] for result in results]


def processor_ms(process: int) -> float:
    """The processor time of a process so far, with all its threads, in milliseconds."""
    threads = Path(f"/proc/{process}/task").iterdir()
    return sum(int((thread / "schedstat").read_text(encoding="ascii").split()[0]) for thread in threads) / 1e6


def waiting_cost(folder: Path, url: str, jobs: int) -> float | None:
    """Milliseconds of processor time a second of a run whose calls wait for `--rpm 1`; None where the system does not count them."""
    alone = {**environment(url), "EVALMARK_SUPERVISE": "0"}
    with subprocess.Popen(command(f"waiting-{jobs}", jobs, "--rpm", "1"), cwd=folder, env=alone) as process:
        try:
            while not counts_of(url)["answered"] and process.poll() is None:
                time.sleep(0.1)
            time.sleep(SETTLING)
            if not Path(f"/proc/{process.pid}/schedstat").exists():
                return None
            before = processor_ms(process.pid)
            time.sleep(WATCHED)
            return (processor_ms(process.pid) - before) / WATCHED
        finally:
            process.kill()


def rate_limits(folder: Path, jobs: int, add_row: AddRow) -> None:
    """How much of a rate limit is used, and what waiting for one costs."""
    for after in ("0", "1"):
        with serving("bucket", BUCKET_LATENCY, after) as url:
            _, counts, _ = run(folder, url, f"bucket-{jobs}-{after}", jobs)
        ideal = max(0.0, counts["answered"] - BURST) / PER_SECOND + BUCKET_LATENCY / 1_000
        share = 100 * ideal / (counts["last"] - counts["first"])
        sent = counts["requests"] / counts["answered"]
        note = f"{counts['answered']} answered, {sent:.2f} requests sent for each"
        what = f"used of 600 a minute, {jobs} in flight, `Retry-After: {after}`"
        add_row(what=what, found=share, unit="%", at_least=90, note=note)
    with serving("clean", BUCKET_LATENCY) as url:
        cost = waiting_cost(folder, url, jobs)
    what = f"processor time a second while {jobs} calls wait for a limit"
    add_row(what=what, found=cost, unit="ms", at_most=2, note="" if cost is not None else "not counted on this system")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=250)
    parser.add_argument("--latency", type=float, default=1_800, help="milliseconds of an answer")
    add_json(parser)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, row_output(args.json) as add_row:
        folder = Path(name)
        write_cases(folder, args.cases)
        with serving("clean", args.latency) as url:
            clean, _, _ = run(folder, url, "clean")
        add_row(what=f"{args.cases} cases, nothing turned down", found=clean, unit="s")
        for kind, goal in (("random", 1.5), ("mix", 1.3)):
            with serving(kind, args.latency) as url:
                seconds, counts, outputs = run(folder, url, kind)
            errors = sum(output["error"] is not None for output in outputs)
            note = (
                f"{counts['requests']} requests, {counts['limited']} of them met 429; {errors} cases without an answer"
            )
            add_row(what=f"`{kind}`, over that", found=seconds / clean, unit="x", at_most=goal, note=note)
        for jobs, cases in ((JOBS, 2 * args.cases), (MANY_JOBS, MANY_JOBS + 200)):
            write_cases(folder, cases)
            rate_limits(folder, jobs, add_row)


if __name__ == "__main__":
    main()
