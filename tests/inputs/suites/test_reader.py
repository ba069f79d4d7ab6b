"""What a suite file may say, and what it is told when it says something else."""

import json
import os
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from evalmark import Gate
from evalmark.errors import ConfigError
from evalmark.inputs.suites.reader import read_suite
from evalmark.inputs.suites.suite import DatasetSpec, JudgeSpec, MetricSpec, Suite, TargetSpec

FULL = """\
# yaml-language-server: $schema=suite.schema.json
name: support bot
description: what customers ask most
datasets:
  - cases.jsonl
  - {path: more/export.csv, name: export, input: question, encoding: cp1252}
target: my_app.bot:answer
metrics:
  - equals
  - similarity: {positive: 0.9, negative: 0.1, threshold: 0.8}
  - my_app.scorers:polite
  - contains: {name: says hello, any: [hello]}
  - metrics/correct.json
repeat: 3
gate: {min_pass_rate: 0.9, min_score: 0.6, max_unscored: 1, max_errors: 2, thresholds: {similarity: 0.85}, flags: true}
baseline: last-green
judge: openai/NAME
embeddings: all-MiniLM-L6-v2
timeout: 30
"""
SMALL = {"datasets": ["cases.jsonl"], "metrics": ["equals"]}


@pytest.fixture
def folder(world: Path) -> Path:
    for name in ("cases.jsonl", "more/export.csv", "metrics/correct.json"):
        (world / name).parent.mkdir(exist_ok=True)
        (world / name).write_text("{}\n")
    return world


def read(folder: Path, text: str, name: str = "suite.yaml") -> Suite:
    (folder / name).write_text(text, encoding="utf-8")
    return read_suite(Path(name))


def faults(folder: Path, text: str, name: str = "suite.yaml") -> list[str]:
    with pytest.raises(ConfigError) as refused:
        read(folder, text, name)
    return str(refused.value).splitlines()


def test_a_full_suite_is_read_as_it_stands(folder):
    assert read(folder, FULL) == Suite(
        name="support bot",
        path=Path("suite.yaml"),
        datasets=(
            DatasetSpec(path=Path("cases.jsonl"), name="cases", place="suite.yaml:5"),
            DatasetSpec(
                path=Path("more/export.csv"),
                name="export",
                named=True,
                options={"input": "question", "encoding": "cp1252"},
                place="suite.yaml:6",
            ),
        ),
        target="my_app.bot:answer",
        target_place="suite.yaml:7",
        metrics=(
            MetricSpec(name="equals", place="suite.yaml:9"),
            MetricSpec(
                name="similarity", settings={"positive": 0.9, "negative": 0.1}, threshold=0.8, place="suite.yaml:10"
            ),
            MetricSpec(name="my_app.scorers:polite", kind="object", place="suite.yaml:11"),
            MetricSpec(name="contains", settings={"name": "says hello", "any": ["hello"]}, place="suite.yaml:12"),
            MetricSpec(
                name="metrics/correct.json", kind="file", path=Path("metrics/correct.json"), place="suite.yaml:13"
            ),
        ),
        repeat=3,
        gate=Gate(min_pass_rate=0.9, min_score=0.6, max_unscored=1, max_errors=2, thresholds={"similarity": 0.85}),
        gate_flags=True,
        baseline="last-green",
        judges=(JudgeSpec(model="openai/NAME", place="suite.yaml:17"),),
        embeddings="all-MiniLM-L6-v2",
        timeout=30.0,
    )


def test_the_same_suite_as_json_differs_in_its_places_only(folder):
    from_yaml = read(folder, FULL)
    from_json = read(folder, json.dumps(yaml.safe_load(FULL), indent=1), "suite.json")
    assert [m.settings for m in from_json.metrics] == [m.settings for m in from_yaml.metrics]
    assert (from_json.gate, from_json.gate_flags, from_json.target) == (from_yaml.gate, True, from_yaml.target)
    assert from_json.metrics[0].place == "suite.json:15"


