"""A run of one prompt on three targets: rules and their inverses, invalid and ungrounded tests, a baseline, repeats."""

from evalmark import Case, Output, Result, Run, Score
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial

HOSTILE = "<b>tiny</b>|\x1b[31mmodel"
ENDINGS = {
    # Ten tests of rules (five positive, five negative), then four baseline ones; a letter a repeat.
    "openai/large": ["++", "++", "++", "+-", "++", "++", "++", "++", "++", "+?"] + ["++"] * 4,
    "openai/small": ["++", "+-", "--", "+-", "++", "--", "-+", "--", "++", "!!", "++", "+-", "++", "--"],
    HOSTILE: ["--"] * 9 + ["?-"] + ["--"] * 4,
}
BASELINE = {"rule": None, "ruleid": None, "baseline": True}
METRICS = (Metric(name="compliance", judge="openai/judge"), Metric(name="clear", unit="%", judge="openai/judge"))


def case(number: int) -> Case:
    """A test: the third is invalid, the fifth is of an ungrounded rule, the last four are baseline tests."""
    if number >= 10:
        return Case(id=f"base-{number}", input=f"text {number}", tags=("baseline",), metadata=BASELINE)
    return Case(
        id=f"rule-{number}",
        input=f"text {number}",
        tags=("negative" if number >= 5 else "positive",),
        metadata={"ruleid": number + 1, "valid": number != 2, "grounded": None if number >= 5 else number != 4},
    )


def scores(ending: str, number: int, target: str) -> tuple[Score, ...]:
    """What two judges say of an output; nothing of one that never came."""
    clear = 95 - 3 * number - (40 if target == HOSTILE else 0)
    said = Score(name="clear", raw=clear, value=clear / 100)
    if ending == "?":
        return Score(name="compliance", status="unscored", reason="It said neither ok nor err."), said
    kept = ending == "+"
    return Score(name="compliance", raw=kept, value=float(kept), passed=kept, reason="As the rules say."), said


def results() -> list[Result]:
    """In the order of dataset, position, repeat."""
    return [
        Result(
            trial=Trial(case=case(number), dataset="tests", target=target, position=number, repeat=repeat),
            output=Output(error="TimeoutError: 30 s") if ending == "!" else Output(value=f"{ending} {number}"),
            scores=() if ending == "!" else scores(ending, number, target),
        )
        for number in range(14)
        for repeat in range(2)
        for target, endings in ENDINGS.items()
        for ending in endings[number][repeat]
    ]


RUN = Run(
    id="20261121-143205-k3f9",
    name="classify",
    created="2026-11-21T14:32:05Z",
    target=", ".join(ENDINGS),
    datasets=(DatasetInfo(name="tests", path="tests.json", rows=14),),
    metrics=METRICS,
    repeat=2,
    results=results(),
)
