"""A run of twenty cases with answers that depend on nothing but the case."""

from evalmark import Case, Example, Output, Result, Run, Score
from evalmark.core.values.run import DatasetInfo
from evalmark.core.values.score import Trial

COUNT = 40
"""Results that each of several writing processes saves."""


def later_title(db) -> None:
    """A step of some later release."""
    db.execute("alter table run add column title text")
    db.execute("update run set title = upper(id)")


def case(number: int, wording: str = "What is") -> Case:
    return Case(
        id=f"case-{number:02}",
        input=f"{wording} {number} times {number}?",
        expected=number * number,
        examples=(Example(value=-number, liked=False),),
        contexts=(f"A table of squares, line {number}.",),
        tags=("squares",),
        metadata={"number": number},
        place=f"squares.jsonl:{number + 1}",
    )


def trials(cases: list[Case], repeats: int = 1, dataset: str = "squares.jsonl") -> list[Trial]:
    return [
        Trial(case=one, dataset=dataset, target="app:square", position=position, repeat=repeat)
        for position, one in enumerate(cases)
        for repeat in range(repeats)
    ]


def answered(trial: Trial) -> Result:
    correct = trial.case.metadata["number"] % 3 != 0
    value = trial.case.expected if correct else "I do not know. " * 40
    return Result(
        trial=trial,
        output=Output(value=value, seconds=0.5, contexts=("line",), metadata={"repeat": trial.repeat}),
        scores=(
            Score(name="equals", raw=correct, value=float(correct), passed=correct, reason="" if correct else "no"),
        ),
    )


def run(name: str = "20261121-143205-aaaa", **fields) -> Run:
    values = {"name": "squares", "created": "2026-11-21T14:32:05Z", "status": "running", "plan": "p", "suite": "s.yaml"}
    return Run(id=name, datasets=(DatasetInfo(name="squares.jsonl"),), **{**values, **fields})