def test_what_is_left_out_has_a_default(folder):
    suite = read(folder, "datasets: cases.jsonl\nmetrics: equals\n", "my.suite.yaml")
    assert suite == Suite(
        name="my",
        path=Path("my.suite.yaml"),
        datasets=(DatasetSpec(path=Path("cases.jsonl"), name="cases", place="my.suite.yaml:1"),),
        metrics=(MetricSpec(name="equals", place="my.suite.yaml:2"),),
    )


def test_one_dataset_and_one_metric_need_no_list_with_settings_either(folder):
    alone = read(folder, "datasets: {path: cases.jsonl, input: q}\nmetrics:\n  contains: {any: [a]}\n")
    listed = read(folder, "datasets: [{path: cases.jsonl, input: q}]\nmetrics:\n  - contains: {any: [a]}\n")
    assert (alone.datasets, alone.metrics[0].settings) == (listed.datasets, {"any": ["a"]})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(
            "datasets: {}\nmetrics: equals", "suite.yaml:1: `datasets[0]` has no `path`; it takes", id="no path"
        ),
        pytest.param(
            "datasets: cases.jsonl\nmetrics: {equals: , contains: }",
            'suite.yaml:2: `metrics[0]` is {"equals": null, "contains": null}; it takes a name, or a mapping of one name',
            id="two metrics in one mapping",
        ),
    ],
)
def test_what_stands_without_a_list_is_checked_like_what_stands_in_one(folder, text, told):
    (found,) = faults(folder, text)
    assert found.startswith(told)


def test_a_tiamat_test_is_a_suite(folder):
    test = {"datasets": ["./cases.jsonl"], "metrics": ["./metrics/correct.json"]}
    suite = read(folder, json.dumps(test), "test.json")
    assert [d.path for d in suite.datasets] == [Path("cases.jsonl")]
    assert [(m.kind, m.path) for m in suite.metrics] == [("file", Path("metrics/correct.json"))]


def test_a_tiamat_test_may_name_its_dataset_alone(folder):
    test = {"datasets": "./cases.jsonl", "metrics": ["./metrics/correct.json"]}
    assert read(folder, json.dumps(test), "test.json").datasets[0].path == Path("cases.jsonl")


def test_a_tiamat_test_in_a_folder_finds_its_files_from_the_working_directory(folder):
    (folder / "tests").mkdir()
    test = {"datasets": ["./cases.jsonl"], "metrics": ["./metrics/correct.json"]}
    suite = read(folder, json.dumps(test), "tests/test.json")
    assert (suite.datasets[0].path, suite.metrics[0].path) == (folder / "cases.jsonl", folder / "metrics/correct.json")
    assert len(suite.notes) == 2


def test_a_model_may_be_the_target(folder):
    said = "target: {model: openai/NAME, system: no, settings: {temperature: 0, stop: [x]}}"
    suite = read(folder, f"datasets: cases.jsonl\nmetrics: equals\n{said}\n")
    assert suite.target == TargetSpec(
        models=("openai/NAME",), system="no", settings={"temperature": 0, "stop": ["x"]}, place="suite.yaml:3"
    )
    assert suite.target_place == "suite.yaml:3"
    assert suite.notes == ()


@pytest.mark.parametrize(
    ("said", "judges"),
    [
        pytest.param("a/b", [("a/b", {}, 3)], id="one"),
        pytest.param("[a/b, a/c]", [("a/b", {}, 3), ("a/c", {}, 3)], id="a list"),
        pytest.param("{model: a/b, settings: {seed: 1}}", [("a/b", {"seed": 1}, 3)], id="one with settings"),
        pytest.param("\n  - a/b\n  - model: a/c", [("a/b", {}, 4), ("a/c", {}, 5)], id="one a line"),
        pytest.param("1:30", [("1:30", {}, 3)], id="a name that YAML 1.1 reads as 90"),
        pytest.param("{model: 1e3}", [("1e3", {}, 3)], id="a name that YAML 1.2 reads as 1000"),
    ],
)
def test_judges_are_one_or_a_list(folder, said, judges):
    suite = read(folder, f"datasets: cases.jsonl\nmetrics: equals\njudge: {said}\n")
    assert [(j.model, j.settings, j.place) for j in suite.judges] == [(m, s, f"suite.yaml:{n}") for m, s, n in judges]


