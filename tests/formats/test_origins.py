"""What a run's own files say of its metrics goes out with it: a judge's words, and the texts of the prompt under test."""

from dataclasses import replace
from pathlib import Path

import pytest

from evalmark.errors import ConfigError
from evalmark.exchange import portable_run
from evalmark.formats import to_github_models
from evalmark.openai_evals.criteria import NoCriterionError, criteria_of
from evalmark.values import Metric

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
    given = portable_run(run, **more)
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
    with pytest.raises(NoCriterionError, match="nothing that the API's graders do"):
        criteria_of(found["rules"], VARIABLES)
    with pytest.raises(NoCriterionError, match=r"shows \{\{expected\}\}, which not every case has"):
        criteria_of(found["near"], {"output": "x"})


def test_no_variable_stands_in_a_system_prompt_of_github(folder):
    run = replace(RUN, suite=str(folder / "mood.prompty"), metrics=(Metric(name="apt", judge="openai/judge"),))
    text = to_github_models(portable_run(run)).files["moods-of-texts.openai-small.prompt.yml"]
    assert "{{completion}}? Answer OK or ERR." in text
    system = text.partition("systemPrompt:")[2].partition("\n- ")[0]
    assert "{{" not in system


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
        portable_run(run, tmp_path / "gone.yaml")
