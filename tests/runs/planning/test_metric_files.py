"""Metric files of both forms as scorers of a plan, with what a suite may say of them."""

from pathlib import Path

import pytest

from evalmark.errors import ConfigError
from evalmark.runs.planning.judges import metric_from_file, metric_named

PROMPTY = "---\njudge: openai/x\nthreshold: 0.5\ntags: [scorer, experimental]\n---\nIs it kind?\nuser:\n{{ output }}\n"
YAML = (
    "name: kind\nconfig: {needs_history: false, needs_example_output: false}\nmetric_description: Is it kind?\n"
    "score: {type: percentage, description: how kind}\njudge: openai/x\nthreshold: 0.5\n"
)


@pytest.fixture(params=["kind.metric.prompty", "kind.yaml"])
def file(request, tmp_path):
    """A metric in each form."""
    path = tmp_path / request.param
    path.write_text(PROMPTY if path.suffix == ".prompty" else YAML)
    return path


def test_both_forms_give_a_scorer_that_asks_a_judge(file):
    found = metric_from_file(file, {}, "suite.yaml:2")
    assert (found.spec.bound(None).name, found.judge, found.spec.file) == ("kind", "openai/x", file)
    assert found.spec.needs_judge
    assert found.spec.bound(None).metric.threshold == 0.5


def test_a_suite_may_give_a_name_a_threshold_and_a_repeat(file):
    found = metric_from_file(file, {"name": "warm", "threshold": 0.9, "repeat": 2}, "suite.yaml:2")
    bound = found.spec.bound(None)
    assert (bound.name, bound.metric.threshold, bound.scorer.questions) == ("warm", 0.9, 2)
    with pytest.raises(ConfigError, match=r"suite.yaml:2: a metric file has no setting 'scale'"):
        metric_from_file(file, {"scale": 5}, "suite.yaml:2")
    with pytest.raises(ConfigError, match="`repeat` is 0"):
        metric_from_file(file, {"repeat": 0}, "suite.yaml:2")


def test_a_command_line_may_name_a_metric_in_a_prompt_file(file):
    assert metric_named(str(file), "--metric", (Path(),)).spec.bound(None).name == "kind"


def test_what_was_only_found_is_skipped_where_it_is_experimental(tmp_path):
    path = tmp_path / "kind.metric.prompty"
    path.write_text(PROMPTY)
    assert metric_from_file(path, {}, "x").spec.scorer.skipped == ""
    assert "tagged experimental" in metric_from_file(path, {}, "x", named=False).spec.scorer.skipped