def test_a_metric_may_have_a_judge_of_its_own_and_ask_it_several_times(folder):
    said = "{name: right, judge: [a/b, {model: a/c}], repeat: 3, threshold: 0.8, strict: true}"
    suite = read(folder, f"datasets: cases.jsonl\nmetrics:\n  - metrics/correct.json: {said}\njudge: a/d\n")
    assert suite.metrics == (
        MetricSpec(
            name="metrics/correct.json",
            kind="file",
            settings={"name": "right", "strict": True},
            threshold=0.8,
            judges=(JudgeSpec(model="a/b", place="suite.yaml:3"), JudgeSpec(model="a/c", place="suite.yaml:3")),
            repeat=3,
            path=Path("metrics/correct.json"),
            place="suite.yaml:3",
        ),
    )


def test_what_looks_like_a_key_is_not_shown(folder):
    said = "target: {model: a/b, settings: {api-key: hush}}\njudge: {model: a/b, token: hush}"
    assert "hush" not in str(faults(folder, f"datasets: cases.jsonl\nmetrics: equals\n{said}\n"))


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        pytest.param("name: no", "name", "no", id="a name that YAML 1.1 reads as false"),
        pytest.param("name: 010", "name", "010", id="a name that YAML 1.1 reads as 8"),
        pytest.param("name: 2024-01-31", "name", "2024-01-31", id="a name that YAML 1.1 reads as a date"),
        pytest.param("baseline: 1e3", "baseline", "1e3", id="a baseline that YAML 1.2 reads as 1000"),
        pytest.param("name: größer 🦊", "name", "größer 🦊", id="letters beyond ASCII"),
        pytest.param("gate:", "gate", None, id="a gate without rules"),
        pytest.param("gate: {}", "gate", Gate(), id="an empty gate"),
        pytest.param("gate: {flags: true}", "gate_flags", True, id="only the flags"),
        pytest.param("gate: {max_errors: null}", "gate", Gate(), id="a rule without a value"),
        pytest.param("baseline: ~", "baseline", None, id="a baseline without a value"),
        pytest.param("repeat: 3.0", "repeat", 3, id="a whole number written as a broken one"),
        pytest.param("timeout: 0.5", "timeout", 0.5, id="half a second"),
        pytest.param("gate: {thresholds: {equals: -2.5}}", "gate", Gate(thresholds={"equals": -2.5}), id="below 0"),
    ],
)
def test_a_key_has_the_value_it_says(folder, text, field, value):
    suite = read(folder, f"datasets: cases.jsonl\nmetrics: equals\n{text}\n")
    assert getattr(suite, field) == value
    assert type(getattr(suite, field)) is type(value)


