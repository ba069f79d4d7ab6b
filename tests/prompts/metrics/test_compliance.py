"""Compliance: one question for all rules of a prompt, one verdict each, and a reason that names the broken ones."""

import asyncio

import pytest

from evalmark import Case, Output, evaluate
from evalmark.errors import ConfigError
from evalmark.prompts.metrics.compliance import Compliance
from evalmark.prompts.metrics.metric import with_spec
from evalmark.scoring.binding.bound_scorer import as_scorer
from evalmark.scoring.binding.registry import resolve_scorer
from evalmark.testing.chat import ScriptedModel

from .asking import CASE, OUTPUT, RULES, ask, spec, told


def said(*verdicts, reason="So it is."):
    """A reply with these verdicts, in the order of the rules."""
    return {"reason": reason, "verdicts": [{"rule": n, "verdict": word} for n, word in enumerate(verdicts, 1)]}


@pytest.mark.parametrize(
    ("verdicts", "status", "passed", "reason"),
    [
        pytest.param(("OK", "OK"), "scored", True, "follows all 2 rules: So it is.", id="kept"),
        pytest.param(
            ("OK", "ERR"), "scored", False, "breaks rule 2 ('The output must be kind.'): So it is.", id="one is broken"
        ),
        pytest.param(
            ("ERR", "ERR"),
            "scored",
            False,
            "breaks rule 1 ('The output must be one of these labels: NN, VB.'), rule 2 ('The output must be kind.'): So it is.",
            id="both are broken",
        ),
        pytest.param(("ERR", "UNSURE"), "scored", False, "breaks rule 1 (", id="broken, whatever the other one is"),
        pytest.param(
            ("OK", "UNSURE"),
            "unscored",
            None,
            "cannot be judged by rule 2 ('The output must be kind.'): So it is.",
            id="nobody can tell",
        ),
    ],
)
def test_the_verdicts_on_the_rules_make_one_score(verdicts, status, passed, reason):
    score, model = ask(Compliance(spec=spec()), [said(*verdicts)])
    assert (score.name, score.status, score.passed, score.raw) == ("compliance", status, passed, passed)
    assert score.value == (None if passed is None else float(passed))
    assert score.reason.startswith(reason)
    words = {"OK": "ok", "ERR": "err", "UNSURE": "unscored"}
    assert score.detail["rules"] == [
        {"rule": number, "text": RULES[number - 1], "verdict": words[word]} for number, word in enumerate(verdicts, 1)
    ]
    assert score.detail.get("unscored") == ("judge_abstained" if status == "unscored" else None)
    assert len(model.requests) == 1


def test_the_judge_sees_prompt_rules_input_and_output():
    _, model = ask(Compliance(spec=spec()), [said("OK", "OK")], output=Output(value="Hi."))
    for text in (
        "Return one tag.\n\n{{ text }}",
        "1. The output must be one of",
        "2. The output must be kind.",
        "\nfox\n",
        "\nHi.\n",
        "\nA word.\n",
    ):
        assert text in told(model)
    assert "Two tags." not in told(model)  # an inverse rule is no rule
    assert "NN\n</data" not in told(model)  # nor is it shown what is expected
    schema = model.requests[0].schema
    assert list(schema["properties"]) == ["reason", "verdicts"]
    assert schema["properties"]["verdicts"]["items"]["properties"]["verdict"]["enum"] == ["OK", "ERR", "UNSURE"]


def test_without_rules_the_prompt_itself_is_what_counts():
    score, model = ask(Compliance(spec=spec(rules=(), input_spec=())), [said("ERR")])
    assert (score.passed, len(score.detail["rules"])) == (False, 1)
    assert "1. The output keeps to all that the prompt asks of an output." in told(model)
    assert "What may be put into the prompt" not in told(model)
    score, _ = ask(Compliance(spec=spec(rules=())), [said("OK")])
    assert score.reason == "follows its rule: So it is."


