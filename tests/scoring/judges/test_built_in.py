"""The built-in judges: what each asks, and what its replies are worth."""

import asyncio
from dataclasses import replace

import pytest

from evalmark import Case, Example, Factuality, Output, Turn
from evalmark.core.values.call import Reply
from evalmark.errors import ConfigError
from evalmark.judges import ClosedQA, Criteria, Faithfulness, Pairwise
from evalmark.scoring.binding.bound_scorer import as_scorer
from evalmark.scoring.binding.registry import resolve_scorer
from evalmark.testing.chat import ScriptedModel

from .asking import BUILT_IN, CASE, OUTPUT, ask


def test_each_can_be_named_in_a_suite():
    assert resolve_scorer("factuality") == Factuality()
    assert resolve_scorer("criteria", {"criteria": "Short.", "repeat": 3}) == Criteria(criteria="Short.", repeat=3)
    assert resolve_scorer("closed-qa", {"criteria": "Short."}) == ClosedQA(criteria="Short.")
    assert resolve_scorer("faithfulness", {"settings": {"temperature": 0}}) == Faithfulness(settings={"temperature": 0})
    assert resolve_scorer("pairwise", {"against": "old"}) == Pairwise(against="old")


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        pytest.param("criteria", {}, "the setting 'criteria' is missing", id="no criteria"),
        pytest.param("closed_qa", {"criteria": " "}, "`criteria` is ' '; describe a good answer", id="blank criteria"),
        pytest.param("criteria", {"criterion": "x"}, "did you mean 'criteria'?", id="a slip in a setting"),
        pytest.param("factuality", {"repeat": 0}, "`repeat` is 0", id="no repeat"),
        pytest.param("pairwise", {"criteria": ""}, "`criteria` is ''", id="nothing to compare by"),
        pytest.param("pairwise", {"against": 7}, "the setting 'against' is 7", id="a field that is a number"),
    ],
)
def test_settings_that_cannot_be_are_refused(name, settings, sentence):
    with pytest.raises(ConfigError) as caught:
        resolve_scorer(name, settings)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(("name", "scorer"), BUILT_IN.items())
def test_each_asks_for_the_judge_of_the_run_or_brings_its_own(name, scorer):
    bound = as_scorer(scorer)
    assert bound.needs_judge
    with pytest.raises(ConfigError, match="needs a judge; name one with --judge"):
        asyncio.run(bound(CASE, OUTPUT))
    own = as_scorer(replace(scorer, judge=ScriptedModel([], name="judge/own")))
    assert not own.needs_judge
    assert own.metric.judge == "judge/own"
    assert own.fingerprint != as_scorer(scorer, judge=ScriptedModel([], name="judge/other")).fingerprint


@pytest.mark.parametrize(("name", "scorer"), BUILT_IN.items())
def test_a_fingerprint_is_the_same_every_time_and_changes_with_the_settings(name, scorer):
    assert scorer.fingerprint == replace(scorer).fingerprint
    if name not in ("scale", "percentage"):
        assert scorer.fingerprint != replace(scorer, settings={"temperature": 0}).fingerprint
    if hasattr(scorer, "criteria"):
        assert scorer.fingerprint != replace(scorer, criteria="Something else.").fingerprint