def test_a_dataset_is_called_as_it_is_everywhere_else(folder):
    (folder / "questions.v2.jsonl").touch()
    suite = read(folder, "datasets: questions.v2.jsonl\nmetrics: equals\n")
    assert [dataset.name for dataset in suite.datasets] == ["questions.v2"]


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(folder):
    (folder / "suite.yaml").write_bytes(b"\xef\xbb\xbfdatasets: cases.jsonl\r\nmetrics: equals\r\nname: x\r\n")
    assert read_suite(Path("suite.yaml")).name == "x"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("", "suite.yaml: is empty.", id="nothing in the file"),
        pytest.param(
            "- a\n- b",
            "suite.yaml:1: this is a list, perhaps a dataset; a suite is a mapping that names it under `datasets`.",
            id="a list",
        ),
        pytest.param(
            "hello", 'suite.yaml:1: this is "hello"; a suite is a mapping with `datasets` and `metrics`.', id="a word"
        ),
        pytest.param(
            "{metric_description: x, score: {}}",
            "suite.yaml:1: this is a metric; name it in a suite, under `metrics`.",
            id="a metric file",
        ),
        pytest.param(
            "{name: x, config: {}, data: []}",
            "suite.yaml:1: this is a dataset; name it in a suite, under `datasets`.",
            id="a dataset file",
        ),
        pytest.param(
            "name: x\nmetrics: [equals]",
            "suite.yaml:1: the suite has no `datasets`; it takes a list of files with cases.",
            id="no datasets",
        ),
        pytest.param(
            "name: cases.jsonl\nmetrics: equals\n",
            "suite.yaml:1: the suite has no `datasets`; it takes a list of files with cases.",
            id="no datasets",
        ),
        pytest.param(
            "datasets: []\nmetrics: equals",
            "suite.yaml:1: `datasets` is []; it takes a list of files with cases.",
            id="an empty list of datasets",
        ),
    ],
)
def test_a_file_that_is_no_suite_is_told_what_one_is(folder, text, told):
    assert faults(folder, text) == [told]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        pytest.param("metric: []", 'the suite has no key "metric"; did you mean `metrics`?', id="a slip of the pen"),
        pytest.param("Repeat: 2", 'the suite has no key "Repeat"; did you mean `repeat`?', id="a capital letter"),
        pytest.param("scorers: x", 'the suite has no key "scorers"; did you mean `metrics`?', id="a peer's word"),
        pytest.param(
            "weather: red",
            'the suite has no key "weather"; the keys are name, description, datasets, target, metrics, repeat, gate, '
            "cluster, until_decided, baseline, lock, judge, embeddings, timeout.",
            id="a word of nobody",
        ),
        pytest.param('"a\\nb": 1', 'the suite has no key "a\\nb"; the keys are', id="a key with a line break"),
        pytest.param("repeat: 0", "`repeat` is 0; it takes a whole number from 1 to 10,000.", id="never"),
        pytest.param("repeat: true", "`repeat` is true; it takes a whole", id="a truth value is no number"),
        pytest.param("repeat: 2.5", "`repeat` is 2.5; it takes a whole", id="half a time"),
        pytest.param("repeat: 'two'", '`repeat` is "two"; it takes a whole', id="a number in words"),
        pytest.param("timeout: 0", "`timeout` is 0; it takes a number of seconds above 0", id="no time at all"),
        pytest.param("timeout: [1]", "`timeout` is [1]; it takes a number of seconds above 0", id="a list of times"),
        pytest.param(
            "judge: 12",
            "`judge` is 12; it takes a model, such as openai/NAME, or a list of models.",
            id="a number as a judge",
        ),
        pytest.param("name: ''", '`name` is ""; it takes a text.', id="an empty name"),
        pytest.param("name: [a]", '`name` is ["a"]; it takes a text.', id="a list as a name"),
        pytest.param("gate: 0.9", "`gate` is 0.9; it takes a mapping of limits", id="a number as a gate"),
        pytest.param(
            "gate: {min_pass_rate: 90}",
            "`gate.min_pass_rate` is 90; it takes a share from 0 to 1, such as 0.9 for 90 %.",
            id="a percentage",
        ),
        pytest.param("gate: {min_pass_rate: -0.1}", "`gate.min_pass_rate` is -0.1; it takes a share", id="below 0"),
        pytest.param(
            "gate: {min_score: 60}", "`gate.min_score` is 60; it takes a number from 0 to 1.", id="not a value"
        ),
        pytest.param("gate: {max_errors: -1}", "`gate.max_errors` is -1; it takes a whole number, 0 or", id="minus 1"),
        pytest.param("gate: {max_unscored: 0.5}", "`gate.max_unscored` is 0.5; it takes a whole", id="half a trial"),
        pytest.param("gate: {flags: no}", '`gate.flags` is "no"; it takes true or false.', id="an old truth value"),
        pytest.param(
            "gate: {tresholds: {}}", '`gate` has no key "tresholds"; did you mean `thresholds`?', id="in the gate"
        ),
        pytest.param(
            "gate: {thresholds: {equal: 1}}",
            "`gate.thresholds.equal` is not a metric of this suite; did you mean `equals`?",
            id="a threshold for a metric with another name",
        ),
        pytest.param(
            "gate: {thresholds: {cost: 1}}",
            "`gate.thresholds.cost` is not a metric of this suite; the metrics are equals.",
            id="a threshold for a metric that is not there",
        ),
        pytest.param(
            "gate: {thresholds: {equals: high}}",
            '`gate.thresholds.equals` is "high"; it takes a number.',
            id="a threshold in words",
        ),
        pytest.param(
            "gate: {thresholds: [equals]}", '`gate.thresholds` is ["equals"]; it takes a mapping', id="a list of names"
        ),
        pytest.param(
            "target: {prompt: a, models: [b]}",
            "`target.prompt` a: there is no such file",
            id="a prompt that is not there",
        ),
        pytest.param(
            "target: {http: x}",
            '`target.http` is "x"; it takes a mapping with the `url` of a service.',
            id="an address as target",
        ),
        pytest.param(
            "target: {model: a/b, http: x}", '`target.http` is "x"; it takes a mapping', id="a model at an address"
        ),
        pytest.param("target: {system: x}", "`target` names no model; it takes {model: openai/NAME}", id="no model"),
        pytest.param("target: {models: []}", "`target.models` is []; it takes a list of models", id="no models"),
        pytest.param(
            "target: {models: [a/b, a/b]}", '`target.models[1]` names "a/b" a second time', id="a model twice"
        ),
        pytest.param(
            "target: {model: a/b, models: [a/c]}", "`target.model` cannot be combined with `models`", id="both"
        ),
        pytest.param(
            "target: {prompt: ../x.prompty}", "`target.prompt` '../x.prompty': lies outside", id="a prompt elsewhere"
        ),
        pytest.param("target: {model: 3}", "`target.model` is 3; it takes a model, such as openai/NAME.", id="3"),
        pytest.param("target: {model: ''}", '`target.model` is ""; it takes a model, such', id="no name of a model"),
        pytest.param("target: {model: a/b, system: ''}", '`target.system` is ""; it takes a text.', id="told nothing"),
        pytest.param(
            "target: {model: a/b, setting: {}}",
            '`target` has no key "setting"; did you mean `settings`?',
            id="a slip of the pen in a target",
        ),
        pytest.param(
            "target: {model: a/b, settings: [0]}", "`target.settings` is [0]; it takes a mapping of", id="no mapping"
        ),
        pytest.param(
            "target: {model: a/b, settings: {api_key: hush}}",
            "`target.settings.api_key` would be recorded with every request; move it to an environment variable.",
            id="a key among the settings",
        ),
        pytest.param(
            "judge: {model: a/b, settings: {model: a/c}}",
            "`judge[0].settings.model` would replace a part of the request; leave it out.",
            id="a second model among the settings",
        ),
        pytest.param(
            "judge: {model: a/b, settings: {extra_headers: [{X-Api-Key: hush}], max_tokens: 5, stop_token: a}}",
            "`judge[0].settings.extra_headers[0].X-Api-Key` would be recorded with every request; move it to",
            id="a key deep in the settings",
        ),
        pytest.param("target: [a/b]", '`target[0]` is "a/b"; it takes a Python function as', id="a model in a list"),
        pytest.param("target: []", "`target` is []; it takes a Python function as", id="no targets"),
        pytest.param("judge: []", "`judge` is []; it takes a model, such as openai/NAME, or a list", id="no judge"),
        pytest.param(
            "judge: {settings: {}}", "`judge[0]` has no `model`; it takes a model, such", id="no model judges"
        ),
        pytest.param(
            "judge: [a/b, 12]", "`judge[1]` is 12; it takes a model, such as openai/NAME, or a", id="judge 12"
        ),
        pytest.param(
            "judge: [a/b, {model: a/b, settings: {seed: 1}}]",
            '`judge[1]` names "a/b", and so does the one at suite.yaml:4; leave one of them out.',
            id="a judge twice",
        ),
        pytest.param(
            "judge: {model: a/b, settings: {Authorization: hush}}",
            "`judge[0].settings.Authorization` would be recorded with every request;",
            id="a key among a judge's settings",
        ),
        pytest.param("target: bot", '`target` is "bot"; it takes a Python function', id="a target without its module"),
        pytest.param(
            "target: my/bot.py:answer",
            '`target` is "my/bot.py:answer", which names no Python object; write "my.bot:answer".',
            id="a file with its function",
        ),
        pytest.param(
            "target: 1bot:answer",
            "`target` is \"1bot:answer\", which names no Python object; write it as 'package.module:attribute'.",
            id="a module that cannot be",
        ),
    ],
)
def test_a_fault_names_its_line_what_was_found_and_what_to_write(folder, line, told):
    (found,) = faults(folder, f"datasets: cases.jsonl\nmetrics: equals\n\n{line}\n")
    assert found.startswith(f"suite.yaml:4: {told}")
    assert found.endswith((".", "?"))


