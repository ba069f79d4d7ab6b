"""Rules that a machine checks, and how often a judge says otherwise."""

import csv

import pytest

from evalmark import Case, Output, Result, Run, Score, evaluate
from evalmark.core.values.score import Trial
from evalmark.errors import ConfigError
from evalmark.prompts.metrics.disagreement import Disagreement, disagreements
from evalmark.prompts.metrics.metric import with_spec
from evalmark.prompts.metrics.rule_checks import RuleChecks, has_checkable_rules
from evalmark.prompts.specs.spec import ExplicitCheck, PromptSpec, read_spec
from evalmark.prompts.templates.prompt_files import parse_prompt
from evalmark.scoring.binding.registry import resolve_scorer

from .asking import CASE, spec


def scores(rules, text, **fields):
    """The scores of an output by these rules."""
    return RuleChecks(spec=spec(rules=rules, **fields))(CASE, Output(value=text))


def test_each_rule_that_can_be_checked_has_a_score_of_its_own():
    found = scores(
        ("The output must be kind.", "The output must be at most 2 words.", "Use one sentence."), "One two three."
    )
    assert [(score.name, score.passed, score.reason) for score in found] == [
        ("rules.2", False, "at most 2 words: 3 words, at most 2"),
        ("rules.3", True, "exactly 1 sentence: 1 sentence, exactly 1"),
    ]
    assert found[0].detail == {
        "rule": 2,
        "text": "The output must be at most 2 words.",
        "check": "at most 2 words",
        "is_whole": True,
    }
    assert [score.value for score in found] == [0.0, 1.0]


@pytest.mark.parametrize("rules", [(), ("The output must be kind.",)])
def test_without_a_rule_to_check_the_scorer_says_so(rules):
    (score,) = scores(rules, "anything")
    assert (score.name, score.status, score.passed) == ("rules", "skipped", None)
    assert score.reason == "the prompt has no rule that a machine can check"
    assert not has_checkable_rules(spec(rules=rules))


def test_what_cannot_be_told_is_skipped_and_what_is_not_there_is_unscored():
    (score,) = scores(("The output must be in French.",), "Oui.")
    assert (score.status, score.passed, score.reason) == (
        "skipped",
        None,
        "in French: too short to detect its language",
    )
    (score,) = scores(("The output must be in French.",), None)
    assert (score.status, score.name) == ("unscored", "rules.1")


def test_a_stated_check_takes_the_place_of_the_words_of_a_rule():
    rules = ("The tone must be kind.", "The output must be at most 2 words.", "The output must be lowercase.")
    stated = (ExplicitCheck(1, '{"contains": ["please"], "partial": true}'), ExplicitCheck(2, '"none"'))
    found = scores(rules, "Give me one, please", checks=stated)
    assert [(score.name, score.passed, score.detail["is_whole"]) for score in found] == [
        ("rules.1", True, False),
        ("rules.3", False, True),
    ]
    plain, with_checks = RuleChecks(spec=spec(rules=rules)), RuleChecks(spec=spec(rules=rules, checks=stated))
    assert plain.fingerprint != with_checks.fingerprint


def test_data_is_checked_as_its_json_text():
    (score,) = scores(("The output must be a JSON object.",), {"a": 1})
    assert score.passed


def test_the_schema_of_the_prompt_is_what_a_rule_on_a_schema_means(tmp_path):
    text = (
        "name: x\nmessages:\n  - {role: user, content: 'List {{a}}'}\nresponseFormat: json_schema\n"
        'jsonSchema: \'{"name": "x", "schema": {"type": "object", "required": ["city"]}}\'\n'
    )
    tested = PromptSpec(
        prompt=parse_prompt(text, tmp_path / "x.prompt.yml"),
        rules=("The output must be JSON that matches the schema.",),
    )
    good, bad = (RuleChecks(spec=tested)(CASE, Output(value=value))[0] for value in ('{"city": "Oslo"}', '{"town": 1}'))
    assert (good.passed, bad.passed) == (True, False)
    assert "'city' is a required property" in bad.reason


def test_it_needs_a_prompt_under_test():
    scorer = resolve_scorer("rules")
    with pytest.raises(ConfigError, match="rules needs a prompt under test"):
        with_spec(scorer, None)
    with pytest.raises(ConfigError, match="rules needs a prompt under test"):
        scorer(CASE, Output(value="x"))
    assert with_spec(scorer, spec()).fingerprint != with_spec(scorer, spec(rules=())).fingerprint


def test_it_runs_like_any_scorer():
    cases = [Case(id="1", input="fox"), Case(id="2", input="runs")]
    run = evaluate(cases, lambda text: "NN" if text == "fox" else "a verb", [RuleChecks(spec=spec())], store=None)
    assert [score.passed for result in run.results for score in result.scores] == [True, False]


