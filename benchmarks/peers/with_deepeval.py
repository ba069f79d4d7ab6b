"""DeepEval: the SDK of OpenAI for the answers, then evaluate() with ExactMatchMetric; its cache and its display are off.

Run by peer_runs.py: python benchmarks/peers/with_deepeval.py CASES URL JOBS
"""

import asyncio
import os

from work import Work, client_of, given, print_passed

os.environ.update(DEEPEVAL_TELEMETRY_OPT_OUT="1", DEEPEVAL_DISABLE_DOTENV="1", DEEPEVAL_NO_INSPECT_PROMPT="1")

from deepeval import evaluate
from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
from deepeval.metrics import ExactMatchMetric
from deepeval.test_case import LLMTestCase


async def answers(work: Work) -> list[str]:
    """As its pages have it: the app is asked first, and what it said is evaluated."""
    say, found, left = client_of(work), {}, iter(enumerate(work.rows))

    async def worker() -> None:
        for place, row in left:
            found[place] = await say(row["input"])

    await asyncio.gather(*(worker() for _ in range(work.jobs)))
    return [found[place] for place in range(len(work.rows))]


def main() -> None:
    work = given(__doc__)
    said = asyncio.run(answers(work))
    cases = [
        LLMTestCase(input=row["input"], actual_output=answer, expected_output=row["expected"])
        for row, answer in zip(work.rows, said, strict=True)
    ]
    result = evaluate(
        cases,
        [ExactMatchMetric()],
        async_config=AsyncConfig(max_concurrent=work.jobs),
        display_config=DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False),
        cache_config=CacheConfig(write_cache=False),
    )
    print_passed(sum(bool(one.success) for one in result.test_results))


if __name__ == "__main__":
    main()