@pytest.mark.parametrize(
    ("item", "told"),
    [
        pytest.param("3", "`metrics[1]` is 3; it takes a name, or a mapping of one name", id="a number"),
        pytest.param("''", '`metrics[1]` is ""; it takes a name', id="an empty name"),
        pytest.param("{}", "`metrics[1]` is {}; it takes a name", id="an empty mapping"),
        pytest.param("[contains]", '`metrics[1]` is ["contains"]; it takes a name', id="a list"),
        pytest.param(
            "{similarity: null, positive: 0.9}",
            '`metrics[1]` is {"similarity": null, "positive": 0.9}; it takes a name, or a mapping of one name',
            id="settings beside their metric",
        ),
        pytest.param("contains: hello", '`metrics[1].contains` is "hello"; it takes a mapping', id="a bare setting"),
        pytest.param(
            "contains: {threshold: 80}",
            "`metrics[1].contains.threshold` is 80; it takes a number from 0 to 1.",
            id="a threshold in percent",
        ),
        pytest.param(
            "contains: {repeat: 0}",
            "`metrics[1].contains.repeat` is 0; it takes a whole number from 1 to 100.",
            id="a judge that is asked no times",
        ),
        pytest.param(
            "contains: {judge: 12}",
            "`metrics[1].contains.judge` is 12; it takes a model, such as openai/NAME, or a list of models.",
            id="a number as the judge of one metric",
        ),
        pytest.param(
            "contains: {judge: [a/b, {model: a/b}]}",
            '`metrics[1].contains.judge[1]` names "a/b", and so does the one at suite.yaml:4; leave one',
            id="a judge twice in one metric",
        ),
        pytest.param("contains: {name: ''}", '`metrics[1].contains.name` is ""; it takes a text', id="no name"),
        pytest.param(
            "equals",
            '`metrics[1]` is called "equals", and so is the one at suite.yaml:3; give one of them another `name`.',
            id="a metric twice",
        ),
        pytest.param("nope.json", '`metrics[1]` names "nope.json": there is no such file', id="a missing file"),
    ],
)
def test_a_faulty_metric_is_named_with_its_number(folder, item, told):
    (found,) = faults(folder, f"datasets: cases.jsonl\nmetrics:\n  - equals\n  - {item}\n")
    assert found.startswith(f"suite.yaml:4: {told}")


