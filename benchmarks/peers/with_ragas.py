"""ragas: an @experiment over a dataset of its own, ExactMatch; how many are asked at once is left to the user.

Run by peer_runs.py: python benchmarks/peers/with_ragas.py CASES URL JOBS
"""

import asyncio
import os

from work import client_of, given, print_passed

os.environ.update(RAGAS_DO_NOT_TRACK="true")

from ragas import Dataset, experiment
from ragas.metrics.collections import ExactMatch


async def main() -> None:
    work = given(__doc__)
    say, same, gate = client_of(work), ExactMatch(), asyncio.Semaphore(work.jobs)

    @experiment()
    async def letters(row: dict) -> dict:
        async with gate:
            answer = await say(row["input"])
        score = await same.ascore(reference=row["expected"], response=answer)
        return {**row, "answer": answer, "same": score.value}

    dataset = Dataset(name="letters", backend="local/jsonl", root_dir=str(work.path.parent))
    for row in work.rows:
        dataset.append(row)
    found = await letters.arun(dataset)
    print_passed(sum(row["same"] == 1 for row in found))


if __name__ == "__main__":
    asyncio.run(main())
