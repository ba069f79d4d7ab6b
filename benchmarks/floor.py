"""The lower bound of a run: a bare aiohttp loop that sends one or two calls a case, compares and writes a line.

Run by orchestration.py: python benchmarks/floor.py CASES URL CALLS JOBS
"""

import argparse
import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import aiohttp

JUDGE = "Is the answer right? Answer with A, B, C, D or E.\nQuestion: {input}\nRight: {expected}\nAnswer: {answer}"
SCHEMA = {
    "type": "json_schema",
    "json_schema": {"name": "verdict", "schema": {"type": "object", "properties": {"answer": {"type": "string"}}}},
}


async def ask(cases: Iterator[dict], out: TextIO, url: str, calls: int, jobs: int) -> None:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def complete(model: str, text: str, **more) -> str:
            body = {"model": model, "messages": [{"role": "user", "content": text}], **more}
            async with session.post(f"{url}/v1/chat/completions", json=body) as response:
                return (await response.json())["choices"][0]["message"]["content"]

        async def worker() -> None:
            for case in cases:
                answer = await complete("mock", case["input"])
                if calls > 1:
                    await complete("judge-10", JUDGE.format(**case, answer=answer), response_format=SCHEMA)
                row = {"id": case["id"], "answer": answer, "passed": answer == case["expected"]}
                out.write(json.dumps(row) + "\n")

        await asyncio.gather(*(worker() for _ in range(jobs)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("url")
    parser.add_argument("calls", type=int)
    parser.add_argument("jobs", type=int)
    args = parser.parse_args()
    path = args.cases
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    with path.with_suffix(".out").open("w", encoding="utf-8") as out:
        asyncio.run(ask(iter(cases), out, args.url, args.calls, args.jobs))


if __name__ == "__main__":
    main()