@pytest.mark.parametrize(
    ("item", "told"),
    [
        pytest.param("{name: x}", "`datasets[1]` has no `path`; it takes a file, relative to the suite.", id="no path"),
        pytest.param(
            "{path: more/export.csv, inptu: q}",
            '`datasets[1]` has no key "inptu"; did you mean `input`?',
            id="a slip in an option",
        ),
        pytest.param("{path: more/export.csv, input: 3}", "`datasets[1].input` is 3; it takes the name", id="no name"),
        pytest.param("[cases.jsonl]", '`datasets[1]` is ["cases.jsonl"]; it takes a file', id="a list in the list"),
        pytest.param(
            "case.jsonl", '`datasets[1]` names "case.jsonl": there is no such file; did you mean', id="missing"
        ),
        pytest.param("cases.jsonl", '`datasets[1]` is called "cases.jsonl", and so is the one at', id="twice"),
        pytest.param("{path: more/export.csv, name: x}", '`datasets[2]` is called "x", and so is', id="a name twice"),
        pytest.param("more", '`datasets[1]` names "more", which is a folder; name a file in it.', id="a folder"),
        pytest.param(
            "pipe.jsonl", '`datasets[1]` names "pipe.jsonl", which is a pipe;', id="a pipe, which is never opened"
        ),
        pytest.param("../../../../../../../../etc/passwd", '`datasets[1]` names "../..', id="up and out"),
        pytest.param("/etc/passwd", '`datasets[1]` names "/etc/passwd", which lies outside', id="an absolute path"),
        pytest.param("/dev/zero", '`datasets[1]` names "/dev/zero", which lies outside', id="a device"),
        pytest.param("out.jsonl", '`datasets[1]` names "out.jsonl", which lies outside', id="a link that leads out"),
        pytest.param("file://localhost/etc/passwd#x.png", '`datasets[1]` names "file://', id="a file address"),
        pytest.param("https://example.org/x.jsonl", '`datasets[1]` names "https://', id="a web address"),
        pytest.param("C:\\x.jsonl", '`datasets[1]` names "C:', id="a drive"),
        pytest.param("\\\\host\\x.jsonl", '`datasets[1]` names "\\\\\\\\host', id="a share"),
        pytest.param(
            "'%2e%2e/x.jsonl'", '`datasets[1]` names "%2e%2e/x.jsonl", which has escaped', id="dots in disguise"
        ),
        pytest.param('"a\\0b"', '`datasets[1]` names "a\\u0000b", which has escaped or control characters', id="a NUL"),
    ],
)
def test_a_faulty_dataset_is_named_with_its_number(folder, item, told):
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "out.jsonl").symlink_to("/etc/passwd")
    other = "\n  - {path: cases.jsonl, name: x}" if "name: x}" in item and "path" in item else ""
    text = f"datasets:\n  - cases.jsonl\n  - {item}{other}\nmetrics: equals\n"
    assert any(told in found for found in faults(folder, text))


