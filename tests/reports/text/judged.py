"""A run whose metrics ask models: scales, percentages, choices, several judges, and what they cost."""

from dataclasses import replace

import pytest

from evalmark import Case, Gate, Output, Result, Run, Score
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.core.values.spending import Spending

SMALL, LARGE = "openai/gpt-5-mini", "anthropic/claude-sonnet-4-5"
METRICS = (
    Metric(name=f"helpful [{SMALL}]", threshold=0.5, unit="1..5", judge=SMALL, base="helpful"),
    Metric(name=f"helpful [{LARGE}]", threshold=0.5, unit="1..5", judge=LARGE, base="helpful"),
    Metric(name="covers", unit="%", judge=SMALL),
    Metric(name="polite", unit="boolean", judge=SMALL),
    Metric(name="factuality", threshold=0.6, unit="choice", judge=SMALL),
    Metric(name="prefers", unit="choice", judge=LARGE),
    Metric(name="edits", direction="lower", unit="edits"),
)
WORTH = {"A": 0.4, "B": 0.6, "C": 1.0, "D": 0.0, "first": 1.0, "second": 0.0, "tie": 0.5}
ROWS = (
    # helpful small, large, covers, polite, factuality, prefers, edits
    (5, 4, 95, True, "C", "first", 4),
    (4, 4, 80, True, "C", "first", 12),
    (2, 3, 40, True, "D", "second", 40),
    (5, 5, 100, True, "C", "first", 0),
    (1, 2, 10, False, "D", "second", 77),
    (4, 3, 85, True, "A", "tie", 15),
    (5, 5, 90, True, "C", "first", 6),
    (4, 4, 75, True, "C", "first", 18),
    (3, 3, 60, True, "B", "tie", 29),
    (5, 4, 100, True, "C", "first", 2),
    (4, 5, 85, True, "C", "first", 11),
    (2, 2, 35, True, "A", "second", 51),
)
REASONS = {
    1: "The answer names Zermatt, which lies in another country, and leaves the question open.",
    2: "Only one of the three steps is there.",
    3: "Right, but the reader has to guess the second step.",
}


def _scale(metric, raw, **detail):
    value = (raw - 1) / 4
    return Score(name=metric.name, raw=raw, value=value, passed=value >= 0.5, reason=REASONS.get(raw, "Complete and clear."), detail=detail)  # fmt: skip


def _unscored(metric, kind, reason):
    return Score(name=metric.name, status="unscored", reason=reason, detail={"unscored": kind})


def _scores(position):
    small, large, covers, polite, fact, prefers, edits = ROWS[position]
    flipped = position in (2, 8)
    first = _scale(METRICS[0], small, verdicts=[small, small + flipped, small], flipped=flipped, weighting="logprobs" if position != 5 else "plain: the reply holds no number token")  # fmt: skip
    second = _scale(METRICS[1], large)
    if position == 7:
        second = _unscored(METRICS[1], "judge_refused", "The model refused: I cannot rate this.")
    if position == 11:
        second = _unscored(METRICS[1], "judge_range", "The model said 7, which is not from 1 to 5.")
    return (
        first,
        second,
        Score(name="covers", raw=covers, value=covers / 100, reason=f"{covers} of 100 points of the reference are there."),
        Score(name="polite", raw=polite, value=float(polite), reason="" if polite else "It calls the question silly."),
        Score(name="factuality", raw=fact, value=WORTH[fact], passed=WORTH[fact] >= 0.6, reason="The answer and the reference differ on a fact." if WORTH[fact] < 0.6 else ""),
        Score(name="prefers", raw=prefers, value=WORTH[prefers], detail={"order_consistent": position % 4 != 1}),
        Score(name="edits", raw=edits, direction="lower"),
    )  # fmt: skip


def _result(dataset, position, scores):
    case = Case(id=f"{dataset[0]}{position + 1}", input=f"Question {position + 1}?", expected="A reference.")
    trial = Trial(case=case, dataset=dataset, target="app:answer", position=position)
    return Result(trial=trial, output=Output(value=f"Answer {position + 1}.", seconds=1.2), scores=scores)


def _alone(position):
    """A second dataset, of which the judges agree nearly always that it is perfect."""
    five = 4 if position == 3 else 5
    return (
        _scale(METRICS[0], five),
        _scale(METRICS[1], 5),
        Score(name="polite", raw=True, value=1.0),
    )


def _turn(position):
    score = _scale(METRICS[0], 4 - position)
    result = _result("thanks", position, (score,))
    trial = Trial(case=result.trial.case, dataset="thanks", target="app:answer", position=position, mode="conversation")
    return Result(trial=trial, output=result.output, scores=result.scores)


RUN = Run(
    id="20261121-113000-9c2e",
    name="support bot, judged",
    created="2026-11-21T11:30:00+00:00",
    finished="2026-11-21T11:31:00+00:00",
    target="app:answer",
    datasets=(DatasetInfo(name="questions", path="q.jsonl", rows=12), DatasetInfo(name="thanks", path="t.jsonl", rows=8)),
    metrics=METRICS,
    gate=Gate(thresholds={"helpful": 0.7}, max_unscored=2),
    suite="suite.yaml",
    versions={"evalmark": "0.1.0"},
    spending=(
        Spending(model=SMALL, calls=92, replayed=24, failed=1, repeated=2, attempts=3, input_tokens=41_250, output_tokens=5_110, unknown_usage=2, cost=0.0204),
        Spending(model=LARGE, calls=30, input_tokens=14_002, output_tokens=2_400, cost=12.3, unknown_cost=4),
        Spending(model="ollama/llama3", calls=5, unknown_usage=5, unknown_cost=5),
        Spending(model="local/kept", replayed=12),
    ),
    results=[
        *(_result("questions", position, _scores(position)) for position in range(len(ROWS))),
        *(_result("thanks", position, _alone(position)) for position in range(8)),
        *(_turn(position) for position in range(3)),
    ],
)  # fmt: skip

EMPTY = Run(id="r", name="n", created="2026-11-21T00:00:00+00:00")
PLAIN = (Metric(name="m"),)


CASE_NAMES = (
    pytest.param("53383426a9b2", "What is the capital of Peru, asked twice?: ", id="an id that was made"),
    pytest.param("peru", "peru: ", id="an id that somebody gave"),
)
"""Ids of the one case of `of_one_case`, with how a report names it."""


def of_one_case(name):
    """A run of one verdict, which is then the worst."""
    case = Case(id=name, input="What is the capital of Peru, asked twice?")
    score = Score(name="m", raw=0.25, value=0.25)
    found = Result(trial=Trial(case=case, dataset="d"), output=Output(value=""), scores=(score,))
    return replace(EMPTY, results=[found], metrics=(Metric(name="m", judge="j"),))


def scored(rows, metrics=PLAIN, **fields):
    """One trial for each row of scores."""
    results = [
        Result(
            trial=Trial(case=Case(id=f"c{i}"), dataset="d", position=i), output=Output(value=""), scores=tuple(scores)
        )
        for i, scores in enumerate(rows)
    ]
    return replace(EMPTY, results=results, metrics=metrics, **fields)
