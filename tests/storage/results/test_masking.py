"""What is kept of results that hold a secret."""

import asyncio
from dataclasses import asdict
from pathlib import Path

import pytest

from evalmark import Case, Example, Output, Result, Run, Score, ToolCall, Turn
from evalmark.core.values.score import Trial
from evalmark.inputs.secrets.fields import MASK
from evalmark.storage.results.stored_results import masked_id, masked_result
from evalmark.store import open_store

KEY = "k-4711/aB3+9f8e7d6c"
PLAIN = Result(
    trial=Trial(case=Case(id="1", input={"a": ["password: tomorrow"]}, metadata={"n": 1}), dataset="d"),
    output=Output(value={"b": (1, None)}, contexts=("c",), usage=None),
    scores=(Score(name="s", detail={"x": object}),),
)


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setenv("DEMO_API_KEY", KEY)


def made(case=None, output=None, score=None):
    return Result(
        trial=Trial(case=Case(**{"id": "1", "input": "in", **(case or {})}), dataset="d"),
        output=Output(**{"value": "out", **(output or {})}),
        scores=(Score(name="s", **(score or {})),),
    )


def test_a_result_without_a_secret_is_itself():
    assert masked_result(PLAIN) is PLAIN


@pytest.mark.parametrize(
    ("parts", "marked"),
    [
        ({"case": {"input": f"say {KEY}"}}, True),
        ({"case": {"expected": [KEY]}}, True),
        ({"case": {"examples": (Example(value=KEY),)}}, True),
        ({"case": {"contexts": (KEY,)}}, True),
        ({"case": {"history": (Turn(role="user", content=KEY),)}}, True),
        ({"case": {"given": Output(value=KEY)}}, True),
        ({"case": {"tags": (KEY,)}}, True),
        ({"case": {"metadata": {KEY: KEY}}}, True),
        ({"case": {"id": KEY}}, True),
        ({"case": {"place": f"{KEY}:1"}}, False),
        ({"output": {"value": {"a": {"b": [KEY]}}}}, True),
        ({"output": {"value": Path(KEY)}}, True),
        ({"output": {"contexts": (KEY,)}}, True),
        ({"output": {"tool_calls": (ToolCall(name="f", arguments={"x": KEY}, result=KEY, error=KEY),)}}, True),
        ({"output": {"transcript": (Turn(role="tool", content=KEY),)}}, True),
        ({"output": {"metadata": {"x": KEY}}}, True),
        ({"output": {"error": f"E: {KEY}", "value": None, "metadata": {"traceback": "for ann:password1@host"}}}, True),
        ({"output": {"value": f"it says {MASK}"}}, True),
        ({"score": {"reason": f"has {KEY}"}}, False),
        ({"score": {"reason": "user:password1@host refused", "status": "error"}}, False),
        ({"score": {"detail": {"x": [KEY]}, "raw": KEY}}, False),
    ],
)
def test_no_part_of_a_result_keeps_a_secret(parts, marked, tmp_path):
    result = made(**parts)
    found = masked_result(result)
    assert found is not result
    whole = repr(asdict(found))
    assert KEY not in whole
    assert "password1" not in whole
    assert MASK in whole
    assert found.output.masked is marked
    assert found.trial.case.fingerprint == result.trial.case.fingerprint
    assert masked_result(found) == found


def test_ids_that_differ_in_a_secret_alone_stay_apart(monkeypatch):
    monkeypatch.setenv("OTHER_TOKEN", KEY[::-1])
    first, second = (masked_id(f"case {key}") for key in (KEY, KEY[::-1]))
    assert first != second
    assert first.startswith(f"case {MASK}-")
    assert masked_id("case 1") == "case 1"


def test_a_result_that_was_masked_is_found_again_when_its_run_goes_on(tmp_path):
    run = Run(id="r", name="r", created="2026-01-01T00:00:00Z", status="running", notes=(f"said {KEY}",))
    result = made({"id": f"case {KEY}", "input": f"say {KEY}", "place": f"{KEY}:3"}, {"value": KEY})
    with open_store(tmp_path / "a.db") as store:
        store.start(run)
        asyncio.run(store.sink("r").write([masked_result(result)]))
    with open_store(tmp_path / "a.db") as store:
        taken = store.resume("r")
        assert taken.notes == (f"said {MASK}",)
        recorded = store.recorded("r")
        assert recorded(result.trial)
        assert recorded.output(result.trial).value == MASK
        assert not recorded(made({"id": "case 2"}).trial)
    for file in tmp_path.iterdir():
        assert KEY.encode() not in file.read_bytes()
