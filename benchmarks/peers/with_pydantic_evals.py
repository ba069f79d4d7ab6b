"""pydantic-evals: cases as a Dataset, the SDK of OpenAI as the task, EqualsExpected.

Run by peer_runs.py: python benchmarks/peers/with_pydantic_evals.py CASES URL JOBS
"""

import asyncio
import os

from work import client_of, given, print_passed

os.environ.update(LOGFIRE_SEND_TO_LOGFIRE="false", DO_NOT_TRACK="1")

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected


async def main() -> None:
    work = given(__doc__)
    say = client_of(work)

    async def task(question: str) -> str:
        return await say(question)

    cases = [Case(name=row["id"], inputs=row["input"], expected_output=row["expected"]) for row in work.rows]
    dataset = Dataset(name="letters", cases=cases, evaluators=[EqualsExpected()])
    report = await dataset.evaluate(task, max_concurrency=work.jobs, progress=False)
    print_passed(sum(all(found.value for found in case.assertions.values()) for case in report.cases))


if __name__ == "__main__":
    asyncio.run(main())
