"""One run that has everything a report must be able to show."""

from dataclasses import replace

from evalmark import Case, Example, Gate, Output, Result, Run, Score, ToolCall, Turn
from evalmark.core.values.case import Usage
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.core.values.spending import Spending

HOSTILE_TEXT = "\x1b]0;t\x07\x1b[2J\x9b31m[bold red]markup[/] :smile: \ud800\u202e\rover"
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m=HYPERLINK(\"http://x\")|<script>alert('&')</script>\x00\ud800 ![i](http://x/i.png) `a` *b*"

METRICS = (
    Metric(name="answer_correctness", threshold=0.6, unit="cosine"),
    Metric(name="answer_hallucination", direction="lower", threshold=0.3),
    Metric(name="edits", direction="lower", unit="edits"),
    Metric(name="mentions_source"),
)

QUESTIONS = (
    ("How tall is Mont Blanc?", "Mont Blanc is 4,806 metres high.", "It is 4,806 metres high.", 0.93, 0.0, 8.0, True),
    ("Who first climbed it?", "Balmat and Paccard in 1786.", "Jacques Balmat and Michel Paccard, in 1786.", 0.88, 0.0, 17.0, True),
    ("Where is the summit?", "On the border of France and Italy.", "The summit lies in France. It is shaped like a needle.", 0.58, 0.5, 31.0, False),
    ("Which valley lies north?", "Chamonix.", "Zermatt lies to the north of it.", 0.21, 1.0, 26.0, False),
    ("How cold does it get?", "About -20 degrees in winter.", "Around -20 degrees in winter.", 0.97, 0.0, 6.0, True),
    ("Is there a tunnel?", "Yes, 11.6 km long.", "Yes, a road tunnel of 11.6 km.", 0.84, 0.0, 14.0, True),
    ("When was the tunnel opened?", "In 1965.", "It was opened in 1965.", 0.81, 0.0, 14.0, True),
    ("How long is the Mer de Glace?", "About 7.5 km.", "It is about 7.5 km long.", 0.86, 0.0, 12.0, True),
)  # fmt: skip


def _scores(correct: float, hallucinated: float, edits: float, source: bool, answer: str) -> tuple[Score, ...]:
    sentences = [s.strip() + "." for s in answer.split(". ")]
    support = [
        {
            "sentence": s.replace("..", "."),
            "supported": i + 1 > hallucinated * len(sentences),
            "similarity": 0.7 - 0.4 * (i + 1 <= hallucinated * len(sentences)),
            "context": 0,
        }
        for i, s in enumerate(reversed(sentences))
    ]
    return (
        Score(name="answer_correctness", raw=2 * correct - 1, value=correct, passed=correct >= 0.6, reason="" if correct >= 0.6 else "The closest liked answer says something else."),
        Score(name="answer_hallucination", raw=hallucinated, value=hallucinated, direction="lower", passed=hallucinated <= 0.3, reason=f"{sum(not s['supported'] for s in support)} of {len(support)} sentences have no support.", detail={"sentences": support}),
        Score(name="edits", raw=edits, value=None, direction="lower"),
        Score(name="mentions_source", raw=source, value=float(source), passed=None),
    )  # fmt: skip


def _result(position: int, repeat: int = 0) -> Result:
    asked, expected, answer, *numbers = QUESTIONS[position]
    if repeat and position == 2:
        answer, numbers = expected, [0.99, 0.0, 0.0, True]
    case = Case(
        id=f"q{position + 1}",
        input=asked,
        expected=expected,
        contexts=("Mont Blanc is a mountain of the Alps.", "It is 4,806 metres high."),
        place=f"questions.json:{position + 2}",
    )
    output = Output(value=answer, seconds=0.2 + 0.01 * position + 0.1 * repeat)
    return Result(
        trial=Trial(case=case, dataset="questions", target="app:answer", position=position, repeat=repeat),
        output=output,
        scores=_scores(*numbers, answer),
    )


def _odd() -> list[Result]:
    """An error of the target, one of a scorer, an unscored case, one full of hostile text, one of data."""
    failed = Case(id="q9", input="What does the cable car cost?", expected="78 euros", place="questions.json:10")
    broken = Case(id="q10", input="Which side is steeper?", expected="The Italian one.")
    silent = Case(id="q11", input="Say nothing.", tags=("edge",))
    hostile = Case(
        id=HOSTILE, input=HOSTILE, expected=HOSTILE, contexts=(HOSTILE,), tags=(HOSTILE,), metadata={HOSTILE: HOSTILE}
    )
    data = Case(
        id="+12",
        input={"city": "Chamonix", "nights": [1, 2]},
        expected={"ok": True},
        examples=(Example(value="no", liked=False),),
        history=(Turn(role="user", content="hello"),),
    )
    return [
        Result(trial=Trial(case=failed), output=Output(error="TimeoutError: no answer within 30 s", seconds=30.0)),
        Result(
            trial=Trial(case=broken),
            output=Output(value="The Italian side.", seconds=0.3),
            scores=(
                Score(name="answer_correctness", raw=0.8, value=0.9, passed=True),
                Score(name="answer_hallucination", status="error", direction="lower", reason="ValueError: the embedder returned 3 vectors for 4 texts"),
                Score(name="edits", raw=9.0, direction="lower"),
                Score(name="mentions_source", status="skipped"),
            ),
        ),
        Result(
            trial=Trial(case=silent),
            output=Output(value="", seconds=0.1),
            scores=tuple(Score(name=m.name, status="unscored", direction=m.direction, reason="the answer is empty") for m in METRICS),
        ),
        Result(
            trial=Trial(case=hostile),
            output=Output(value=HOSTILE, seconds=0.2, metadata={"model": HOSTILE}),
            scores=(
                Score(name="answer_correctness", raw=-0.9, value=0.05, passed=False, reason=HOSTILE, detail={"why": HOSTILE}),
                Score(name="answer_hallucination", raw=1.0, value=1.0, direction="lower", passed=False, detail={"sentences": [{"sentence": HOSTILE, "supported": False}]}),
                Score(name="edits", raw=120.0, direction="lower"),
                Score(name="mentions_source", raw=False, value=0.0),
            ),
        ),
        Result(
            trial=Trial(case=data),
            output=Output(value={"hotel": "Alpina", "price": 120.5}, seconds=0.4, tool_calls=(ToolCall(name="search", arguments={"city": "Chamonix"}, result=["Alpina"]),)),
            scores=(Score(name="answer_correctness", raw=0.4, value=0.7, passed=True), Score(name="edits", raw=40, direction="lower"), Score(name="mentions_source", raw=True, value=1.0)),
        ),
    ]  # fmt: skip


def _placed(result: Result, position: int) -> Result:
    trial = Trial(case=result.trial.case, dataset="odd ones", target="app:answer", position=position)
    return Result(trial=trial, output=result.output, scores=result.scores)


RESULTS = [
    *(_result(position, repeat) for position in range(len(QUESTIONS)) for repeat in range(2)),
    *(_placed(result, position) for position, result in enumerate(_odd())),
]

RUN = Run(
    id="20261121-101500-3f9a",
    name="mountain bot",
    created="2026-11-21T10:15:00+00:00",
    finished="2026-11-21T10:15:42+00:00",
    target="app:answer",
    datasets=(
        DatasetInfo(name="questions", path="questions.json", rows=8),
        DatasetInfo(name="odd ones", path="odd.jsonl", rows=5),
    ),
    metrics=METRICS,
    repeat=2,
    gate=Gate(min_pass_rate=0.9, thresholds={"answer_hallucination": 0.3}),
    suite="suite.yaml",
    plan="0123456789abcdef0123456789abcdef",
    embedder="all-MiniLM-L6-v2/exact",
    versions={"evalmark": "0.1.0", "python": "3.11.7"},
    notes=("3 of 120 texts were longer than the model's 256 tokens and were cut.",),
    results=RESULTS,
)


def two_thresholds():
    """Two datasets with a metric of one name: the same score misses the threshold of one and reaches that of the other."""
    score = Score(name="m", raw=0.5, value=0.5)
    results = [
        Result(
            trial=Trial(case=Case(id=f"of {dataset}"), dataset=dataset),
            output=Output(value="said"),
            scores=(replace(score, passed=passed), Score(name="n", status="unscored")),
        )
        for dataset, passed in (("loose", True), ("strict", False))
    ]
    metrics = (
        Metric(name="m", threshold=0.25, dataset="loose", judge="mild"),
        Metric(name="m", threshold=0.75, dataset="strict", judge="harsh"),
        Metric(name="n"),
    )
    infos = (DatasetInfo(name="loose"), DatasetInfo(name="strict"))
    return Run(id="r", name="two", created="", datasets=infos, metrics=metrics, results=results)


def everywhere(text):
    """A run that has a text in every place where one can be."""
    case = Case(
        id=text,
        input=text,
        expected={text: text},
        contexts=(text,),
        tags=(text,),
        metadata={text: text},
        history=(Turn(role=text, content=text),),
        place=text,
    )
    score = Score(
        name=text,
        raw=text,
        value=0.1,
        passed=False,
        reason=text,
        detail={"sentences": [{"sentence": text, "supported": False}], text: text, "weighting": text, "flipped": True},
    )
    other = Score(name=text + "2", status="unscored", reason=text, detail={"unscored": text})
    third = Score(name=text + "3", raw=text, value=0.2, detail={"order_consistent": False})
    call = ToolCall(name=text, arguments={text: text}, result=text, error=text, id=text, started=text, seconds=0.1)
    answered = Output(
        value=text,
        contexts=(text,),
        metadata={text: text},
        transcript=(Turn(role=text, content=text), call, Turn(role=text, content={text: text})),
        usage=Usage(input_tokens=3),
    )
    trial = Trial(case=case, dataset=text, target=text)
    results = (
        Result(trial=trial, output=answered, scores=(score, other, third)),
        Result(trial=replace(trial, target="other", position=1), output=Output(error=text)),
        Result(trial=replace(trial, target="third", mode="conversation"), output=answered, scores=(score,)),
    )
    metrics = tuple(Metric(name=text + n, unit=text, judge=text + n, base=text) for n in ("", "2", "3"))
    spending = (Spending(model=text, calls=1), Spending(model=text, unknown_cost=1))
    return Run(
        id=text, name=text, created=text, target=text, datasets=(DatasetInfo(name=text, path=text),), metrics=metrics, spending=spending,
        suite=text, embedder=text, versions={text: text}, notes=(text,), results=results,
    )  # fmt: skip
