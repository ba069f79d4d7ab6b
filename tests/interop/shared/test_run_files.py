"""What a run's own files say of its metrics goes out with it: a judge's words, and the texts of the prompt under test."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from evalmark.core.values.run import Metric
from evalmark.errors import ConfigError
from evalmark.interop.github_models.exporter import to_github_models
from evalmark.interop.openai_evals.criteria import NoCriterionError, criteria_of
from evalmark.interop.promptfoo.exporter import to_promptfoo_files
from evalmark.interop.shared.run_files import export_run_of

from .carried import RUN, laid_out

PROMPT = """---
name: mood
inputs: {text: {type: string}}
---
system:
Name the mood.
user:
{{text}}
"""
FILES = {
    "mood.prompty": PROMPT,
    "mood/rules.txt": "The answer is one word.\nThe answer is an English noun.\n",
    "mood/intent.txt": "Names the mood of a text.\n",
    "apt.metric.prompty": "---\nname: apt\n---\nsystem:\nRules of {{prompt}}:\n{{rules}}\nuser:\n{{input}} is {{output}}? Answer OK or ERR.\n",
    "near.metric.prompty": "---\nname: near\ntags: [scorer]\n---\nuser:\nHow near is {{output}} to {{groundtruth}}? Give a score from 0 to 100.\n",
    "long.metric.prompty": "---\nname: long\n---\nuser:\n{% if rules %}{{output}}{% endif %} OK or ERR?\n",
    "kind.yaml": "name: kind\nconfig: {needs_history: false, needs_example_output: false}\nmetric_description: Is it kind?\nscore: {type: boolean, description: yes or no}\n",
    "suite.yaml": "datasets: [rows.jsonl]\nmetrics:\n- contains: {all: [a], name: has a}\n- kind.yaml\n- closed_qa: {criteria: Is short}\n",
    "rows.jsonl": '{"input": "a"}\n',
}
VARIABLES = {"input": "{{item.text}}", "output": "{{sample.output_text}}", "expected": "{{item.expected}}"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return laid_out(tmp_path, FILES)


def checks(run, **more):
    given = export_run_of(run, **more)
    return {check.name: check for check in given.checks}, given


def test_the_metrics_of_a_prompt_go_out_word_by_word(folder):
    names = ("compliance", "rules", "apt", "near", "long")
    metrics = tuple(
        Metric(name=name, judge="openai/judge", threshold=0.5 if name == "near" else None) for name in names
    )
    run = replace(RUN, suite=str(folder / "mood.prompty"), metrics=metrics)
    found, given = checks(run)
    assert given.prompt.name == "mood"
    assert given.remarks == ()
    (apt,) = criteria_of(found["apt"], VARIABLES)
    assert (apt["labels"], apt["passing_labels"]) == (["OK", "ERR"], ["OK"])
    assert [message["role"] for message in apt["input"]] == ["system", "user"]
    assert "The answer is one word." in apt["input"][0]["content"]
    assert "{{text}}" not in apt["input"][0]["content"]
    assert apt["input"][1]["content"] == "{{item.text}} is {{sample.output_text}}? Answer OK or ERR."
    (near,) = criteria_of(found["near"], VARIABLES)
    assert (near["type"], near["range"], near["pass_threshold"]) == ("score_model", [0, 100], 50)
    assert "{{item.expected}}" in near["input"][0]["content"]
    (compliance,) = criteria_of(found["compliance"], VARIABLES)
    assert "- The answer is an English noun." in compliance["input"][1]["content"]
    with pytest.raises(NoCriterionError, match="a template with more than variables"):
        criteria_of(found["long"], VARIABLES)
    with pytest.raises(NoCriterionError, match="has no equivalent among the API's graders"):
        criteria_of(found["rules"], VARIABLES)
    with pytest.raises(NoCriterionError, match=r"shows \{\{expected\}\}, which not every case has"):
        criteria_of(found["near"], {"output": "x"})


def test_no_variable_stands_in_a_system_prompt_of_github(folder):
    run = replace(RUN, suite=str(folder / "mood.prompty"), metrics=(Metric(name="apt", judge="openai/judge"),))
    text = to_github_models(export_run_of(run)).files["moods-of-texts.openai-small.prompt.yml"]
    assert "{{completion}}? Answer OK or ERR." in text
    system = text.partition("systemPrompt:")[2].partition("\n- ")[0]
    assert "{{" not in system


def promptfoo(folder, *metrics, results=RUN.results, **texts):
    """The config of an export and its remarks, with these metrics; `texts` replace files."""
    for name, text in texts.items():
        (folder / f"{name}.metric.prompty").write_text(text)
    run = replace(RUN, suite=str(folder / "mood.prompty"), metrics=metrics, results=results)
    given = to_promptfoo_files(export_run_of(run))
    return yaml.safe_load(given.files["promptfooconfig.yaml"]), given.remarks


def test_a_metric_with_words_of_its_own_is_a_rubric_with_a_prompt_for_promptfoo(folder):
    config, remarks = promptfoo(
        folder, Metric(name="apt", judge="openai/judge"), Metric(name="near", judge="openai/judge", threshold=0.5)
    )
    (apt,) = config["defaultTest"]["assert"]
    assert (apt["type"], apt["provider"], apt["metric"]) == ("llm-rubric", "openai:chat:judge", "apt")
    system, user = json.loads(apt["rubricPrompt"])
    assert system["role"] == "system"
    assert "The answer is an English noun." in system["content"]
    assert "{{" not in system["content"]
    assert user["content"].startswith("text: {{text}}\ntone: {{tone}} is {{output}}? Answer OK or ERR.\n\nReply with ")
    assert 'For OK, "pass" is true and "score" is 1. For ERR, "pass" is false and "score" is 0.' in user["content"]
    near = [test["assert"][0] for test in config["tests"] if "assert" in test]
    expected = [result.trial.case.expected for result in RUN.results if result.trial.case.expected is not None]
    assert {one["threshold"] for one in near} == {0.5}
    assert f"to {expected[0]}? Give a score" in json.loads(near[0]["rubricPrompt"])[0]["content"]
    assert "moved to 0 to 1" in json.loads(near[0]["rubricPrompt"])[0]["content"]
    assert remarks == ()


def test_what_a_test_expects_is_no_template_to_promptfoo(folder):
    (first, *_) = RUN.results
    case = replace(first.trial.case, expected="{{ env.SECRET }} {% x %}")
    config, _ = promptfoo(folder, Metric(name="near"), results=[replace(first, trial=replace(first.trial, case=case))])
    (said,) = json.loads(config["tests"][0]["assert"][0]["rubricPrompt"])
    assert "to {% raw %}{{ env.SECRET }} {% x %}{% endraw %}? Give" in said["content"]


@pytest.mark.parametrize(
    ("words", "judge", "said"),
    [
        pytest.param(
            "---\n---\nuser:\n{% if rules %}{{output}}{% endif %} OK or ERR?\n",
            "openai/judge",
            "x: it has a template with more than variables; only the results have its scores.",
            id="a template",
        ),
        pytest.param(
            "---\ntags: [scorer]\ndirection: lower\n---\nuser:\nScore how dull {{output}} is from 0 to 100.\n",
            "openai/judge",
            "x: it has better scores the lower they are, but a rubric needs better scores to be higher; "
            "only the results have its scores.",
            id="lower is better",
        ),
        pytest.param(
            "---\n---\nuser:\n{{output}} OK or ERR? {# not for {{input}} #}\n",
            "openai/judge",
            "x: it has '{#' in its text, which begins a comment in promptfoo; only the results have its scores.",
            id="a comment",
        ),
        pytest.param(
            "---\n---\nuser:\n{{output}} OK or ERR?\n",
            "mine/judge",
            "x: it is judged by mine/judge in evalmark; promptfoo has no such provider and uses its own grader.",
            id="a judge that promptfoo does not know",
        ),
        pytest.param(
            "---\nrepeat: 3\n---\nuser:\n{{output}} OK or ERR?\n",
            "openai/judge",
            "x: it is asked 3 times in evalmark, and once in promptfoo.",
            id="asked several times",
        ),
        pytest.param(
            "---\ntags: [scorer]\n---\nuser:\nScore how dull {{output}} is from 0 to 100.\n",
            "openai/judge",
            "x: it gives a score that fails no test.",
            id="a score without a threshold",
        ),
    ],
)
def test_what_promptfoo_does_otherwise_is_said(folder, words, judge, said):
    _, remarks = promptfoo(folder, Metric(name="x", judge=judge), x=words)
    assert remarks == (said,)


def test_settings_of_a_metric_go_to_the_grader_of_promptfoo(folder):
    words = "---\nmodel: {parameters: {temperature: 0, max_tokens: 99}}\n---\nuser:\n{{output}} OK or ERR?\n"
    config, _ = promptfoo(folder, Metric(name="x", judge="anthropic/judge"), x=words)
    (one,) = config["defaultTest"]["assert"]
    assert one["provider"] == {"id": "anthropic:messages:judge", "config": {"temperature": 0, "max_tokens": 99}}


def test_a_suite_says_what_its_metrics_are(folder):
    metrics = (
        Metric(name="has a"),
        Metric(name="kind", judge="openai/judge"),
        Metric(name="closed_qa", judge="openai/judge"),
    )
    found, _ = checks(replace(RUN, metrics=metrics), suite=folder / "suite.yaml")
    assert (found["has a"].scorer, found["has a"].settings) == ("contains", {"all": ["a"]})
    assert found["kind"].metric.description == "Is it kind?"
    assert found["closed_qa"].metric.description == "Is short"


def test_without_its_files_a_check_goes_by_its_name(tmp_path):
    run = replace(
        RUN,
        suite=str(tmp_path / "gone.yaml"),
        metrics=(Metric(name="equals"), Metric(name="helpful", judge="openai/judge")),
    )
    found, given = checks(run)
    assert found["equals"].scorer == "equals"
    assert found["helpful"].metric is None
    assert "there is no such file" in given.remarks[0]
    with pytest.raises(ConfigError, match="there is no such file"):
        export_run_of(run, tmp_path / "gone.yaml")


@pytest.mark.parametrize("name", ["mood.prompty", "mood.prompt.md"])
def test_a_prompt_is_known_by_its_name(folder, name):
    (folder / name).write_text(PROMPT)
    found, given = checks(replace(RUN, suite=str(folder / name), metrics=(Metric(name="apt", judge="openai/judge"),)))
    assert given.remarks == ()
    assert found["apt"].messages