def result(number, judged, **checks):
    """What a judge said of an output, rule by rule, and what the checks say: `r2=False`."""
    said = [{"rule": n, "verdict": word} for n, word in enumerate(judged, 1)]
    passed = None if "unscored" in judged else "err" not in judged
    judge = Score(
        name="compliance", status="unscored" if passed is None else "scored", passed=passed, detail={"rules": said}
    )
    found = [
        Score(
            name=f"rules.{name[1]}",
            status="skipped" if kept is None else "scored",
            passed=kept,
            detail={"rule": int(name[1]), "check": f"check {name[1]}", "is_whole": name[-1] != "p"},
        )
        for name, kept in checks.items()
    ]
    return Result(trial=Trial(case=Case(id=str(number))), output=Output(value="x"), scores=(judge, *found))


def run_of(*results):
    return Run(id="r", name="r", created="2026-01-01T00:00:00Z", results=results)


def test_judge_and_machine_are_compared_as_a_whole_and_rule_by_rule():
    run = run_of(
        result(1, ["ok", "ok"], r1=True, r2p=True),
        result(2, ["ok", "ok"], r1=False, r2p=True),
        result(3, ["err", "ok"], r1=True, r2p=True),
        result(4, ["ok", "err"], r1=True, r2p=False),
        result(5, ["unscored", "ok"], r1=True, r2p=None),
        result(6, ["err", "err"], r1=None, r2p=None),
        result(7, ["ok", "ok"]),
    )
    assert disagreements(run) == (
        Disagreement(judge="compliance", rule=None, agreed=2, missed=1, alone=1, left_out=2),
        Disagreement(judge="compliance", rule=1, check="check 1", agreed=2, missed=1, alone=1, left_out=2),
        Disagreement(judge="compliance", rule=2, check="check 2", agreed=1, left_out=5),
    )
    whole = disagreements(run)[0]
    assert (whole.compared, whole.share) == (4, 0.5)
    assert Disagreement(judge="x", rule=1, left_out=3).share is None


def test_an_output_of_which_a_check_can_tell_nothing_is_left_out_as_a_whole():
    run = run_of(result(1, ["ok"], r1=True, r2=None), result(2, ["ok"], r1=False, r2=None))
    assert disagreements(run)[0] == Disagreement(judge="compliance", rule=None, missed=1, left_out=1)


def test_each_of_several_judges_has_its_own_figures():
    one = result(1, ["ok"], r1=False)
    names = ("compliance [a/x]", "compliance [b/y]", "complianceX")
    judges = tuple(Score(name=name, passed=name.endswith("x]"), detail={}) for name in names)
    run = run_of(Result(trial=one.trial, output=one.output, scores=(*judges, *one.scores[1:])))
    assert [(found.judge, found.rule, found.missed, found.agreed) for found in disagreements(run)] == [
        ("compliance [a/x]", None, 1, 0),
        ("compliance [b/y]", None, 0, 1),
    ]


def test_runs_without_both_have_no_figures():
    assert disagreements(run_of()) == ()
    assert disagreements(run_of(result(1, ["ok"]))) == ()


PUBLISHED = [
    # sample, rules that are checked, outputs, agreed, missed, alone
    ("speech-tag", "speech-tag/speech-tag", [1], 336, (329, 7, 0)),
    ("elements", "openai-examples/elements", [1, 2, 3, 4, 7], 380, (251, 2, 110)),
    ("extract-names", "prompt-guide/extract-names", [1, 2], 292, (198, 82, 12)),
    ("text-to-p", "text-to-p/text-to-p", [1, 3, 4, 5, 6, 7], 312, (195, 110, 7)),
]


@pytest.mark.parametrize(
    ("name", "sample", "rules", "outputs", "figures"), PUBLISHED, ids=[row[0] for row in PUBLISHED]
)
def test_the_published_verdicts_against_the_checks(shared, name, sample, rules, outputs, figures):
    """Of speech tags the judge passed 7 that are no tag, and failed none that is one.

    Of the others, `alone` counts outputs that break rules without a check, too.
    """
    pex = shared / "data" / "promptpex"
    scorer = RuleChecks(spec=read_spec(pex / "samples" / f"{sample}.prompty", pex / "v7" / name))
    assert list(scorer.checks) == rules
    found = []
    with (pex / "v7" / name / "test_results.csv").open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file)):
            case, output = Case(id=str(number)), Output(value=row["output"])
            passed = {"ok": True, "err": False}.get(row["compliance"])
            judge = Score(name="compliance", status="scored" if passed is not None else "unscored", passed=passed)
            found.append(Result(trial=Trial(case=case), output=output, scores=(judge, *scorer(case, output))))
    (whole,) = disagreements(run_of(*found))
    assert len(found) == outputs
    assert (whole.agreed, whole.missed, whole.alone) == figures
