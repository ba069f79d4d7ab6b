"""Metric files: what Tiamat documents is read as it stands, and every fault is named at once with its place."""

import json
from pathlib import Path

import pytest

from evalmark.errors import ConfigError, DataError
from evalmark.judges import MetricFile, Rubric, read_metric
from evalmark.scoring.judges.measure import Measure, Option
from evalmark.scoring.judges.metric_files import packaged_metric

EXAMPLE = {
    "name": "Example Metric",
    "config": {"needs_history": False, "needs_example_output": True},
    "metric_description": "How correct the output is",
    "score": {
        "type": "scale",
        "description": "1 is completely incorrect, 5 is completely correct",
        "min": 1,
        "max": 5,
    },
}


@pytest.fixture
def write(tmp_path):
    def written(data, name="metric.json"):
        path = tmp_path / name
        path.write_text(data if isinstance(data, str) else json.dumps(data, indent=1), encoding="utf-8")
        return path

    return written


def changed(**parts):
    """The example with parts of it replaced; None takes one out, `score` and `config` are merged."""
    found = json.loads(json.dumps(EXAMPLE))
    for key, value in parts.items():
        found[key] = {**found[key], **value} if key in ("score", "config") and isinstance(value, dict) else value
    return {
        key: {k: v for k, v in value.items() if v is not ...} if isinstance(value, dict) else value
        for key, value in found.items()
        if value is not ...
    }


def test_the_example_of_tiamat_is_read_as_it_stands(write):
    assert read_metric(write(EXAMPLE)) == MetricFile(
        name="Example Metric",
        description="How correct the output is",
        measure=Measure(kind="scale", description="1 is completely incorrect, 5 is completely correct", low=1, high=5),
        needs_example_output=True,
    )


def test_the_same_metric_in_yaml_is_the_same_metric(write):
    text = """
        name: Example Metric
        config: {needs_history: false, needs_example_output: true}
        metric_description: How correct the output is
        score: {type: scale, description: "1 is completely incorrect, 5 is completely correct", min: 1, max: 5}
    """
    assert read_metric(write(text, "metric.yaml")) == read_metric(write(EXAMPLE))


def test_a_full_metric_is_read(write):
    text = """
        $schema: ./metric.schema.json
        name: no
        config: {needs_history: true, needs_example_output: true}
        metric_description: 1:30
        score:
          type: Choice
          description: which
          choices:
            yes: 1
            partly: {worth: 0.5, meaning: about half}
            cannot tell: null
        threshold: 0.5
        direction: lower
        repeat: 3
        judge: openai/NAME
        settings: {temperature: 0, seed: 7}
        template:
          - Judge {{output}} by {{description}} and {{expected}}
          - Before it {{history}}
    """
    metric = read_metric(write(text, "metric.yml"))
    assert (metric.name, metric.description) == ("no", "1:30")
    assert metric.measure.options == {
        "yes": Option(1.0),
        "partly": Option(0.5, "about half"),
        "cannot tell": Option(None),
    }
    assert (metric.threshold, metric.direction, metric.repeat, metric.judge) == (0.5, "lower", 3, "openai/NAME")
    assert metric.settings == {"temperature": 0, "seed": 7}
    assert len(metric.template) == 2
    assert metric.notes == ()
    scorer = Rubric(metric=metric)
    assert (scorer.name, scorer.unit, scorer.direction, scorer.default_threshold) == ("no", "choice", "lower", 0.5)


@pytest.mark.parametrize(
    ("kind", "unit"),
    [
        pytest.param({"type": "scale"}, "1..5", id="a scale"),
        pytest.param({"type": "SCALE"}, "1..5", id="a scale in capitals"),
        pytest.param({"type": "boolean", "min": ..., "max": ...}, "", id="a truth value"),
        pytest.param({"type": "percentage", "min": ..., "max": ...}, "%", id="a percentage"),
    ],
)
def test_each_type_of_score_has_its_unit(write, kind, unit):
    metric = read_metric(write(changed(score=kind)))
    assert metric.measure.unit == unit
    assert metric.notes == ()


def test_truth_values_that_are_texts_are_taken_and_noted(write):
    path = write(changed(config={"needs_history": "false", "needs_example_output": "True"}))
    metric = read_metric(path)
    assert (metric.needs_history, metric.needs_example_output) == (False, True)
    assert metric.notes == (
        f"{path}:4: $.config.needs_history is the text 'false'; it is read as the truth value.",
        f"{path}:5: $.config.needs_example_output is the text 'True'; it is read as the truth value.",
    )


