"""Labels, recorded answers and runs that tests learn from."""

from evalmark import Case, Output, Result, Run, Score
from evalmark.core.values.label import Label, content_fingerprint
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Trial
from evalmark.core.values.session import Session, Span

SESSION = Session(id="5" * 16, project="demo", started="2026-11-22T00:00:00.000000+00:00")


def span(number, asked, answer, **more):
    """A recorded answer."""
    return Span(
        id=f"{number:016x}",
        session=SESSION.id,
        project="demo",
        started=f"2026-11-22T00:00:00.{number:06d}+00:00",
        input=asked,
        output=answer,
        **more,
    )


def label(about, asked, answer, liked, by="ann", at=0):
    """What somebody says of an answer."""
    created = f"2026-11-22T01:00:00.{at:06d}+00:00"
    return Label(about=about, liked=liked, by=by, created=created, content=content_fingerprint(asked, answer))


def on(one, liked, by="ann", at=0):
    """What somebody says of a recorded answer."""
    return label(f"span:{one.id}", one.input, one.output, liked, by, at)


def result(number, value, *, name="m", case=None, passed=None, **more):
    """A result whose answer has a score by one metric; None as value is unscored."""
    trial = Trial(case=Case(id=str(case or number), input=f"in {case or number}"), dataset="d", position=number)
    score = Score(name=name, status="unscored" if value is None else "scored", value=value, passed=passed, **more)
    return Result(trial=trial, output=Output(value=f"out {number}"), scores=(score,))


def run_of(results, **metric):
    """A run with one metric."""
    return Run(
        id="r1",
        name="r1",
        created="2026-11-22T00:00:00Z",
        metrics=(Metric(**({"name": "m", "version": "v1"} | metric)),),
        results=tuple(results),
    )


def of_output(run, one, liked, by="ann", at=0):
    """What somebody says of the output of a result."""
    return label(f"output:{run}/{one.trial.id}", one.trial.case.input, one.output.value, liked, by, at)