def test_every_fault_is_named_at_once_in_the_order_of_the_file(folder):
    text = """\
nmae: x
datasets: [cases.jsonl, nope.jsonl, {path: gone.csv, inptu: q}]
target: bot.py:answer
metrics:
  - equals
  - equals
  - similarity: {threshold: 7}
  - lost.json
  - 4
repeat: 0
gate: {min_pass_rate: 90, thresholds: {simlarity: 1}}
"""
    found = faults(folder, text)
    assert [(line.split(":")[1], line.split("`")[1] if "`" in line else "") for line in found] == [
        ("1", "name"),
        ("2", "datasets[1]"),
        ("2", "datasets[2]"),
        ("2", "datasets[2]"),
        ("3", "target"),
        ("6", "metrics[1]"),
        ("7", "metrics[2].similarity.threshold"),
        ("8", "metrics[3]"),
        ("9", "metrics[4]"),
        ("10", "repeat"),
        ("11", "gate.min_pass_rate"),
    ]


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        pytest.param("a: 1\na: 2\n", "s.yaml", "s.yaml:2:1: the key 'a' occurs a second time", id="YAML twice"),
        pytest.param('{"a": 1,\n"a": 2}', "s.json", "s.json:2", id="a JSON key twice"),
        pytest.param("datasets: &a [*a]\n", "s.yaml", "s.yaml:1:15: *a at", id="a circle"),
        pytest.param("[" * 100_000, "s.json", "s.json", id="JSON nested 100,000 deep"),
        pytest.param("- " * 5_000 + "x", "s.yaml", "s.yaml:1:201: nested deeper than 100", id="YAML nested 5,000 deep"),
        pytest.param('{"repeat": NaN}', "s.json", "s.json:1:12: NaN at $.repeat", id="NaN"),
        pytest.param('{"repeat": 1e400}', "s.json", "s.json:1:12: 1e400 at $.repeat is too large", id="1e400"),
        pytest.param('{"repeat": ' + "9" * 5_000 + "}", "s.json", "s.json:1:12: the number at", id="5,000 digits"),
        pytest.param("a: !!python/object/apply:os.system [x]\n", "s.yaml", "s.yaml:1", id="a tag that would be code"),
        pytest.param("a: [1\n", "s.yaml", "s.yaml:2", id="a bracket left open"),
        pytest.param("a: 1\n---\nb: 2\n", "s.yaml", "s.yaml:2", id="two documents"),
    ],
)
def test_what_a_strict_reader_refuses_is_refused_in_a_suite(folder, text, name, told):
    (found,) = faults(folder, text, name)
    assert found.startswith(told)