class TestFactuality:
    @pytest.mark.parametrize(
        ("answer", "worth", "passed"),
        [("A", 0.4, False), ("B", 0.6, False), ("C", 1.0, True), ("D", 0.0, False), ("E", 1.0, True)],
    )
    def test_each_choice_has_its_worth_and_only_1_passes(self, answer, worth, passed):
        model = ScriptedModel([{"reason": "so", "answer": answer}])
        (score,) = asyncio.run(as_scorer(Factuality(), judge=model)(CASE, OUTPUT))
        assert (score.name, score.raw, score.value, score.passed) == ("factuality", answer, worth, passed)
        assert score.detail["meaning"]

    def test_another_threshold_takes_the_place_of_its_own(self):
        model = ScriptedModel([{"reason": "so", "answer": "B"}])
        (score,) = asyncio.run(as_scorer(Factuality(), threshold=0.5, judge=model)(CASE, OUTPUT))
        assert score.passed is True

    def test_the_judge_sees_question_expected_answer_output_and_the_meaning_of_each_choice(self):
        _, model = ask(Factuality(), [{"answer": "C"}])
        said = model.requests[0].messages[1].content
        for part in (
            "The capital of Norway?",
            "\nOslo\n",
            "It is Oslo.",
            "A: The output says part",
            "E: The output and",
        ):
            assert part in said
        assert model.requests[0].schema["properties"]["answer"]["enum"] == ["A", "B", "C", "D", "E"]

    def test_the_first_liked_example_stands_for_an_expected_answer(self):
        case = Case(id="1", input="?", examples=(Example(value="bad", liked=False), Example(value="Oslo!")))
        _, model = ask(Factuality(), [{"answer": "C"}], case)
        assert "\nOslo!\n" in model.requests[0].messages[1].content

    def test_without_an_expected_answer_nobody_is_asked(self):
        score, model = ask(Factuality(), [], Case(id="1", input="?"))
        assert (score.status, score.reason, model.requests) == ("unscored", "the case has no expected answer", [])

    def test_everything_at_once_is_read_by_its_own_name(self):
        said = {"answer": "C", "score": 0.8, "pass": True, "verdict": "yes", "value": 1, "reason": "ok GRADE: C"}
        assert ask(Factuality(), [said])[0].value == 1.0


class TestCriteria:
    @pytest.mark.parametrize(("answer", "worth"), [("A", 1.0), ("B", 0.75), ("C", 0.5), ("D", 0.25), ("E", 0.0)])
    def test_each_grade_has_its_worth(self, answer, worth):
        score, _ = ask(Criteria(criteria="Short."), [{"reason": "so", "answer": answer}])
        assert (score.raw, score.value, score.passed) == (answer, worth, None)

    def test_the_judge_sees_the_criteria_as_they_are(self):
        _, model = ask(Criteria(criteria="Says {{output}} and {0}."), [{"answer": "A"}])
        assert "Criteria: Says {{output}} and {0}." in model.requests[0].messages[1].content

    def test_the_conversation_is_shown_when_asked_for(self):
        case = Case(id="1", input="?", history=(Turn(role="user", content="Earlier"),))
        shown = [
            ask(Criteria(criteria="Short.", history=wanted), [{"answer": "A"}], case)[1].requests[0].messages[1].content
            for wanted in (True, False)
        ]
        assert ["Earlier" in said for said in shown] == [True, False]


def test_closed_qa_passes_or_fails_by_itself():
    for said in (True, False):
        score, model = ask(ClosedQA(criteria="It names a city."), [{"reason": "so", "pass": said}])
        assert (score.raw, score.value, score.passed) == (said, float(said), said)
    assert "Criterion: It names a city." in model.requests[0].messages[1].content


def claim(supported, context, text="c", reason="r"):
    return {"claim": text, "reason": reason, "context": context, "supported": supported}


