"""Agents with tools that are replayed: what a run calls, what it says of it, and what CI needs to do without the tools."""

import asyncio
import json
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from evalmark import Output, evaluate
from evalmark.errors import NotRecordedError
from evalmark.store import open_store
from evalmark.tools import replayed

CASES = [{"id": "1", "input": "tea", "expected": "TEA."}, {"id": "2", "input": "mint", "expected": "MINT."}]
STORE = ".evalmark/evalmark.db"
made: list[str] = []


@pytest.fixture(autouse=True)
def nothing_called(world):
    made.clear()


@replayed(version="1")
def look_up(word: str) -> str:
    made.append(word)
    return word.upper()


@replayed(version="1")
async def dot(word: str) -> str:
    made.append(f"{word}.")
    await asyncio.sleep(0)
    return f"{word}."


async def agent(question: str) -> str:
    return await dot(look_up(question))


def plain_agent(question: str) -> str:
    return look_up(question) + "."


def trusting(question: str) -> str:
    """Frameworks hand what a tool raises to the model, as if the tool had said it."""
    try:
        return look_up(question) + "."
    except Exception as error:  # noqa: BLE001  as they do
        return f"I could not look that up: {error}"


def run_of(task=agent, **options):
    return evaluate(CASES, task, ["equals"], **{"store": STORE, **options})


def verdicts(run) -> list[str]:
    return [result.verdict for result in run.results]


@pytest.mark.parametrize("task", [agent, plain_agent], ids=["async", "in threads"])
def test_a_second_run_calls_no_tool_and_both_say_what_was_called(task):
    per_case = 2 if task is agent else 1
    first, again = run_of(task), run_of(task)
    assert (verdicts(first), verdicts(again)) == (["pass"] * 2, ["pass"] * 2)
    assert len(made) == 2 * per_case
    assert first.notes == (f"{2 * per_case} tool calls recorded.",)
    assert again.notes == (f"{2 * per_case} tool calls replayed.",)


def test_runs_that_nobody_keeps_share_calls_within_the_run():
    cases = [{"id": str(number), "input": "tea"} for number in range(5)]
    run = evaluate(cases, plain_agent, [lambda output: True], store=None, jobs=1, repeat=2)
    assert made == ["tea"]
    assert run.notes == ("9 tool calls replayed, 1 recorded.",)


def test_without_replay_nothing_is_recorded_and_nothing_said():
    assert [run_of(replay="off").notes for _ in range(2)] == [(), ()]
    assert len(made) == 8
    with open_store(STORE, read_only=True) as store:
        assert store.recordings.by_tool() == []


def test_record_calls_everything_anew():
    run_of()
    assert run_of(replay="record").notes == ("4 tool calls recorded.",)
    assert len(made) == 8


@pytest.mark.parametrize("task", [agent, plain_agent, trusting], ids=["async", "in threads", "one that hides errors"])
def test_strict_replay_calls_nothing_and_what_is_missing_is_an_error_of_the_case(task):
    run = run_of(task, replay="strict")
    assert made == []
    assert verdicts(run) == ["error", "error"]
    for result, word in zip(run.results, ("tea", "mint"), strict=True):
        said = result.output.error
        assert said.startswith(f"{NotRecordedError.__name__}: look_up: not recorded for the arguments")
        assert f'{{"word":"{word}"}}' in said
        assert "Run once with --replay auto" in said


def test_a_recording_shared_as_a_file_is_all_that_ci_needs():
    run = run_of()
    with open_store(STORE, read_only=True) as store:
        assert store.recordings.export("recorded.jsonl", run.id) == 4
    made.clear()
    with open_store("ci.db") as store:
        assert store.recordings.add("recorded.jsonl") == (4, 0)
    assert verdicts(run_of(replay="strict", store="ci.db")) == ["pass"] * 2
    assert made == []


def test_what_a_run_has_replayed_is_exported_as_its_own():
    first = run_of()
    again = run_of(replay="strict")
    with open_store(STORE, read_only=True) as store:
        for run in (first, again):
            assert store.recordings.export(f"{run.id}.jsonl", run.id) == 4
    lines = [json.loads(line) for line in Path(f"{again.id}.jsonl").read_text("ascii").splitlines()[1:]]
    assert {line["tool"] for line in lines} == {"look_up", "dot"}
    named = {key for result in again.results for key in result.output.metadata["calls"]}
    assert named == {line["key"] for line in lines}


def test_an_agent_that_means_something_else_by_calls_keeps_its_metadata():
    run = run_of(lambda question: Output(value=look_up(question) + ".", metadata={"calls": 7}))
    assert [result.output.metadata for result in run.results] == [{"calls": 7}] * 2


def test_the_same_call_for_another_input_is_another_recording():
    run = evaluate(CASES, lambda question: look_up("one word"), [lambda output: True], store=None)
    assert made == ["one word"] * 2
    assert run.notes == ("2 tool calls recorded.",)


def test_what_cannot_be_recorded_is_an_error_also_where_the_agent_hides_it():
    @replayed
    def search(word):
        return {word}

    def hides(question):
        try:
            return search(question)
        except Exception:  # noqa: BLE001  as frameworks do
            return question.upper() + "."

    run = run_of(hides)
    assert verdicts(run) == ["error"] * 2
    assert all("search: the result cannot be recorded: it is of the type set" in r.output.error for r in run.results)
    assert [result.output.error for result in run_of(hides, replay="off").results] == [None, None]


def test_an_error_of_the_tool_itself_is_the_agents_to_handle():
    @replayed
    def broken(word):
        raise ConnectionError("no route")

    def copes(question):
        try:
            return broken(question)
        except ConnectionError:
            return question.upper() + "."

    run = run_of(copes)
    assert verdicts(run) == ["pass"] * 2
    assert run.notes == ("2 tool calls failed and not recorded.",)


def test_a_damaged_recording_is_called_again_and_the_run_says_so():
    run_of(plain_agent)
    with closing(apsw.Connection(STORE)) as db:
        db.execute("update tool_call set result = '\"X\"' where number = 1")
    run = run_of(plain_agent)
    assert verdicts(run) == ["pass"] * 2
    said, damage = run.notes
    assert said == "1 tool call replayed, 1 recorded."
    assert "is damaged (its checksum is wrong). It counts as not recorded, so the tool was called again." in damage
    assert verdicts(run_of(plain_agent, replay="strict")) == ["pass"] * 2


def test_a_damaged_recording_is_an_error_in_strict_replay():
    run_of(plain_agent)
    with closing(apsw.Connection(STORE)) as db:
        db.execute("update tool_call set result = '\"X\"' where number = 1")
    assert sorted(verdicts(run_of(plain_agent, replay="strict"))) == ["error", "pass"]
    assert len(made) == 2


def test_a_scorer_may_use_tools_too():
    def judged(output, input):  # noqa: A002  the field's name
        return output == look_up(input) + "."

    assert verdicts(evaluate(CASES, lambda question: f"{question.upper()}.", [judged], store=STORE)) == ["pass"] * 2
    made.clear()
    again = evaluate(CASES, lambda question: f"{question.upper()}.", [judged], store=STORE, replay="strict")
    assert verdicts(again) == ["pass"] * 2
    assert made == []


def test_scorers_tools_that_are_missing_are_errors_of_the_score():
    def judged(output, input):  # noqa: A002  the field's name
        return output == look_up(input) + "."

    run = evaluate(CASES, lambda question: f"{question.upper()}.", [judged], store=None, replay="strict")
    assert verdicts(run) == ["error"] * 2
    assert all("look_up: not recorded" in result.scores[0].reason for result in run.results)
