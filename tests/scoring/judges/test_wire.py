"""Every built-in judge asks in a form that each provider takes, down to the plainest, and its reply is read."""

from pathlib import Path

import pytest

from evalmark import evaluate
from evalmark.judges import Rubric
from evalmark.testing.scripted import ScriptedServer

from .asking import BEST, BUILT_IN, CASE, FIVE, metric

WEIGHTED = Rubric(metric=metric(FIVE, weighted=True))


def answer(said):
    """What a judge says to a question, going by the form it is asked for."""
    if '"claims"' in said.text:
        return BEST["faithfulness"]
    if '"pass"' in said.text:
        return BEST["closed_qa"]
    if '"answer"' in said.text:
        return {"reason": "mine", "answer": "TIE" if "FIRST" in said.text else "C"}
    return {"reason": "mine", "score": 4}


@pytest.fixture
def ask(world: Path, monkeypatch: pytest.MonkeyPatch):
    def asked(provider, unsupported, scorers):
        with ScriptedServer(answer, unsupported=unsupported) as server:
            addresses = {
                "OPENAI_BASE_URL": f"{server.url}/v1",
                "ANTHROPIC_BASE_URL": server.url,
                "GOOGLE_GEMINI_BASE_URL": server.url,
            }
            for name, value in addresses.items():
                monkeypatch.setenv(name, value)
            for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
                monkeypatch.setenv(name, "none")
            run = evaluate([CASE], lambda question: "It is Oslo.", scorers, judge=f"{provider}/any-name", store=None)
            (result,) = run.results
            return result.scores, server.problems

    return asked


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
@pytest.mark.parametrize(
    ("unsupported", "form"),
    [
        pytest.param([], "schema", id="native schemas"),
        pytest.param(["response_format"], "tool", id="tools alone"),
        pytest.param(["response_format", "tools"], "text", id="text alone"),
    ],
)
def test_every_built_in_judge_is_heard_through_every_provider(ask, provider, unsupported, form):
    scorers = [scorer for name, scorer in BUILT_IN.items() if name != "percentage"]
    scores, problems = ask(provider, unsupported, scorers)
    assert [(score.status, score.detail["form"], score.detail["repaired"]) for score in scores] == [
        ("scored", form, False)
    ] * len(scorers)
    assert [score.raw for score in scores] == ["C", "C", True, 1.0, 0.5, 4]
    assert unsupported or problems == []


@pytest.mark.parametrize(
    ("provider", "unsupported", "weighting"),
    [
        pytest.param("openai", [], "logprobs", id="OpenAI gives probabilities"),
        pytest.param("gemini", [], "logprobs", id="Gemini gives probabilities"),
        pytest.param("anthropic", [], "plain: the endpoint gave no probabilities", id="Anthropic gives none"),
        pytest.param(
            "openai", ["logprobs"], "plain: the endpoint does not support log probabilities", id="a model without them"
        ),
    ],
)
def test_a_scale_is_weighted_where_there_are_probabilities_and_marked_where_not(ask, provider, unsupported, weighting):
    (score,), _ = ask(provider, unsupported, [WEIGHTED])
    assert (score.value, score.detail["weighting"]) == (0.75, weighting)