class TestFaithfulness:
    def test_the_value_is_the_share_of_supported_claims(self):
        said = {"claims": [claim(True, 1), claim(False, 0, "Oslo is old"), claim(True, 2), claim(False, 2)]}
        score, model = ask(Faithfulness(), [said])
        assert (score.raw, score.value, score.passed) == (0.5, 0.5, None)
        assert score.reason == "2 of 4 claims supported; not 'Oslo is old' and 1 more"
        assert score.detail["claims"][1] == {"claim": "Oslo is old", "supported": False, "context": 0, "reason": "r"}
        asked = model.requests[0].messages[1].content
        assert 'name="context 1">\nOslo is the capital.\n' in asked
        assert 'name="context 2">\nBergen is not.\n' in asked

    def test_the_contexts_of_the_target_come_before_those_of_the_row(self):
        output = Output(value="It is Oslo.", contexts=("Found it.",))
        _, model = ask(Faithfulness(), [{"claims": [claim(True, 1)]}], output=output)
        assert "Found it." in model.requests[0].messages[1].content
        assert "Bergen" not in model.requests[0].messages[1].content

    @pytest.mark.parametrize(
        ("case", "output", "why"),
        [
            pytest.param(Case(id="1"), OUTPUT, "there are no contexts", id="nobody says anything of contexts"),
            pytest.param(Case(id="1", contexts=()), OUTPUT, "there are no contexts", id="none were found"),
            pytest.param(CASE, Output(value=" "), "the answer is empty", id="a blank answer"),
            pytest.param(CASE, Output(value=None), "the answer is empty", id="no answer"),
        ],
    )
    def test_where_there_is_nothing_to_judge_nobody_is_asked(self, case, output, why):
        score, model = ask(Faithfulness(), [], case, output)
        assert (score.status, score.reason, model.requests) == ("unscored", why, [])

    def test_an_answer_without_claims_is_unscored(self):
        score, model = ask(Faithfulness(), [{"claims": []}])
        assert (score.status, score.reason) == ("unscored", "the judge found no claim in the answer")
        assert (score.detail["unscored"], len(model.requests)) == ("judge_abstained", 1)

    @pytest.mark.parametrize(
        ("said", "kind", "wrong"),
        [
            pytest.param({}, "judge_parse", "the JSON object has no `claims`", id="no claims"),
            pytest.param({"claims": None}, "judge_parse", "`claims` is null, not a list", id="null"),
            pytest.param({"claims": {"a": 1}}, "judge_parse", "`claims` is an object, not a list", id="an object"),
            pytest.param({"claims": ["c"]}, "judge_parse", "claim 1 is the text 'c', not an object", id="a text"),
            pytest.param({"claims": [claim(True, 1), {}]}, "judge_parse", "claim 2 has no text", id="an empty one"),
            pytest.param({"claims": [claim(True, 1, " ")]}, "judge_parse", "claim 1 has no text", id="a blank one"),
            pytest.param(
                {"claims": [claim("yes", 1)]}, "judge_parse", "is the text 'yes', not true or false", id="yes"
            ),
            pytest.param({"claims": [claim(1, 1)]}, "judge_parse", "is 1, not true or false", id="one"),
            pytest.param(
                {"claims": [claim(True, "1")]}, "judge_parse", "not the number of a passage", id="a text for 1"
            ),
            pytest.param(
                {"claims": [claim(True, True)]}, "judge_parse", "not the number of a passage", id="true for 1"
            ),
            pytest.param({"claims": [claim(True, 1.0)]}, "judge_parse", "not the number of a passage", id="1.0"),
            pytest.param(
                {"claims": [claim(True, 3)]}, "judge_inconsistent", "names passage 3, and there are 2", id="one too far"
            ),
            pytest.param({"claims": [claim(False, -1)]}, "judge_inconsistent", "names passage -1", id="below none"),
            pytest.param(
                {"claims": [claim(True, 0)]}, "judge_inconsistent", "is supported, and by no passage", id="by nothing"
            ),
            pytest.param("I cannot judge this.", "judge_refused", "it refuses to judge", id="refused"),
        ],
    )
    def test_what_cannot_be_used_is_asked_for_again_and_then_unscored(self, said, kind, wrong):
        score, model = ask(Faithfulness(), [said, said])
        assert (score.status, score.detail["unscored"], len(model.requests)) == ("unscored", kind, 2)
        assert wrong in score.reason
        assert wrong in model.requests[1].messages[3].content
        repaired, _ = ask(Faithfulness(), [said, {"claims": [claim(True, 2)]}])
        assert (repaired.value, repaired.detail["repaired"]) == (1.0, True)

    def test_repeats_give_the_mean_and_say_whether_they_differ(self):
        said = [{"claims": [claim(True, 1)]}, {"claims": [claim(True, 1), claim(False, 0)]}]
        score, _ = ask(Faithfulness(repeat=2), said)
        assert (score.value, score.detail["verdicts"], score.detail["flipped"]) == (0.75, [1.0, 0.5], True)
        assert score.reason == "asked 2 times; the first time 1 of 1 claim supported"


