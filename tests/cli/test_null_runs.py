"""Runs of one unchanged bot, from the command line: how often a comparison calls them better or worse."""

import json

import pytest

ROUNDS = 200
BOT = """
import pathlib, random
def answer(text):
    round_, name = pathlib.Path("round").read_text(), text
    draw = random.Random(f"{round_} {name} {random.random()}")
    hard = random.Random(f"{round_} {name.split()[0]}").random() < 0.3  # whole documents are hard
    if draw.random() < 0.03:
        raise ValueError("no answer")
    return " ".join(str(n) for n in range(5) if draw.random() < (0.6 if hard else 0.9))

def part(number):
    def has(output):
        return str(number) in output.split()
    has.__name__ = f"has_{number}"
    return has

has_0, has_1, has_2, has_3, has_4 = map(part, range(5))
"""
SUITE = """
name: bot
datasets: [first.jsonl, {path: second.jsonl, cluster: document}]
target: bot:answer
metrics: [bot:has_0, bot:has_1, bot:has_2, bot:has_3, bot:has_4]
repeat: 2
gate: {min_pass_rate: 0, max_errors: 1000}
"""


@pytest.mark.sweep
def test_an_unchanged_bot_is_called_worse_or_better_in_at_most_5_percent(world, evalmark):
    """Errors, repeats, two datasets of which one has clusters, and Holm over five metrics and the verdict."""
    (world / "bot.py").write_text(BOT)
    (world / "suite.yaml").write_text(SUITE)
    for name, of_document in (("first", 1), ("second", 5)):
        rows = [
            {"id": f"{name}{n}", "input": f"{name}{n // of_document} question {n}", "document": n // of_document}
            for n in range(50)
        ]
        (world / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    verdicts = []
    for number in range(ROUNDS):
        (world / "round").write_text(str(number))
        for _ in range(2):
            assert evalmark("run", "suite.yaml", "-q").code == 0
        assert evalmark("compare", "last", "last~1", "-o", "found.json").code in (0, 1, 3)
        verdicts.append(json.loads((world / "found.json").read_text())["outcome"])
    # of 200, 5 % are 10; more than 18 would happen once in a hundred such tests
    assert verdicts.count("worse") <= 18
    assert verdicts.count("better") <= 18