def test_billion_laughs_are_refused(folder):
    lines = ["a0: &a0 [lol]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    (found,) = faults(folder, "\n".join(lines))
    assert "aliases" in found


def test_a_file_that_is_not_there_or_not_text_is_named(folder):
    with pytest.raises(ConfigError, match=r"nope\.yaml: there is no such file"):
        read_suite(Path("nope.yaml"))
    (folder / "latin.yaml").write_bytes(b"name: caf\xe9\n")
    with pytest.raises(ConfigError, match=r"latin\.yaml:1: byte 0xE9 at column 10 is not UTF-8"):
        read_suite(Path("latin.yaml"))


def test_files_are_looked_up_beside_the_suite_before_the_working_directory(folder):
    (folder / "suites").mkdir()
    (folder / "suites/cases.jsonl").write_text("{}")
    text = "datasets: [cases.jsonl, more/export.csv, ../metrics/correct.json]\nmetrics: equals\n"
    suite = read(folder, text, "suites/suite.yaml")
    here = folder.resolve()
    assert [d.path.resolve().relative_to(here).as_posix() for d in suite.datasets] == [
        "suites/cases.jsonl",
        "more/export.csv",
        "metrics/correct.json",
    ]
    assert suite.notes == (
        "suites/suite.yaml:1: more/export.csv is not in the folder of the suite; the one in the working directory is used.",
    )


def test_datasets_with_the_same_file_name_are_told_apart_by_their_paths(folder):
    (folder / "more/cases.csv").write_text("x")
    suite = read(folder, "datasets: [cases.jsonl, more/cases.csv, more/export.csv]\nmetrics: equals\n")
    assert [d.name for d in suite.datasets] == ["cases.jsonl", "more/cases.csv", "export"]


def test_two_metrics_of_one_kind_need_names_of_their_own(folder):
    text = "datasets: cases.jsonl\nmetrics: [contains: {any: [a]}, contains: {name: b, any: [b]}]\n"
    suite = read(folder, f"{text}gate: {{thresholds: {{b: 1}}}}\n")
    assert [m.label for m in suite.metrics] == ["contains", "b"]
    assert suite.metrics[1].settings == {"name": "b", "any": ["b"]}


def test_a_threshold_for_a_score_that_only_an_object_can_name_is_left_to_whoever_knows_it(folder):
    text = "datasets: cases.jsonl\nmetrics: [equals, my:scorer]\ngate: {thresholds: {politeness: 0.5}}\n"
    suite = read(folder, text)
    assert suite.gate is not None
    assert suite.gate.thresholds == {"politeness": 0.5}


def test_words_that_other_readers_take_for_something_else_are_noted(folder):
    suite = read(folder, "datasets: cases.jsonl\nmetrics: [equals: {wanted: yes}]\n")
    assert suite.metrics[0].settings == {"wanted": "yes"}
    assert suite.notes[0].startswith("suite.yaml:2: yes is kept as the text 'yes'")


@pytest.mark.parametrize("name", ["cases.jsonl", "rows.CSV"])
def test_rows_are_no_suite_and_where_they_go_is_said(folder, name):
    (folder / name).write_text('{"input": "a"}\n{"input": "b"}\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"^{name}: this is a dataset; name it in a suite, under `datasets`\.$"):
        read_suite(Path(name))


def test_every_field_of_a_suite_is_one_that_a_file_can_set():
    from_file = {"path", "gate_flags", "notes", "target_place", "judges"}
    from evalmark.inputs.suites.schema import suite_schema

    known = set(suite_schema()["properties"]) - {"$schema", "description", "judge"}
    assert {f.name for f in fields(Suite)} - from_file == known
