"""The cost of masking secrets in the calls and results of a run, compared with the same without masking.

The CPU time that masking adds for a call and its result together, with two secrets in the environment, for replies of several
lengths. A call costs 1.5 ms of CPU in all (`orchestration.py`).

Run: python benchmarks/masking.py [--calls 2000]
"""

import argparse
import os
import time
from collections.abc import Callable

from rows import add_json, row_output

from evalmark import Case, Output, Result, Score, Turn
from evalmark.core.values.call import Call, Reply, Request
from evalmark.core.values.score import Trial
from evalmark.storage.call_log.masking import masked_call
from evalmark.storage.call_log.rows import encode_call
from evalmark.storage.results.stored_results import encode_result, masked_result

TEXT = "The refund policy says that a parcel which has not come within ten days is paid back; write to us with its number. "
KEY = "ab" * 16 + "-0-0"


def made(length: int) -> tuple[Call, Result]:
    """A call with a reply of so many characters, and the result that comes of it."""
    said = (TEXT * (length // len(TEXT) + 1))[:length]
    asked = f"Where is my parcel? {TEXT * 2}"
    request = Request(messages=(Turn(role="system", content=TEXT * 4), Turn(role="user", content=asked)))
    call = Call(key=KEY, model="m", identity="i", request=request, reply=Reply(text=said, model="m"))
    scores = (Score(name="similarity", value=0.5, raw=0.5, reason="close to it"), Score(name="equals", raw=False))
    output = Output(value=said, seconds=0.1, metadata={"calls": [KEY]})
    return call, Result(trial=Trial(case=Case(id="1", input=asked, expected=TEXT)), output=output, scores=scores)


def cost(act: Callable[[], object], calls: int) -> float:
    """Microseconds of CPU for one of so many, the least of five times."""
    found = []
    for _ in range(5):
        started = time.process_time()
        for _ in range(calls):
            act()
        found.append((time.process_time() - started) / calls * 1e6)
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=2_000)
    add_json(parser)
    options = parser.parse_args()
    os.environ |= {"DEMO_API_KEY": "sk-proj-8f7d6s5a4d3f2g1h0jAbCdEfGh", "DEMO_PASSWORD": "s8df76s8d7f6s8d7f6s8d7"}
    with row_output(options.json) as add_row:
        for length in (200, 1_000, 10_000, 100_000):
            calls = max(20, options.calls * 200 // max(200, length // 5))
            call, result = made(length)
            written = cost(lambda c=call, r=result: (encode_call(c), encode_result(r)), calls)
            found = cost(lambda c=call, r=result: (masked_call(c), masked_result(r)), calls)
            add_row(
                what=f"masking a call and its result, {length:,} characters",
                found=found,
                unit="µs",
                at_most=75 if length <= 1_000 else None,
                note=f"{written:.0f} µs to encode both",
            )


if __name__ == "__main__":
    main()
