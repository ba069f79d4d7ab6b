"""A prompt on four models: 300 tests, two metrics that ask a judge, against a server that answers after 50 ms.

Each row is one process of `evalmark run x.prompty` from its start to its exit, with store and call log and 64 requests
in flight: 1,200 answers and two judge calls for each. Every test is sent once to each model, or --repeat times. A
--server has to give different answers for models whose names begin with `own-`, because equal answers are judged only
once. The floor is a bare aiohttp loop with as many requests. The last row is the replayed run.

Run: python benchmarks/prompts.py [--runs 3] [--repeat 2] [--server http://127.0.0.1:8099]
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from orchestration import FILLER, JOBS, Server, Taken, floor, measured, print_head, row, server_at

from evalmark.store import open_store

TESTS, MODELS, METRICS = 300, 4, 2
GOAL = 1.25
PROMPT = """---
name: letters
inputs: {letter: {type: string}}
---
system:
Answer with the word that the letter ends with.
user:
{{ letter }}
"""
METRIC = """---
name: %s
tags: [scorer]
---
system:
Score from 0 to 100 how %s <OUTPUT> is.
user:
<OUTPUT>{{ output }}</OUTPUT> <INPUT>{{ input }}</INPUT>
"""


def write_prompt(folder: Path) -> None:
    (folder / "letters").mkdir()
    (folder / "letters.prompty").write_text(PROMPT, encoding="utf-8")
    for name in ("short", "useful"):
        (folder / f"{name}.metric.prompty").write_text(METRIC % (name, name), encoding="utf-8")
    tests = [{"testinput": f"Letter {n}. {FILLER}[[ECHO:word-{n}]]"} for n in range(TESTS)]
    (folder / "letters" / "tests.json").write_text(json.dumps(tests), encoding="utf-8")


def command(store: str, repeat: int) -> list[str]:
    models = [word for number in range(MODELS) for word in ("--model", f"openai/own-{number}")]
    rest = ["--judge", "openai/judge", "--repeat", str(repeat), "-j", str(JOBS), "--store", store]
    return [sys.executable, "-m", "evalmark", "run", "letters.prompty", *models, *rest]


def asked(folder: Path, store: str, repeat: int) -> None:
    """Every test once of each model in each repeat, and two scores for every answer."""
    with open_store(folder / store, read_only=True) as kept:
        run = kept.run("last")
    trials = Counter((result.trial.target, result.trial.case.id) for result in run.results)
    assert len(trials) == TESTS * MODELS, len(trials)
    assert set(trials.values()) == {repeat}
    assert all(len(result.scores) == METRICS for result in run.results)
    answers = {spent.model: spent.calls for spent in run.spending}
    assert all(answers[f"openai/own-{number}"] == TESTS * repeat for number in range(MODELS)), answers
    assert answers["openai/judge"] <= TESTS * MODELS * METRICS * repeat, answers


def once(folder: Path, server: Server, store: str, repeat: int) -> Taken:
    taken = measured(command(store, repeat), folder, server)
    assert taken.code == 0, (folder / "log.txt").read_text(encoding="utf-8")[-2_000:]
    return taken


def bare(folder: Path, server: Server, requests: int) -> Taken:
    """As many requests, two for each of half as many cases, by a loop that does nothing else."""
    with (folder / "cases.jsonl").open("w", encoding="utf-8") as stream:
        for number in range(requests // 2):
            word = f"word-{number}"
            text = f"Letter {number}. {FILLER}[[ECHO:{word}]]"
            stream.write(json.dumps({"id": f"c{number}", "input": text, "expected": word}) + "\n")
    return measured(floor(folder, server, 2), folder, server)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", help="one that runs already; without it benchmarks/mock_server.py is started")
    parser.add_argument("--runs", type=int, default=3, help="of which the median counts")
    parser.add_argument("--repeat", type=int, default=1)
    args = parser.parse_args()
    trials = TESTS * MODELS * args.repeat
    with tempfile.TemporaryDirectory() as name, server_at(args.server) as server:
        folder = Path(name)
        write_prompt(folder)
        print_head("ms/trial")
        ours: list[Taken] = []
        least: list[Taken] = []
        for number in range(args.runs):  # in turn, so that a noisy moment hits both
            least.append(bare(folder, server, trials * (1 + METRICS)))
            ours.append(once(folder, server, f"{number}.db", args.repeat))
            told = server.request()
            assert told["requests"] == trials * (1 + METRICS), told
            asked(folder, f"{number}.db", args.repeat)
        name = f"{TESTS} x {MODELS} x {METRICS}"
        row(f"{name}  floor", trials, 1 + METRICS, least)
        row(f"{name}  evalmark", trials, 1 + METRICS, ours, f"goal {GOAL}")
        again = once(folder, server, "0.db", args.repeat)
        assert server.request()["requests"] == 0
        row(f"{name}  replayed", trials, 1 + METRICS, [again])


if __name__ == "__main__":
    main()