def test_a_reply_that_leaves_a_rule_out_is_asked_for_once_more():
    score, model = ask(Compliance(spec=spec()), [said("OK"), said("OK", "OK")])
    assert (score.passed, score.detail["repaired"]) == (True, True)
    assert (
        model.requests[1].messages[-1].content.startswith("Your reply cannot be used: there is no verdict on rule 2.")
    )
    score, _ = ask(Compliance(spec=spec()), [said("OK"), "OK"])
    assert (score.status, score.detail["unscored"], score.detail["said"]) == ("unscored", "judge_parse", "OK")


@pytest.mark.parametrize(
    ("replies", "value", "verdict", "flipped"),
    [
        ([("OK", "OK"), ("OK", "OK"), ("OK", "OK")], 1.0, "ok", False),
        ([("OK", "ERR"), ("OK", "OK"), ("OK", "OK")], 2 / 3, "ok", True),
        ([("OK", "ERR"), ("ERR", "OK"), ("OK", "OK")], 1 / 3, "err", True),
        ([("OK", "ERR"), ("OK", "UNSURE"), ("OK", "OK")], None, "unscored", True),
    ],
)
def test_a_judge_that_is_asked_several_times(replies, value, verdict, flipped):
    score, model = ask(Compliance(spec=spec(), repeat=3), [said(*one) for one in replies])
    assert (score.value, score.detail["verdict"], score.detail["flipped"]) == (value, verdict, flipped)
    assert score.passed is (None if value is None else value > 0.5)
    assert len(model.requests) == 3
    assert score.reason.startswith("asked 3 times, the judge said") is flipped


def test_a_tie_does_not_pass_and_says_why():
    score, _ = ask(Compliance(spec=spec(), repeat=2), [said("OK", "OK"), said("OK", "ERR", reason="Rude.")])
    assert (score.value, score.passed, score.detail["verdict"]) == (0.5, False, "err")
    assert "breaks rule 2" in score.reason


def test_without_an_answer_nobody_is_asked():
    score, model = ask(Compliance(spec=spec()), [], output=Output())
    assert (score.status, len(model.requests)) == ("unscored", 0)


def test_it_needs_a_prompt_under_test():
    scorer = resolve_scorer("compliance")
    with pytest.raises(ConfigError, match="compliance needs a prompt under test"):
        with_spec(scorer, None)
    with pytest.raises(ConfigError, match="compliance needs a prompt under test"):
        asyncio.run(scorer(CASE, OUTPUT, ScriptedModel([])))
    assert as_scorer(with_spec(scorer, spec())).needs_judge


def test_settings_and_repeat_come_from_a_suite():
    scorer = resolve_scorer("compliance", {"repeat": 2, "settings": {"temperature": 0}})
    _, model = ask(with_spec(scorer, spec()), [said("OK", "OK")] * 2)
    assert [dict(request.settings) for request in model.requests] == [{"temperature": 0}] * 2
    with pytest.raises(ConfigError, match="`repeat` is 0"):
        resolve_scorer("compliance", {"repeat": 0})


def test_the_fingerprint_follows_the_rules_and_the_settings():
    found = [
        Compliance(spec=spec()),
        Compliance(spec=spec(rules=("One.",))),
        Compliance(spec=spec(input_spec=())),
        Compliance(spec=spec(), repeat=2),
        Compliance(spec=spec(), settings={"temperature": 0}),
    ]
    assert len({one.fingerprint for one in found}) == len(found)


def test_it_runs_like_any_scorer_with_several_judges():
    judges = [ScriptedModel([said("OK", "OK")], name="a/x"), ScriptedModel([said("OK", "ERR")], name="b/y")]
    cases = [Case(id="1", input="fox")]
    run = evaluate(cases, lambda text: "NN", [Compliance(spec=spec())], judge=judges, store=None)
    (result,) = run.results
    assert [(score.name, score.passed) for score in result.scores] == [
        ("compliance [a/x]", True),
        ("compliance [b/y]", False),
    ]