def test_bounds_that_say_nothing_are_noted(write):
    path = write(changed(score={"type": "boolean", "min": 0, "max": ...}))
    assert read_metric(path).notes == (f"{path}:11: `min` has no effect on a boolean.",)


FAULTS = [
    pytest.param(changed(name=...), "$.name is missing; it takes a text.", id="no name"),
    pytest.param(changed(name=" "), '$.name is " "; it takes a text.', id="a blank name"),
    pytest.param(changed(name=7), "$.name is 7; it takes a text.", id="a name that is a number"),
    pytest.param(changed(config=...), "$.config is missing; it takes a mapping.", id="no config"),
    pytest.param(
        changed(config={"needs_history": ...}),
        "$.config.needs_history is missing; it takes true or false.",
        id="no needs_history",
    ),
    pytest.param(
        changed(config={"needs_history": 1}),
        "$.config.needs_history is 1; it takes true or false.",
        id="a number for truth",
    ),
    pytest.param(
        changed(config={"needs_history": "yes"}),
        '$.config.needs_history is "yes"; it takes true or false.',
        id="a word for truth",
    ),
    pytest.param(
        changed(metric_description=...), "$.metric_description is missing; it takes a text.", id="no description"
    ),
    pytest.param(changed(score=...), "$.score is missing; it takes a mapping.", id="no score"),
    pytest.param(changed(score={"type": ...}), "$.score.type is missing; it takes a text.", id="no type"),
    pytest.param(
        changed(score={"type": "scal"}),
        '$.score.type is "scal", which is not a type of score; did you mean `scale`?',
        id="a slip in the type",
    ),
    pytest.param(
        changed(score={"type": "stars"}),
        '$.score.type is "stars", which is not a type of score; there are scale, percentage, boolean, choice.',
        id="an unknown type",
    ),
    pytest.param(changed(score={"min": ...}), "$.score.min is missing; it takes a whole number.", id="no min"),
    pytest.param(
        changed(score={"max": 4.5}), "$.score.max is 4.5; it takes a whole number.", id="a max with a fraction"
    ),
    pytest.param(
        changed(score={"min": "1"}), '$.score.min is "1"; it takes a whole number.', id="a min that is a text"
    ),
    pytest.param(
        changed(score={"min": True}), "$.score.min is true; it takes a whole number.", id="a min that is a truth"
    ),
    pytest.param(
        changed(score={"min": 5}),
        "$.score.min is 5 and `max` is 5; `min` has to be less than `max`.",
        id="a scale of one number",
    ),
    pytest.param(
        changed(score={"min": 5, "max": 1, "type": "scal"}),
        "$.score.min is 5 and `max` is 1; `min` has to be less than `max`.",
        id="a scale turned round, of a type with a slip",
    ),
    pytest.param(
        changed(score={"description": ""}),
        '$.score.description is ""; it takes a text.',
        id="a score that stands for nothing",
    ),
    pytest.param(
        changed(metric_descripton="x"),
        "$.metric_descripton is not a key of a metric; did you mean `metric_description`?",
        id="a slip in a key",
    ),
    pytest.param(
        changed(xyz=1),
        "$.xyz is not a key of a metric; a metric knows name, config, metric_description, score, threshold, direction, "
        "repeat, judge, settings, template.",
        id="an unknown key",
    ),
    pytest.param(
        changed(type="scale"),
        "$.type is not a key of a metric; write it under `score`.",
        id="a key at the wrong place",
    ),
    pytest.param(
        changed(needs_history=True),
        "$.needs_history is not a key of a metric; write it under `config`.",
        id="another one",
    ),
    pytest.param(
        changed(config={"need_history": True}),
        "$.config.need_history is not a key of `config`; did you mean `needs_history`?",
        id="a slip below config",
    ),
    pytest.param(
        changed(threshold=4),
        "$.threshold is 4; it takes a number from 0 to 1, and 4 of 1..5 is 0.75.",
        id="a threshold in the judge's unit",
    ),
    pytest.param(
        changed(threshold="0.5"), '$.threshold is "0.5"; it takes a number from 0 to 1.', id="a threshold as text"
    ),
    pytest.param(changed(threshold=-1), "$.threshold is -1; it takes a number from 0 to 1.", id="a threshold below 0"),
    pytest.param(
        changed(direction="up"),
        '$.direction is "up"; it takes `higher` or `lower`, whichever is better.',
        id="an unknown direction",
    ),
    pytest.param(changed(repeat=0), "$.repeat is 0; it takes a whole number from 1 to 100.", id="no repeat"),
    pytest.param(
        changed(repeat=True),
        "$.repeat is true; it takes a whole number from 1 to 100.",
        id="a repeat that is a truth",
    ),
    pytest.param(changed(judge=["a"]), '$.judge is ["a"]; it takes a text.', id="a list of judges"),
    pytest.param(changed(settings=[1]), "$.settings is [1]; it takes a mapping.", id="settings that are a list"),
    pytest.param(
        changed(settings={"api_key": "sk-123"}),
        "$.settings.api_key would be recorded with every question; move it to an environment variable.",
        id="a secret",
    ),
    pytest.param(
        changed(settings={"messages": []}),
        "$.settings.messages would replace a part of the request; remove it.",
        id="a question among the settings",
    ),
    pytest.param(
        changed(settings={"extra_headers": {"Authorization": "Bearer sk-123"}}),
        "$.settings.extra_headers.Authorization would be recorded with every question; move it to an environment variable.",
        id="a secret within a setting",
    ),
    pytest.param(
        changed(template=7),
        "$.template is 7; it takes a text, or a list of texts.",
        id="a template that is a number",
    ),
    pytest.param(
        changed(template=[]), "$.template is []; it takes a text, or a list of texts.", id="an empty template"
    ),
    pytest.param(
        changed(template="{{output}} {{inptu}}"),
        "$.template has the unknown slot {{inptu}}; did you mean {{input}}?",
        id="a slip in a slot",
    ),
    pytest.param(
        changed(template="{{output}} {{qqq}}"),
        "$.template has the unknown slot {{qqq}}; there are input, output, expected, history, contexts, "
        "name, description, score.",
        id="an unknown slot",
    ),
    pytest.param(
        changed(template="judge {{input}}"),
        "$.template has no slot {{output}}, so nothing would be judged.",
        id="no output",
    ),
    pytest.param(
        changed(template="{{output}} {{history}}"),
        "$.template shows {{history}}, and `config.needs_history` is not true.",
        id="a history that is not asked for",
    ),
    pytest.param(
        changed(template="{{output}} {% if x %}"),
        "$.template holds {{, }} or {% outside a slot; a slot is a name such as {{output}}.",
        id="a template language",
    ),
    pytest.param(changed(score={"type": "choice"}), "$.score.choices is missing; it takes a mapping.", id="no choices"),
    pytest.param(
        changed(score={"type": "choice", "choices": {"A": 1}}),
        "$.score.choices has one choice; name at least two.",
        id="one choice",
    ),
    pytest.param(
        changed(score={"type": "choice", "choices": {"A": 1, "B": 2}}),
        "$.score.choices.B is 2; it takes a number from 0 to 1.",
        id="a worth above 1",
    ),
    pytest.param(
        changed(score={"type": "choice", "choices": {"A": 1, "B": {"meaning": "b"}}}),
        "$.score.choices.B has no `worth`; it takes a number from 0 to 1, or null for `cannot tell`.",
        id="a choice without a worth",
    ),
    pytest.param(
        changed(score={"type": "choice", "choices": {"A": 1, "B": {"worth": True, "weight": 1}}}),
        "$.score.choices.B.worth is true; it takes a number from 0 to 1.",
        id="a worth that is a truth",
    ),
    pytest.param(
        changed(score={"type": "choice", "choices": {"A": 1, "B" * 41: 0}}),
        f"$.score.choices.{'B' * 41} cannot name a choice; use 1 to 40 characters.",
        id="a choice with a long name",
    ),
    pytest.param(
        changed(score={"type": "percentage", "weighted": True}),
        "$.score.weighted is for scales of at most 101 numbers, from 0 or more; leave it out.",
        id="a weighted percentage",
    ),
]


