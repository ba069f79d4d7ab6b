"""Braintrust without its service: EvalAsync with no_send_logs, the SDK of OpenAI as the task, ExactMatch.

Run by peer_runs.py: python benchmarks/peers/with_braintrust.py CASES URL JOBS
"""

import asyncio
import os

from work import client_of, given, print_passed

os.environ.update(BRAINTRUST_DISABLE_ATEXIT_FLUSH="1")

from autoevals import ExactMatch
from braintrust import EvalAsync


async def main() -> None:
    work = given(__doc__)
    say = client_of(work)

    async def task(question: str) -> str:
        return await say(question)

    data = [{"input": row["input"], "expected": row["expected"]} for row in work.rows]
    found = await EvalAsync(
        "letters", data=data, task=task, scores=[ExactMatch()], max_concurrency=work.jobs, no_send_logs=True
    )
    print_passed(sum(one.scores.get("ExactMatch") == 1 for one in found.results))


if __name__ == "__main__":
    asyncio.run(main())
