"""Models by name: opened for one answer, asked over the wire, closed again."""

import asyncio

import pytest

from evalmark import Turn
from evalmark.core.values.call import Reply, Request
from evalmark.errors import ConfigError, RunStoppedError
from evalmark.judges import Criteria
from evalmark.quality import Guard, improve_answer, improve_answer_async
from evalmark.scorers import AnswerHallucination
from evalmark.scoring.binding.bound_scorer import as_scorer
from evalmark.testing.scripted import FinishWith, ModelRefusal, ScriptedServer, Status

QUESTION, POOR, GOOD = "Who built the bridge?", "Ida Holm.", "Ida Holm [1]."
CONTEXTS = ["Ida Holm built the bridge."]


@pytest.fixture
def server(world, monkeypatch):
    """A server that speaks OpenAI, under the name `openai/any`."""
    with ScriptedServer(lambda said: GOOD) as found:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{found.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("EVALMARK_RETRIES", "0")
        yield found
        assert found.problems == []


def test_a_named_model_writes_the_better_answer(server):
    async def inside():
        return await improve_answer_async("openai/any", QUESTION, POOR, CONTEXTS)

    assert improve_answer("openai/any", QUESTION, POOR, CONTEXTS) == GOOD
    assert asyncio.run(inside()) == GOOD
    assert [role for role, _ in server.requests[0].messages] == ["system", "user"]
    assert server.count == 2


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Status(500), id="a broken server"),
        pytest.param(Status(429, {"retry-after": "86400"}), id="one that is busy until tomorrow"),
        pytest.param(ModelRefusal("No."), id="a refusal"),
        pytest.param(FinishWith("length", GOOD), id="an answer that is cut off"),
    ],
)
def test_without_a_reply_to_rely_on_the_old_answer_is_kept(server, answer):
    server.answer = [answer]
    assert improve_answer("openai/any", QUESTION, POOR, CONTEXTS) == POOR
    assert server.count == 1


def test_a_wrong_key_is_told(server):
    server.answer = [Status(401)]
    with pytest.raises(RunStoppedError, match="Check the key in OPENAI_API_KEY") as refused:
        improve_answer("openai/any", QUESTION, POOR, CONTEXTS)
    assert "sk-test" not in str(refused.value)


def test_a_name_that_means_no_model_is_told(server):
    with pytest.raises(ConfigError, match="nowhere"):
        improve_answer("nowhere/any", QUESTION, POOR, CONTEXTS)
    assert server.count == 0


async def agreed(output, judge):
    """Whether the judge says yes."""
    reply: Reply = await judge(Request(messages=(Turn(role="user", content=output),)))
    return reply.text == "yes"


@pytest.mark.parametrize("handed", [True, False], ids=["named to the guard", "named in the environment"])
def test_a_named_judge_is_asked_for_every_answer(server, monkeypatch, handed):
    server.answer = lambda said: "yes"
    if not handed:
        monkeypatch.setenv("EVALMARK_JUDGE", "openai/any")
    guard = Guard([agreed], judge="openai/any" if handed else None)
    assert guard(QUESTION, POOR).passed
    assert guard.wrap(lambda question: POOR, verdicts=True)(QUESTION).passed
    assert server.count == 2


@pytest.mark.parametrize("handed", [True, False], ids=["named to the guard", "named in the environment"])
def test_an_embedding_model_behind_a_server_is_asked(server, monkeypatch, handed):
    server.answer = None
    if not handed:
        monkeypatch.setenv("EVALMARK_EMBEDDINGS", "openai/any-vectors")
    check = as_scorer(AnswerHallucination(), threshold=0.5)
    guard = Guard([check], embeddings="openai/any-vectors" if handed else None)
    assert guard(QUESTION, "Ida Holm built it.", ["Ida Holm built it."]).passed
    assert not guard(QUESTION, "Ida Holm built it.", ["Ferries leave every hour."]).passed
    assert {said.kind for said in server.requests} == {"embeddings"}


@pytest.mark.parametrize("code", [400, 401, 500])
def test_a_judge_that_fails_is_a_check_that_broke(server, code):
    server.answer = [Status(code), Status(code)]
    verdict = Guard([agreed], judge="openai/any")(QUESTION, POOR)
    assert (verdict.passed, verdict.scores[0].status) == (False, "error")
    assert verdict.issues[0].startswith("agreed: the check failed with an error: Model")
    assert Guard([agreed], judge="openai/any", fail_open=True)(QUESTION, POOR).passed


@pytest.mark.parametrize(("grade", "passed"), [("B", True), ("C", False)])
def test_a_built_in_judge_stands_guard(server, grade, passed):
    server.answer = lambda said: {"reason": "It names a person.", "answer": grade}
    judged = as_scorer(Criteria(criteria="The answer names a person."), threshold=0.75)
    verdict = Guard([judged], judge="openai/any")(QUESTION, POOR)
    assert (verdict.passed, verdict.scores[0].status) == (passed, "scored")
    assert "It names a person." in verdict.scores[0].reason
