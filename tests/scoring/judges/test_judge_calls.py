"""A judge is asked once, once more where its reply cannot be used, and never a third time."""

from dataclasses import replace

import pytest

from evalmark import Case, Output, Turn
from evalmark.core.values.call import Reply
from evalmark.errors import ConfigError, ModelCallError, NotRecordedError, RunStoppedError
from evalmark.judges import Rubric
from evalmark.scoring.judges.measure import Measure, Option
from evalmark.testing.chat import ScriptedModel

from .asking import BUILT_IN, CASE, FIVE, OUTPUT, ask, metric

GOOD = {"reason": "kind", "score": 4}
SCALE = Rubric(metric=metric(FIVE))


def test_raw_value_and_reason_are_kept():
    score, model = ask(SCALE, [GOOD])
    assert (score.raw, score.value, score.passed, score.reason) == (4, 0.75, None, "kind")
    assert score.detail == {
        "verdict": 4,
        "judge": "scripted/model",
        "calls": [model.requests[0].key(model.identity)],
        "form": "schema",
        "repaired": False,
    }


@pytest.mark.parametrize(
    ("measure", "said", "raw", "value", "passed"),
    [
        pytest.param(FIVE, {"score": 1}, 1, 0.0, None, id="the least of a scale"),
        pytest.param(FIVE, {"score": 5}, 5, 1.0, None, id="the greatest of a scale"),
        pytest.param(Measure(kind="scale", low=-2, high=2), {"score": -1}, -1, 0.25, None, id="a scale below zero"),
        pytest.param(Measure(kind="percentage"), {"score": 85}, 85.0, 0.85, None, id="a percentage"),
        pytest.param(Measure(kind="boolean"), {"pass": True}, True, 1.0, True, id="true passes"),
        pytest.param(Measure(kind="boolean"), {"pass": False}, False, 0.0, False, id="false fails"),
        pytest.param(
            Measure(kind="choice", options={"some": Option(0.3), "none": Option(0.0)}),
            {"answer": "some"},
            "some",
            0.3,
            None,
            id="a choice",
        ),
    ],
)
def test_every_type_of_score_has_a_value_from_0_to_1(measure, said, raw, value, passed):
    score, _ = ask(Rubric(metric=metric(measure)), [said])
    assert (score.raw, score.value, score.passed) == (raw, value, passed)
    assert type(score.raw) is type(raw)
    assert score.reason == "the judge gave no reason"


@pytest.mark.parametrize(
    ("bad", "wrong"),
    [
        pytest.param({"reason": "a", "score": 9}, "`score` is 9, not a whole number from 1 to 5", id="out of range"),
        pytest.param("four", "there is no JSON object in it", id="no object"),
        pytest.param("I'm sorry, I can't.", "it refuses to judge", id="refused"),
        pytest.param(Reply(status="filtered"), "it refuses to judge", id="filtered"),
        pytest.param(Reply(status="empty"), "it is empty", id="empty"),
        pytest.param(
            Reply(text='{"reason": "lo', status="truncated"),
            "it was cut off by the length limit; give a shorter reason",
            id="cut off",
        ),
        pytest.param({"score": 1, "pass": True}, "`score` and `pass` contradict each other", id="a contradiction"),
    ],
)
def test_a_reply_that_cannot_be_used_is_answered_with_what_was_wrong(bad, wrong):
    score, model = ask(SCALE, [bad, GOOD])
    assert (score.raw, score.detail["repaired"], len(score.detail["calls"])) == (4, True, 2)
    first, second = model.requests
    assert second.messages[:2] == first.messages
    assert [turn.role for turn in second.messages[2:]] == ["assistant", "user"]
    assert second.messages[2].content
    assert second.messages[3].content.startswith(f"Your reply cannot be used: {wrong}. ")
    assert "a whole number from 1 to 5" in second.messages[3].content
    assert second.schema == first.schema


@pytest.mark.parametrize(
    ("first", "second", "kind", "said"),
    [
        pytest.param("x", {"score": 0}, "judge_range", '{"score": 0}', id="out of range"),
        pytest.param({"score": 9}, "no idea", "judge_parse", "no idea", id="no object"),
        pytest.param("x", "I cannot do that.", "judge_refused", "I cannot do that.", id="refused"),
        pytest.param("x", Reply(text="{", status="truncated"), "judge_truncated", "{", id="cut off"),
        pytest.param("x", Reply(data={"score": 9}, form="tool"), "judge_range", '{"score":9}', id="by a tool call"),
        pytest.param("x", "y" * 9_000, "judge_parse", "y" * 4_096, id="a long one is kept in part"),
        pytest.param(
            "x", {"score": 5, "pass": False}, "judge_inconsistent", '{"score": 5, "pass": false}', id="a contradiction"
        ),
    ],
)
def test_after_two_such_replies_there_is_no_score_and_the_words_are_kept(first, second, kind, said):
    score, model = ask(SCALE, [first, second])
    assert len(model.requests) == 2
    assert (score.status, score.raw, score.value, score.passed) == ("unscored", None, None, None)
    assert score.detail["unscored"] == kind
    assert score.detail["said"] == said
    assert score.detail["repaired"] is True
    assert len(score.detail["calls"]) == 2
    assert score.reason.startswith("the judge gave no usable verdict, also on the second attempt: ")