def line_of(path, where):
    """The line of the key at a path, or of what stands nearest above it."""
    lines = path.read_text("utf-8").splitlines()
    at = 0
    for depth, key in enumerate(where.removeprefix("$.").split("."), 1):
        start = " " * depth + f'"{key}":'
        at = next((n for n, line in enumerate(lines) if n >= at and line.startswith(start)), at)
    return at + 1


@pytest.mark.parametrize(("data", "sentence"), FAULTS)
def test_a_fault_is_named_with_its_line_and_its_path(write, data, sentence):
    path = write(data)
    with pytest.raises(ConfigError) as caught:
        read_metric(path)
    told = {line.partition(": ")[2]: line.partition(": ")[0] for line in str(caught.value).splitlines()}
    assert sentence in told
    file, _, line = told[sentence].rpartition(":")
    assert file == str(path)
    assert line_of(path, sentence.split(" ")[0]) == int(line)


def test_all_faults_are_named_at_once_in_the_order_of_their_lines(write):
    path = write(changed(name=3, config={"needs_history": 0}, score={"min": 9}, threshold=2, extra=1))
    with pytest.raises(ConfigError) as caught:
        read_metric(path)
    places = [line.split(" ")[0].removeprefix(f"{path}:") for line in str(caught.value).splitlines()]
    assert places == ["2:", "4:", "11:", "14:", "15:"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("", "is empty", id="nothing"),
        pytest.param("[1]", "this is [1]; a metric is a mapping", id="a list"),
        pytest.param('{"datasets": [], "metrics": []}', "this is a suite", id="a suite"),
        pytest.param('{"name": "d", "config": {}, "data": []}', "this is a dataset", id="a dataset"),
        pytest.param('{"name": "x", "name": "y"}', "occurs a second time", id="a key twice"),
        pytest.param('{"threshold": NaN}', "NaN", id="NaN"),
        pytest.param('{"name": }', "not valid JSON", id="no JSON"),
        pytest.param("[" * 500 + "]" * 500, "nested deeper", id="brackets"),
    ],
)
def test_a_file_that_is_something_else_is_refused_in_a_sentence(write, text, sentence):
    with pytest.raises(DataError, match=r"metric\.json") as caught:
        read_metric(write(text))
    assert sentence in str(caught.value)


