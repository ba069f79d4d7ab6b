"""Two runs of a support bot, of which the newer one was judged with another prompt; and what is said of them."""

import random
from dataclasses import replace

from evalmark import Case, Output, Result, Run, Score, compare
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.stats.comparison.flip_examples import flip_examples

METRICS = (
    Metric(name="equals"),
    Metric(name="answer_correctness", threshold=0.5, unit="cosine"),
    Metric(name="answer_hallucination", direction="lower", threshold=0.3),
    Metric(name="edits", direction="lower", unit="edits"),
    Metric(name="polite", judge="openai/judge", version="a1"),
)
CITIES = ("Oslo", "Rome", "Bern", "Riga", "Lima", "Cairo")
HOSTILE = "Oslo\x1b[2J <b>[x](y)</b> |"


def _result(number: int, bad: bool, seed: int) -> Result:
    luck = random.Random(100 * seed + number)  # noqa: S311  no secret
    city = CITIES[number % 6]
    case = Case(
        id="0123456789ab" if number == 3 else f"q{number:02}",
        input=f"What is the capital of country {number}?",
        expected=f"The capital is {city}.",
        tags=("short" if number % 2 else "long", *(("geography",) if number < 24 else ())),
    )
    said = f"The capital is {HOSTILE if bad and number == 0 else 'Paris, I think' if bad else city}."
    correct = 0.31 if bad else 0.9 + luck.random() / 20
    scores = (
        Score(name="equals", raw=not bad, value=float(not bad), passed=not bad, reason="" if not bad else "expected another"),
        Score(name="answer_correctness", raw=2 * correct - 1, value=correct, passed=correct >= 0.5),
        Score(name="answer_hallucination", raw=float(bad), value=float(bad) / 2, direction="lower", passed=not bad),
        Score(name="edits", raw=8.0 + luck.randrange(6), direction="lower"),
        Score(name="polite", status="unscored", reason="no verdict") if number == 7 and seed == 2 else
        Score(name="polite", raw=True, value=1.0),
    )  # fmt: skip
    return Result(trial=Trial(case=case, dataset="countries", position=number, target="bot"), output=Output(value=said), scores=scores)  # fmt: skip


def _run(name: str, seed: int, bad: set[int], cases: int) -> Run:
    return Run(
        id=name,
        name="support bot",
        created=f"2026-11-2{seed}T10:15:00Z",
        target="bot",
        datasets=(DatasetInfo(name="countries", path="countries.jsonl", rows=cases),),
        metrics=METRICS,
        suite="support.yaml",
        results=[_result(number, number in bad, seed) for number in range(cases)],
    )


THEN = _run("20261121-101500-then", 1, {2, 30}, 40)
NOW = replace(
    _run("20261122-101500-now0", 2, {0, 3, 4, 6, 8, 10, 12, 14, 16, 18, 30}, 41),
    metrics=(*METRICS[:4], replace(METRICS[4], version="b2", judge="openai/judge-2")),
)
WORSE = compare(NOW, THEN)
PAIRS = flip_examples(WORSE, NOW, THEN, 2)

FEW = compare(
    replace(NOW, results=[_result(number, number == 5, 2) for number in range(12)], metrics=METRICS),
    replace(THEN, results=[_result(number, False, 1) for number in range(12)]),
)
"""Too few cases to tell."""

NOTHING = compare(Run(id="now", name="now", created=""), Run(id="then", name="then", created=""))
"""Two runs without any result."""
