"""Files of all kinds, read to their end: what they are, and everything that is wrong with them."""

import json
from pathlib import Path

import pytest

from evalmark.cli.commands.file_checks import validate
from evalmark.core.settings import Settings

DATASET = {"name": "d", "config": {"example_outputs": True}, "data": [{"input": "i", "output": "o"}]}
METRIC = {
    "name": "right",
    "config": {"needs_history": False, "needs_example_output": True},
    "metric_description": "Is it right?",
    "score": {"type": "boolean", "description": "true if it is"},
}
SUITE = {"datasets": ["d.json"], "metrics": ["m.json"]}


def renamed(data, /, **names):
    """The data with other names for some of its keys."""
    return {names.get(key, key): value for key, value in data.items()}


def faults(data, name="x.json"):
    """What is wrong with a file beside a good dataset and a good metric."""
    for known, content in {"d.json": DATASET, "m.json": METRIC}.items():
        Path(known).write_text(json.dumps(content), encoding="utf-8")
    Path(name).write_text(json.dumps(data), encoding="utf-8")
    return validate(Path(name), Settings())


@pytest.mark.parametrize("data", [DATASET, METRIC, SUITE, [{"input": "i"}]], ids=["dataset", "metric", "suite", "list"])
@pytest.mark.parametrize("name", ["x.json", "x.yaml"])
def test_a_good_file_of_any_kind_has_no_fault(world, name, data):
    assert faults(data, name) == []


@pytest.mark.parametrize(
    ("data", "said"),
    [
        pytest.param(renamed(METRIC, metric_description="metric_descripton"), "did you mean `metric_description`?", id="a metric"),
        pytest.param({"name": "n", "metric_descripton": "d", "config": {}}, "did you mean `metric_description`?", id="a metric without a score"),
        pytest.param(renamed(METRIC, metric_description="what"), "is not a key of a metric", id="a metric by its score"),
        pytest.param(renamed(SUITE, datasets="dataset"), "did you mean `datasets`?", id="a suite by its metrics"),
        pytest.param(renamed(SUITE, datasets="dataset", metrics="metric"), "did you mean `datasets`?", id="a suite with two typos"),
        pytest.param(renamed(SUITE, datasets="data"), "did you mean `datasets`?", id="a suite that calls them data"),
        pytest.param(renamed(DATASET, data="rows"), "if the rows are those of `rows`, call it `data`.", id="a dataset"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["x.json", "x.yaml"])
def test_one_misspelled_key_does_not_make_another_kind_of_file(world, name, data, said):
    told = "\n".join(faults(data, name))
    assert said in told, told


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("rigth", "the gate has a threshold for 'rigth', which is not a metric of this run; did you mean `right`?", id="a slip"),
        pytest.param("zzz", "the metrics are equals, right.", id="nothing like it"),
    ],
)  # fmt: skip
def test_a_threshold_for_no_metric_is_named_with_its_line_where_metrics_are_files(world, name, said):
    Path("d.json").write_text(json.dumps(DATASET), encoding="utf-8")
    Path("m.json").write_text(json.dumps(METRIC), encoding="utf-8")
    suite = f"datasets: [d.json]\nmetrics: [m.json, equals]\ngate:\n  thresholds:\n    right: 1\n    {name}: 0.5\n"
    Path("suite.yaml").write_text(suite, encoding="utf-8")
    (told,) = validate(Path("suite.yaml"), Settings())
    assert told.startswith("suite.yaml:6: ")
    assert said in told


@pytest.mark.parametrize(
    "row", [{"input": "i", "score": 1}, {"question": "q", "metrics": {"f1": 1}}, {"messages": [{"role": "user", "content": "c"}], "config": {}}]
)  # fmt: skip
def test_a_row_with_keys_of_a_metric_or_a_suite_stays_a_row(world, row):
    assert faults(row) == []


@pytest.mark.parametrize(
    ("data", "said"),
    [
        pytest.param({"data": DATASET["data"]}, 'add "config": {"example_outputs": true} beside `data`', id="without config"),
        pytest.param({"data": [{"input": "i"}]}, "has one; give its rows an `output`, or remove", id="without outputs"),
    ],
)  # fmt: skip
def test_a_metric_that_needs_examples_says_how_to_bring_them(world, data, said):
    Path("own.json").write_text(json.dumps(data), encoding="utf-8")
    (told,) = faults({"datasets": ["own.json"], "metrics": ["m.json"]})
    assert "own.json: the metric 'right' needs example outputs" in told
    assert said in told


PROMPT = "---\nname: reply\ninputs: {mail: {type: string}}\n---\nsystem:\nAnswer.\nuser:\n{{ mail }}\n"


def beside(name, text, tests):
    """What is wrong with a prompt or one of its metrics, its tests beside it."""
    Path("reply").mkdir()
    Path("reply/rules.txt").write_text("The reply is short.\n", encoding="utf-8")
    Path("reply/tests.json").write_text(json.dumps(tests), encoding="utf-8")
    Path(name).write_text(text, encoding="utf-8")
    return validate(Path(name), Settings())


def test_a_check_that_is_none_is_named_by_its_line(world):
    Path("reply").mkdir()
    Path("reply/rules.txt").write_text("The reply is short.\n  check: {wrods: 3}\n", encoding="utf-8")
    Path("reply/tests.json").write_text('[{"testinput": "Hello"}]', encoding="utf-8")
    Path("reply.prompty").write_text(PROMPT, encoding="utf-8")
    (told,) = validate(Path("reply.prompty"), Settings())
    assert told == "reply/rules.txt:2: the check of rule 1: there is no check 'wrods'; did you mean words?"


@pytest.mark.parametrize(
    ("name", "text", "tests", "said"),
    [
        pytest.param("reply.prompty", PROMPT, [{"testinput": "Hello"}], None, id="a sound prompt, though no model is named"),
        pytest.param("reply.prompty", PROMPT, [{"testinput": ""}], "tests.json", id="a test without input"),
        pytest.param("reply.prompty", PROMPT.replace("}}", ""), [{"testinput": "Hello"}], "reply.prompty", id="an unclosed template"),
        pytest.param("kind.metric.prompty", "---\nname: kind\n---\nsystem:\nIs {{ output }} kind?\n", [], None, id="a sound metric"),
        pytest.param("kind.metric.prompty", "---\nname: kind\n---\nsystem:\nIs {{ outptu }} kind?\n", [], "outptu", id="a metric with an unknown variable"),
    ],
)  # fmt: skip
def test_prompts_and_their_metrics_are_validated(world, name, text, tests, said):
    told = "\n".join(beside(name, text, tests))
    assert (said in told) if said else told == "", told
