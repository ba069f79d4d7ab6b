"""Whatever a coordinator and its workers say to each other can cross from one process to another."""

import inspect
import pickle
from copy import deepcopy

import pytest

from evalmark import Case, Output, Score, ToolCall, Turn
from evalmark.core import errors
from evalmark.core.values.call import Attempt, Reply, Request
from evalmark.core.values.case import Usage
from evalmark.core.values.score import Trial
from evalmark.runs.cluster.messages import (
    Assign,
    AttemptFinished,
    CallRequested,
    FinishWork,
    ReplyDelta,
    SendNow,
    ServiceRequested,
    TicketCancelled,
    TicketResult,
    TrialFinished,
    WorkerDone,
    WorkerOnlyError,
)
from evalmark.runs.engine.work import AnsweredTrial, AnsweredTurn, Conversation

CASE = Case(id="1", input="x", history=(Turn(role="user", content="?"),), metadata={"line": 3}, place="cases.csv:3")
TRIAL = Trial(case=CASE, dataset="cases", position=3, repeat=1, mode="conversation", target="t")
OUTPUT = Output(value="X", seconds=0.5, tool_calls=(ToolCall(name="look", arguments={"at": "moon"}),))
REQUEST = Request(messages=(Turn(role="user", content="?"),), schema={"type": "object"}, settings={"seed": 1})
REPLY = Reply(
    text="yes", usage=Usage(input_tokens=3), headers={"date": "today"}, attempts=(Attempt(seconds=1, error="e"),)
)
MESSAGES = [
    Assign(1, TRIAL),
    Assign(2, AnsweredTrial(trial=TRIAL, output=OUTPUT)),
    Assign(3, Conversation(target="t", turns=(TRIAL, AnsweredTurn(case=CASE, output=OUTPUT)))),
    SendNow(4),
    TicketResult(4, REPLY),
    TicketResult(4, ReplyDelta({"cost": 0.1, "key": "k"})),
    TicketResult(4, None),
    FinishWork(now=True),
    CallRequested(5, "openai/small", "https://localhost", REQUEST),
    AttemptFinished(5, REPLY),
    AttemptFinished(5, WorkerOnlyError("ValueError: no")),
    ServiceRequested(6, "find", ("key",)),
    TicketCancelled(6),
    TrialFinished(1, 0, OUTPUT, (Score(name="exact", value=1.0, raw=1, passed=True),)),
    WorkerDone("the budget is reached", 0.1),
]


def through_a_pipe(message):
    return pickle.loads(pickle.dumps(message))  # noqa: S301  our own


@pytest.mark.parametrize("again", [deepcopy, through_a_pipe])
@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_arrives_as_it_was_sent(message, again):
    arrived = again(message)
    assert repr(arrived) == repr(message)
    assert type(arrived) is type(message)


KINDS = [kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, errors.EvalmarkError)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_error_arrives_as_what_it_is(kind):
    fault = {"fault": "rejected"} if issubclass(kind, errors.ModelCallError) else {}
    arrived = through_a_pipe(kind("no further", **fault))
    assert (type(arrived), str(arrived)) == (kind, "no further")


def test_what_a_call_ended_in_arrives_with_all_that_retries_and_the_journal_need():
    error = errors.ModelCallError(
        "busy", fault="transient", attempts=[Attempt(seconds=0.1, error="busy", status=429, body="{}")], retry_after=7.0
    )
    error.key = "kept-as"
    arrived = through_a_pipe(AttemptFinished(1, error)).value
    assert str(arrived) == "busy"
    assert vars(arrived) == vars(error)
