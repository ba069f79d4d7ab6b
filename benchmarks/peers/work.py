"""What the scripts of all tools share: arguments, a client of the OpenAI SDK, and the line with the number of passed cases."""

import argparse
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

MODEL = "mock"
KEY = "none"


@dataclass(frozen=True)
class Work:
    path: Path
    rows: list[dict]
    url: str
    """With the `/v1` at its end."""
    jobs: int


def given(description: str | None) -> Work:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path, help="JSONL with id, input and expected")
    parser.add_argument("url", help="of a server that speaks OpenAI's chat completions")
    parser.add_argument("jobs", type=int, help="requests in flight")
    args = parser.parse_args()
    rows = [json.loads(line) for line in args.cases.read_text(encoding="utf-8").splitlines()]
    return Work(args.cases.resolve(), rows, f"{args.url}/v1", args.jobs)


def client_of(work: Work) -> Callable[[str], Awaitable[str]]:
    """Return a function that sends a request with the SDK of OpenAI, for tools that leave this to their users."""
    from openai import AsyncOpenAI  # noqa: PLC0415  not every peer has it

    client = AsyncOpenAI(base_url=work.url, api_key=KEY)

    async def say(question: str) -> str:
        answer = await client.chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": question}], temperature=0
        )
        return answer.choices[0].message.content

    return say


def print_passed(passed: int) -> None:
    """Print how many cases passed, as the last line of output."""
    print(json.dumps({"passed": passed}), flush=True)