def picks(*answers):
    return [{"reason": f"r{n}", "answer": answer} for n, answer in enumerate(answers, 1)]


class TestPairwise:
    @pytest.mark.parametrize(
        ("answers", "value", "consistent"),
        [
            pytest.param(["FIRST", "SECOND"], 1.0, True, id="better in both orders"),
            pytest.param(["SECOND", "FIRST"], 0.0, True, id="worse in both orders"),
            pytest.param(["TIE", "TIE"], 0.5, True, id="a tie in both orders"),
            pytest.param(["FIRST", "FIRST"], 0.5, False, id="whichever stands first"),
            pytest.param(["SECOND", "SECOND"], 0.5, False, id="whichever stands second"),
            pytest.param(["FIRST", "TIE"], 0.75, False, id="better or as good"),
        ],
    )
    def test_the_value_is_the_mean_of_both_orders(self, answers, value, consistent):
        score, _ = ask(Pairwise(), picks(*answers))
        assert (score.raw, score.value, score.passed) == (value, value, None)
        assert (score.detail["verdict"], score.detail["order_consistent"]) == (answers, consistent)
        assert score.reason.startswith(
            "r1" if consistent else "the order decided: in the first position the answer is "
        )

    def test_the_answers_change_places(self):
        _, model = ask(Pairwise(criteria="Shorter is better."), picks("TIE", "TIE"))
        bodies = [request.messages[1].content for request in model.requests]
        for body, order in zip(bodies, (["It is Oslo.", "\nOslo\n"], ["\nOslo\n", "It is Oslo."]), strict=True):
            assert 'name="first answer">' in body
            assert "Shorter is better." in body
            assert sorted(order, key=body.index) == order

    def test_the_other_answer_can_stand_in_a_field_of_the_row(self):
        case = Case(id="1", input="?", metadata={"old": {"text": "Bergen"}})
        _, model = ask(Pairwise(against="old"), picks("TIE", "TIE"), case)
        assert '{"text": "Bergen"}' in model.requests[0].messages[1].content
        score, _ = ask(Pairwise(against="older"), [], case)
        assert (score.status, score.reason) == ("unscored", "the row's metadata has no 'older'")
        score, _ = ask(Pairwise(), [], case)
        assert (score.status, score.reason) == ("unscored", "the case has no expected answer")

    def test_one_order_without_a_verdict_leaves_the_score_open(self):
        score, model = ask(Pairwise(), [*picks("FIRST"), "x", "y"])
        assert (score.status, score.detail["unscored"], len(model.requests)) == ("unscored", "judge_parse", 3)

    def test_repeats_ask_both_orders_again(self):
        score, _ = ask(Pairwise(repeat=2), picks("FIRST", "SECOND", "TIE", "SECOND"))
        assert (score.value, score.detail["flipped"], score.detail["order_consistent"]) == (0.875, True, False)
        assert len(set(score.detail["calls"])) == 4


def test_a_judge_may_be_any_object_that_is_asked_like_one():
    """The scorers ask the protocol: no more than a name, an identity and a call."""

    class Own:
        name = identity = "own"

        async def __call__(self, request):
            return Reply(data={"reason": "so", "answer": "C"})

    score = asyncio.run(Factuality()(CASE, OUTPUT, Own()))
    assert (score.raw, score.detail["judge"], score.detail["calls"]) == ("C", "own", [])
