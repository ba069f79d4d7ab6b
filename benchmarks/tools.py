"""The cost of @replayed outside of runs, when a recording is used, and when one is made; in one process."""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rows import add_json, row_output

from evalmark.core.context.tool_replay import ToolReplay, TrialTools
from evalmark.core.context.trial_context import TrialContext, trial_context
from evalmark.store import open_store
from evalmark.tools import replayed

TRIES = 5
"""The best one counts: nothing makes a program faster than it is."""
RECORDED = 300


def search(query: str, limit: int = 2) -> list[str]:
    return [query] * limit


def seconds_each(act: Callable[[int], object], times: int) -> float:
    best = float("inf")
    for attempt in range(TRIES):
        started = time.perf_counter()
        for number in range(times):
            act(attempt * times + number)
        best = min(best, (time.perf_counter() - started) / times)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_json(parser)
    args = parser.parse_args()
    tool = replayed(version="1")(search)
    bare = seconds_each(lambda _: search("tea"), 200_000)
    outside = seconds_each(lambda _: tool("tea"), 200_000)
    with (
        tempfile.TemporaryDirectory() as folder,
        open_store(Path(folder) / "store.db") as store,
        trial_context(TrialContext(0, TrialTools(ToolReplay(store.tool_log), "Which tea?"))),
    ):
        made = seconds_each(lambda number: tool(f"query {number}"), RECORDED)
        found = seconds_each(lambda number: tool(f"query {number % RECORDED}"), 3_000)
    with row_output(args.json) as add_row:
        more = (outside - bare) * 1e6
        add_row(what="`@replayed` outside of runs", found=more, unit="µs", note="more than the function itself")
        add_row(what="a recording is used", found=found * 1e6, unit="µs")
        add_row(what="a recording is made", found=made * 1e3, unit="ms", note="on this disk")


if __name__ == "__main__":
    main()
