"""A run of an agent: one answer with all that led to it, one that failed on the way, one that says no more than the answer."""

from evalmark import Case, Output, Result, Run, Score, ToolCall, Turn
from evalmark.core.values.case import Usage
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial

ASKED = ("Where is order 7?", "Refund order 8.", "Thank you!")
FIND = ToolCall(
    name="find_order",
    arguments={"order": 7},
    result={"status": "sent", "day": "Monday"},
    id="call-1",
    started="2026-11-21T10:15:01+00:00",
    seconds=0.25,
)
OUTPUTS = (
    Output(
        value="It was sent on Monday.",
        seconds=1.8,
        transcript=(
            Turn(role="system", content="You answer customers."),
            Turn(role="user", content=ASKED[0]),
            Turn(role="assistant", content="Let me look."),
            FIND,
            Turn(role="assistant", content="It was sent on Monday."),
        ),
        usage=Usage(input_tokens=1204, output_tokens=80, cached_tokens=1024, reasoning_tokens=64),
    ),
    Output(
        value="I could not refund it.",
        seconds=2.4,
        transcript=(
            Turn(role="user", content=ASKED[1]),
            ToolCall(name="find_order", arguments={"order": 8}, id="call-2"),
            ToolCall(
                name="refund", arguments={"unparsed": '{"order": '}, error="no such order", id="call-3", seconds=4.0
            ),
            Turn(role="tool", content="a line\nof nobody's"),
            ToolCall(name="close"),
            Turn(role="assistant", content="I could not refund it."),
        ),
    ),
    Output(
        value="You are welcome.",
        seconds=0.4,
        transcript=(Turn(role="user", content=ASKED[2]), Turn(role="assistant", content="You are welcome.")),
        usage=Usage(input_tokens=90),
    ),
)
RESULTS = [
    Result(
        trial=Trial(case=Case(id=f"o{n + 7}", input=asked), dataset="orders", target="app:agent", position=n),
        output=output,
        scores=(Score(name="polite", raw=n != 1, value=float(n != 1), passed=n != 1),),
    )
    for n, (asked, output) in enumerate(zip(ASKED, OUTPUTS, strict=True))
]
RUN = Run(
    id="20261121-101500-a9e4",
    name="order agent",
    created="2026-11-21T10:15:00+00:00",
    finished="2026-11-21T10:15:05+00:00",
    target="app:agent",
    datasets=(DatasetInfo(name="orders", path="orders.jsonl", rows=3),),
    metrics=(Metric(name="polite"),),
    results=RESULTS,
)