@pytest.mark.parametrize("scorer", [pytest.param(scorer, id=name) for name, scorer in BUILT_IN.items()])
@pytest.mark.parametrize(
    "error",
    [
        NotRecordedError("there is no recording"),
        RunStoppedError("the budget is reached"),
        ModelCallError("no connection", fault="transient"),
        ModelCallError("no such model", fault="closed"),
    ],
)
@pytest.mark.parametrize("before", [[], ["no object"]])
def test_what_a_judge_raises_goes_to_the_caller(scorer, error, before):
    model = ScriptedModel([*before, error])
    with pytest.raises(type(error), match=str(error)):
        ask(scorer, model)
    assert len(model.requests) == len(before) + 1


def test_the_judge_sees_the_whole_metric():
    scorer = Rubric(metric=metric(FIVE, needs_history=True, needs_example_output=True))
    case = Case(id="row-17", input="Hello?", expected="Good day!", history=(Turn(role="user", content="Earlier"),))
    _, model = ask(scorer, [GOOD], case, Output(value="Hi there"))
    said = model.requests[0].messages[1].content
    order = ["tone", "Is it friendly?", "Earlier", "Hello?", "Good day!", "Hi there", "from 1 to 5", "5 is friendliest"]
    assert sorted(order, key=said.index) == order
    assert "row-17" not in said


def test_what_is_not_asked_for_is_not_shown():
    case = Case(id="1", input="Hello?", expected="Good day!", history=(Turn(role="user", content="Earlier"),))
    _, model = ask(SCALE, [GOOD], case)
    said = model.requests[0].messages[1].content
    assert "Good day!" not in said
    assert "Earlier" not in said


def test_the_reason_stands_before_the_verdict_in_the_schema_and_in_the_words():
    for name, scorer in BUILT_IN.items():
        _, model = ask(scorer, ["no object", "no object"])
        schema = model.requests[0].schema
        row = schema["properties"]["claims"]["items"] if name == "faithfulness" else schema
        keys = list(row["properties"])
        assert keys.index("reason") < len(keys) - 1
        assert keys[-1] in ("score", "pass", "answer", "supported")
        assert row["required"] == keys
        assert row["additionalProperties"] is False
        form = model.requests[0].messages[1].content.rsplit("Reply with one JSON object", 1)[1]
        assert form.index('"reason"') < form.index(f'"{keys[-1]}"')


def test_settings_go_along_with_every_question():
    scorer = Rubric(metric=metric(FIVE, settings={"temperature": 0, "seed": 7}))
    _, model = ask(scorer, ["x", GOOD])
    assert [request.settings for request in model.requests] == [{"temperature": 0, "seed": 7}] * 2


def test_all_questions_of_a_metric_hold_one_schema():
    choice = Measure(kind="choice", options={"A": Option(1.0), "B": Option(0.0)})
    for measure in (FIVE, choice):
        asked = [ask(Rubric(metric=metric(measure)), ["x", "x"])[1].requests[0] for _ in range(3)]
        assert len({id(request.schema) for request in asked}) == 1
    assert FIVE.schema() != choice.schema() != replace(choice, options={"A": Option(1.0), "C": Option(0.0)}).schema()


def test_the_same_output_is_the_same_question_and_another_is_another():
    _, model = ask(SCALE, [GOOD])
    _, again = ask(SCALE, [GOOD])
    _, other = ask(SCALE, [GOOD], output=Output(value="It is Bergen."))
    assert model.requests[0].hash == again.requests[0].hash != other.requests[0].hash


def test_a_case_without_the_expected_answer_that_is_needed_is_unscored_and_nobody_is_asked():
    scorer = Rubric(metric=metric(FIVE, needs_example_output=True))
    score, model = ask(scorer, [], Case(id="1", input="?"))
    assert (score.status, score.reason) == ("unscored", "the case has no expected answer")
    assert model.requests == []


def test_a_text_that_was_cut_is_told_in_the_detail():
    score, _ = ask(SCALE, [GOOD], output=Output(value="x" * 150_000))
    assert score.detail["cut"] == {"output": [100_000, 150_000]}


