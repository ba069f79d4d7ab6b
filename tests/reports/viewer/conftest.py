"""A store with a run in it, and pages over it that are asked without a network."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

import pytest

from evalmark import Case, Example, Output, Result, Run, Score, ToolCall, Turn
from evalmark.core.values.call import Call, Reply, Request
from evalmark.core.values.case import Usage
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.core.values.session import Session, Span
from evalmark.core.values.spending import Spending
from evalmark.reports.viewer.app import viewer_app
from evalmark.reports.viewer.auth.guard import AccessPolicy
from evalmark.store import Store, open_store

collect_ignore = ["chromium.py", "looking.py"]
"""Modules that skip whoever imports them: collected for its doctests, one would stay half imported, and its importers would fail."""
TOKEN = "a-token-of-this-test"  # noqa: S105
POLICY = AccessPolicy(
    token=TOKEN, hosts=frozenset({"127.0.0.1:7878", "localhost:7878", "[::1]:7878"}), cookie="evalmark-7878"
)
SESSION = "b" * 16
METRICS = (Metric(name="similarity", threshold=0.6), Metric(name="correct", unit="1..5", judge="openai/small"))


@dataclass(frozen=True)
class Answer:
    """What came back for one request."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


def asked(
    app, target: str, method: str = "GET", headers: list[tuple[str, str]] | None = None, body: bytes = b""
) -> Answer:
    """One request as a server would hand it on."""
    path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers or []],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 7878),
    }
    sent: list[dict[str, Any]] = []

    async def go() -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await app(scope, receive, send)

    asyncio.run(go())
    start = sent[0]
    found = {bytes(name).decode().lower(): bytes(value).decode("latin-1") for name, value in start["headers"]}
    return Answer(start["status"], found, b"".join(message.get("body", b"") for message in sent[1:]))


def from_browser(app, target: str, method: str = "GET") -> Answer:
    """A request as a browser sends it once it was let in."""
    return asked(app, target, method, [("host", "127.0.0.1:7878"), ("cookie", f"{POLICY.cookie}={TOKEN}")])


def sent(app, fields: Mapping[str, str], target: str = "/labels", *, key: str = POLICY.key, **headers: str) -> Answer:
    """A form as a page of the viewer sends it."""
    said = {
        "host": "127.0.0.1:7878",
        "cookie": f"{POLICY.cookie}={TOKEN}",
        "origin": "http://127.0.0.1:7878",
        "sec-fetch-site": "same-origin",
        "content-type": "application/x-www-form-urlencoded",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    body = urlencode({"key": key, **fields}).encode()
    return asked(app, target, "POST", [(name, value) for name, value in said.items() if value], body)


def result(number: int, target: str = "app:answer", repeat: int = 0, **fields: Any) -> Result:
    """The answer to a case: every third fails, every tenth breaks."""
    case = Case(
        id=f"case-{number:03}",
        input=f"What is {number} times {number}?",
        expected=str(number * number),
        examples=(Example(value="No idea.", liked=False),),
        contexts=("A table of squares.",),
        history=(Turn(role="user", content="Hello."),),
        tags=("even" if number % 2 == 0 else "odd",),
        place=f"squares.jsonl:{number + 1}",
    )
    trial = Trial(case=case, dataset="squares.jsonl", target=target, position=number, repeat=repeat)
    if number % 10 == 9:
        return Result(trial=trial, output=Output(error="TimeoutError: it took too long"))
    value = 0.25 if number % 3 == 0 else 0.5 + number / 200
    made = Output(
        value=f"It is {number * number}. It sings.",
        seconds=number / 10,
        tool_calls=(ToolCall(name="multiply", arguments={"by": number}, result=number * number),),
        usage=Usage(input_tokens=10, output_tokens=2),
        metadata={"calls": ["k0"]},
    )
    scores = (
        Score(name="similarity", raw=value, value=value, passed=number % 3 != 0, reason="As near as it gets."),
        Score(
            name="correct",
            raw=4,
            value=0.75,
            reason="Judged.",
            detail={"calls": ["k1"], "claims": [{"claim": "It sings.", "supported": False, "reason": "no source"}]},
        ),
    )
    return Result(trial=trial, output=replace(made, **fields), scores=scores)


def a_run(run_id: str = "20261121-101500-3f9a", **fields: Any) -> Run:
    values = {"name": "squares", "created": "2026-11-21T10:15:00+00:00", "status": "running", "target": "app:answer"}
    parts = {"datasets": (DatasetInfo(name="squares.jsonl"),), "metrics": METRICS}
    return Run(id=run_id, **{**values, **parts, **fields})


def keep(store: Store, run: Run, results: list[Result], *, ends: bool = True) -> Run:
    """Write a run with its results; `ends=False` leaves it under way."""
    store.start(run)
    asyncio.run(store.sink(run.id).write(results))
    if not ends:
        return run
    spent = (Spending(model="openai/small", calls=3, input_tokens=30, output_tokens=6, cost=0.0042),)
    done = replace(run, status="complete", finished="2026-11-21T10:16:20+00:00", spending=spent)
    store.finish(done)
    return done


def keep_calls(store: Store) -> None:
    """The calls that results name."""
    judge = Request(messages=(Turn(role="system", content="You judge."), Turn(role="user", content="Is it correct?")))
    asyncio.run(
        store.call_log().keep(
            Call(
                key="k1",
                model="openai/small",
                identity="small at home",
                request=judge,
                reply=Reply(text="four of five"),
            )
        )
    )


def keep_session(store: Store) -> None:
    """A recorded session: an answer with one step."""
    began = "2026-11-21T10:15:00.000000+00:00"
    answer = Span(
        id="a" * 16, session=SESSION, project="shop", started=began, seconds=0.2, input="Open?", output="Yes."
    )
    step = Span(
        id="c" * 16, session=SESSION, project="shop", parent=answer.id, started=began, kind="tool", name="hours"
    )
    store.sessions.add([Session(id=SESSION, project="shop", started=began)], [step, answer])


@pytest.fixture
def store(tmp_path) -> Iterator[Store]:
    with open_store(tmp_path / "evalmark.db") as made:
        yield made


def shown(store: Store):
    """The pages of a store; they wait for figures as long as it takes."""
    return viewer_app(store, POLICY, patience=60)  # loads Starlette, which may not be installed


@pytest.fixture
def own(store):
    """The pages of a store with a run of thirty cases, for a test that changes it."""
    keep(store, a_run(), [result(number) for number in range(30)])
    return shown(store)


@pytest.fixture(scope="session")
def app(tmp_path_factory):
    """The same for tests that only look, with the calls that its results name."""
    with open_store(tmp_path_factory.mktemp("viewer") / "evalmark.db") as store:
        keep(store, a_run(), [result(number) for number in range(30)])
        keep_calls(store)
        keep_session(store)
        yield shown(store)