def test_metrics_in_prompty_files_have_a_reader_of_their_own(tmp_path):
    with pytest.raises(ConfigError, match=r"is read with `evalmark.prompts.metrics.metric_prompts.read_prompt_metric`"):
        read_metric(tmp_path / "x.metric.prompty")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match="there is no such file"):
        read_metric(tmp_path / "nowhere.json")


def test_the_metrics_of_the_package_are_sound():
    factuality = packaged_metric("factuality")
    assert {name: option.worth for name, option in factuality.measure.options.items()} == {
        "A": 0.4,
        "B": 0.6,
        "C": 1.0,
        "D": 0.0,
        "E": 1.0,
    }
    assert factuality.threshold == 1.0
    assert factuality.needs_example_output
    criteria = packaged_metric("criteria")
    assert [option.worth for option in criteria.measure.options.values()] == [1.0, 0.75, 0.5, 0.25, 0.0]
    assert packaged_metric("closed_qa").measure.kind == "boolean"


def test_a_fingerprint_changes_with_what_a_judge_is_told_and_not_with_notes(write):
    plain = read_metric(write(EXAMPLE))
    noted = read_metric(write(changed(config={"needs_example_output": "true"}), "noted.json"))
    assert plain.fingerprint == noted.fingerprint
    others = [
        changed(metric_description="How wrong the output is"),
        changed(score={"max": 6}),
        changed(score={"description": "5 is best"}),
        changed(score={"weighted": True}),
        changed(config={"needs_history": True}),
        changed(template="{{output}}"),
        changed(settings={"temperature": 0}),
        changed(repeat=2),
        changed(direction="lower"),
    ]
    prints = {read_metric(write(data, f"{n}.json")).fingerprint for n, data in enumerate(others)}
    assert len(prints | {plain.fingerprint}) == len(others) + 1


def test_a_path_that_is_no_prompty_is_taken_by_its_content(tmp_path: Path):
    (tmp_path / "metric").write_text("name: x\nconfig: {}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"\$\.score is missing"):
        read_metric(tmp_path / "metric")


def test_a_metric_file_may_be_named_by_a_text(tmp_path):
    path = tmp_path / "m.json"
    path.write_text(json.dumps(changed()), encoding="utf-8")
    assert read_metric(str(path)) == read_metric(path)