def test_a_choice_that_cannot_tell_is_unscored_with_its_reason():
    measure = Measure(kind="choice", options={"yes": Option(1.0), "no": Option(0.0), "unclear": Option(None)})
    score, model = ask(Rubric(metric=metric(measure)), [{"reason": "too short to say", "answer": "unclear"}])
    assert (score.status, score.reason, score.detail["unscored"]) == ("unscored", "too short to say", "judge_abstained")
    assert len(model.requests) == 1


def test_a_boolean_can_be_asked_for_in_free_text():
    measure = Measure(kind="boolean", description="OK where it is friendly", words=("OK", "ERR"))
    score, model = ask(Rubric(metric=metric(measure)), ["Not sure", "It is rude.\nERR"])
    assert (score.raw, score.passed, score.reason) == (False, False, "It is rude.")
    assert model.requests[0].schema is None
    assert "OK or ERR" in model.requests[1].messages[3].content


class TestRepeats:
    def test_agreeing_verdicts_are_one(self):
        score, model = ask(Rubric(metric=metric(FIVE, repeat=3)), [GOOD] * 3)
        assert (score.raw, score.value, score.reason) == (4, 0.75, "kind")
        assert score.detail["verdicts"] == [4, 4, 4]
        assert score.detail["flipped"] is False
        assert len({request.hash for request in model.requests}) == 1
        assert len(set(score.detail["calls"])) == 3

    def test_verdicts_that_differ_are_flipped_and_the_value_is_their_mean(self):
        said = [{"reason": "a", "score": 4}, {"reason": "b", "score": 2}, {"reason": "c", "score": 4}]
        score, _ = ask(Rubric(metric=metric(FIVE), repeat=3), said)
        assert score.raw == pytest.approx(10 / 3)
        assert score.value == pytest.approx((0.75 + 0.25 + 0.75) / 3)
        assert (score.detail["verdict"], score.detail["flipped"]) == (4, True)
        assert score.reason == "asked 3 times, the judge said 4, 2, 4; 4 because: a"

    @pytest.mark.parametrize(
        ("said", "raw", "value", "passed"),
        [
            pytest.param([True, True, False], True, 2 / 3, True, id="most say yes"),
            pytest.param([False, True, False], False, 1 / 3, False, id="most say no"),
            pytest.param([True, False], False, 0.5, False, id="as many say yes as no: not passed"),
            pytest.param([True, True], True, 1.0, True, id="all say yes"),
        ],
    )
    def test_the_majority_of_truth_values_decides(self, said, raw, value, passed):
        scorer = Rubric(metric=metric(Measure(kind="boolean")), repeat=len(said))
        score, _ = ask(scorer, [{"reason": "r", "pass": one} for one in said])
        assert (score.raw, score.value, score.passed) == (raw, pytest.approx(value), passed)

    def test_the_usual_choice_is_the_raw_value_and_the_mean_of_worths_the_value(self):
        measure = Measure(kind="choice", options={"A": Option(1.0), "B": Option(0.0)})
        score, _ = ask(Rubric(metric=metric(measure), repeat=3), [{"answer": "A"}, {"answer": "B"}, {"answer": "B"}])
        assert (score.raw, score.value) == ("B", pytest.approx(1 / 3))

    def test_one_reply_without_a_verdict_leaves_the_whole_score_open_and_ends_the_asking(self):
        score, model = ask(Rubric(metric=metric(FIVE), repeat=3), [GOOD, "x", "y"])
        assert (score.status, score.detail["unscored"], len(model.requests)) == ("unscored", "judge_parse", 3)
        assert len(score.detail["calls"]) == 3

    @pytest.mark.parametrize("scorer", [pytest.param(scorer, id=name) for name, scorer in BUILT_IN.items()])
    def test_a_number_of_repeats_is_checked(self, scorer):
        for wrong in (0, -1, 101, True, 2.0, "3"):
            with pytest.raises(ConfigError, match=r"`repeat` is .*; it has to be a whole number from 1 to 100"):
                replace(scorer, repeat=wrong)
        twice = replace(scorer, repeat=2)
        assert twice.fingerprint != scorer.fingerprint
        assert twice.questions == 2 * scorer.questions


def test_the_scripted_model_keeps_what_it_was_asked_and_says_when_it_is_at_its_end():
    score, model = ask(SCALE, ScriptedModel(lambda request: GOOD, name="judge/one"))
    assert score.detail["judge"] == "judge/one"
    assert len(model.requests) == 1
    with pytest.raises(ModelCallError, match="no reply for request 1"):
        ask(SCALE, [], CASE, OUTPUT)
