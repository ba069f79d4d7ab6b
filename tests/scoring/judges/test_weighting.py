"""A score weighted with its probabilities, and all the ways in which it stays the plain number."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark import evaluate
from evalmark.core.values.call import Reply, Token
from evalmark.errors import ModelCallError
from evalmark.judges import Rubric
from evalmark.scoring.judges.weighting import Scale, WeightedScore, weighted_score
from evalmark.testing.chat import ScriptedModel

from .asking import CASE, FIVE, ask, metric

FIVE_NUMBERS, TEN_NUMBERS, PERCENT = Scale(1, 5), Scale(1, 10), Scale(0, 100)
G_EVAL = {"1": 0.01, "2": 0.04, "3": 0.15, "4": 0.50, "5": 0.30}


def token(text, p=1.0, **others):
    return Token(text, math.log(p), tuple((t, math.log(q)) for t, q in others.items()))


def spread(text, probabilities):
    """A token with the probabilities of all texts in its place."""
    others = tuple((t, math.log(p) if p else -9999.0) for t, p in probabilities.items())
    return Token(text, math.log(probabilities[text]), others)


def reply(*tokens, before='{"reason": "kind", "score":', after="}"):
    said = [Token(before, -0.1, ()), *tokens, Token(after, -0.1, ())]
    text = "".join(t.text for t in said)
    return Reply(text=text, tokens=tuple(said), form="schema")


def score_of(found):
    assert isinstance(found, WeightedScore), found
    return pytest.approx(found.score)


def test_the_example_of_the_paper():
    found = weighted_score(reply(token(" "), spread("4", G_EVAL)), "score", 4, FIVE_NUMBERS)
    assert score_of(found) == 4.04
    assert found.mass == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("tokens", "score", "scale", "expected"),
    [
        pytest.param([spread("4", G_EVAL)], 4, FIVE_NUMBERS, 4.04, id="a number without a blank"),
        pytest.param([spread(" 4", {f" {k}": p for k, p in G_EVAL.items()})], 4, FIVE_NUMBERS, 4.04, id="with a blank"),
        pytest.param([spread(" 4", {" 4": 0.5, "4": 0.2, " 5": 0.3})], 4, FIVE_NUMBERS, 4.3, id="with and without"),
        pytest.param([spread("4}", {"4}": 0.5, "5}": 0.5})], 4, FIVE_NUMBERS, 4.5, id="with the brace"),
        pytest.param([spread("4", {"4": 0.9, "no": 0.1})], 4, FIVE_NUMBERS, 4.0, id="another word, left out"),
        pytest.param(
            [spread("4", {"4": 0.9, "7": 0.06, "0": 0.04})], 4, FIVE_NUMBERS, 4.0, id="out of range, left out"
        ),
        pytest.param([Token("4", math.log(0.95))], 4, FIVE_NUMBERS, 4.0, id="only the token that was said"),
        pytest.param([spread("10", {"10": 0.5, "9": 0.3, "1": 0.2})], 10, TEN_NUMBERS, 7.9, id="10 as one token"),
        pytest.param(
            [spread("1", {"1": 0.8, "9": 0.2}), spread("0", {"0": 0.75, "}": 0.25})],
            10,
            TEN_NUMBERS,
            0.6 * 10 + 0.2 * 1 + 0.2 * 9,
            id="10 as two tokens, and the second tells 10 from 1",
        ),
        pytest.param(
            [spread("1", {"1": 0.8, "9": 0.2}), spread("}", {"0": 0.25, "}": 0.75})],
            1,
            TEN_NUMBERS,
            0.2 * 10 + 0.6 * 1 + 0.2 * 9,
            id="1, where 10 was likely too",
        ),
        pytest.param(
            [spread("8", {"8": 0.95, "1": 0.05})], 8, TEN_NUMBERS, 8.0, id="1 or 10, which cannot be told, left out"
        ),
        pytest.param(
            [spread("85", {"85": 0.5, "90": 0.4, "100": 0.1})],
            85,
            PERCENT,
            0.5 * 85 + 0.4 * 90 + 10,
            id="whole numbers",
        ),
    ],
)
def test_numbers_are_gathered_from_their_tokens(tokens, score, scale, expected):
    found = weighted_score(reply(*tokens), "score", score, scale)
    assert score_of(found) == expected
    assert 0.9 <= found.mass <= 1


@pytest.mark.parametrize(
    ("said", "score", "scale", "why"),
    [
        pytest.param(Reply(text='{"score": 4}'), 4, FIVE_NUMBERS, "no probabilities", id="no tokens"),
        pytest.param(
            reply(spread("4", {"4": 0.6, "four": 0.4})),
            4,
            FIVE_NUMBERS,
            "only 0.60 of the probability lies on numbers from 1 to 5",
            id="too little on numbers",
        ),
        pytest.param(
            reply(spread("8", {"8": 0.6, "7": 0.4}), spread("5", {"5": 1.0})),
            85,
            PERCENT,
            "only 0.60",
            id="numbers whose second digit is not known",
        ),
        pytest.param(reply(Token("4", 0.5)), 4, FIVE_NUMBERS, "not log probabilities", id="a log above 0"),
        pytest.param(reply(Token("4", math.nan)), 4, FIVE_NUMBERS, "not log probabilities", id="NaN"),
        pytest.param(
            reply(spread("4", {"4": 0.9, "5": 0.9})), 4, FIVE_NUMBERS, "add up to more than 1", id="more than certain"
        ),
        pytest.param(reply(spread("4", G_EVAL)), 3, FIVE_NUMBERS, "not found among the tokens", id="another number"),
        pytest.param(
            reply(spread("4", G_EVAL), before='{"score": 2} {"score": '),
            4,
            FIVE_NUMBERS,
            "not found among the tokens",
            id="two numbers",
        ),
        pytest.param(
            reply(spread("4", G_EVAL), before="("), 4, FIVE_NUMBERS, "not found", id="tokens of something else"
        ),
        pytest.param(
            reply(Token('{"score": 4', -0.1), before=""), 4, FIVE_NUMBERS, "only 0.00", id="one token for all"
        ),
    ],
)
def test_where_probabilities_do_not_suffice_it_says_why(said, score, scale, why):
    found = weighted_score(said, "score", score, scale)
    assert isinstance(found, str)
    assert why in found


@given(st.lists(st.floats(0.001, 1), min_size=5, max_size=5), st.integers(1, 5))
def test_a_weighted_score_lies_on_the_scale_and_is_the_mean(weights, said):
    total = sum(weights)
    probabilities = {str(n): w / total for n, w in enumerate(weights, 1)}
    found = weighted_score(reply(spread(str(said), probabilities)), "score", said, FIVE_NUMBERS)
    assert score_of(found) == sum(int(n) * p for n, p in probabilities.items())
    assert 1 <= found.score <= 5


G_EVAL_REPLY = reply(token(" "), spread("4", G_EVAL))
WEIGHTED = Rubric(metric=metric(FIVE, weighted=True))


def test_a_metric_can_ask_for_weighted_scores():
    score, model = ask(WEIGHTED, [G_EVAL_REPLY])
    assert model.requests[0].logprobs == 20
    assert score.raw == pytest.approx(4.04)
    assert score.value == pytest.approx(0.76)
    assert (score.detail["verdict"], score.detail["weighting"], score.detail["mass"]) == (4, "logprobs", 1.0)


def test_a_plain_number_in_its_place_is_marked():
    score, _ = ask(WEIGHTED, [{"reason": "kind", "score": 4}])
    assert (score.raw, score.value) == (4, 0.75)
    assert score.detail["weighting"] == "plain: the endpoint gave no probabilities"


def test_an_endpoint_that_rejects_logprobs_is_asked_without_them():
    def answers(request):
        return ModelCallError("logprobs: unknown", fault="rejected") if request.logprobs else {"score": 4}

    score, model = ask(WEIGHTED, ScriptedModel(answers))
    assert [request.logprobs for request in model.requests] == [20, 0]
    assert score.detail["weighting"] == "plain: the endpoint does not support log probabilities"
    assert len(score.detail["calls"]) == 1


def test_it_is_not_asked_for_logprobs_again_when_its_reply_has_to_be_repaired():
    said = iter(["no object", {"score": 2}])

    def answers(request):
        return ModelCallError("logprobs: unknown", fault="rejected") if request.logprobs else next(said)

    score, model = ask(WEIGHTED, ScriptedModel(answers))
    assert [request.logprobs for request in model.requests] == [20, 0, 0]
    assert (score.raw, score.detail["weighting"]) == (2, "plain: the endpoint does not support log probabilities")


def test_a_run_recorded_where_logprobs_are_rejected_is_replayed_strictly(world):
    def answers(request):
        return ModelCallError("logprobs: unknown", fault="rejected") if request.logprobs else {"score": 4}

    def run(replay):
        model = ScriptedModel(answers)
        found = evaluate([CASE], lambda question: "Oslo", [WEIGHTED], judge=model, replay=replay, store=world / "s.db")
        return next(iter(found.results)).scores, len(model.requests)

    recorded, _ = run("auto")
    assert recorded[0].raw == 4
    assert run("strict") == (recorded, 0)


def test_a_rejection_for_another_reason_goes_to_the_caller():
    with pytest.raises(ModelCallError, match="too long"):
        ask(WEIGHTED, ScriptedModel(lambda request: ModelCallError("too long", fault="rejected")))


def test_repeats_are_weighted_all_or_none():
    scorer = Rubric(metric=metric(FIVE, weighted=True), repeat=2)
    score, _ = ask(scorer, [G_EVAL_REPLY, G_EVAL_REPLY])
    assert (score.raw, score.detail["verdicts"]) == (pytest.approx(4.04), [4, 4])
    score, _ = ask(scorer, [G_EVAL_REPLY, {"score": 5}])
    assert (score.raw, score.detail["flipped"]) == (4.5, True)
    assert score.detail["weighting"].startswith("plain: ")
