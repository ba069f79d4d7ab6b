"""Suites with a prompt under test: its tests are read as `evalmark run PROMPT` reads them, with the marks they have."""

import json
from pathlib import Path

import pytest

from evalmark.store import open_store
from evalmark.testing.scripted import ScriptedServer

TESTS = [
    {"ruleid": "1", "testinput": "Rain in Oslo", "expectedoutput": "World", "valid": True},
    {"ruleid": "3", "testinput": "Rain and a cup final", "expectedoutput": "Error", "valid": False},
    {"ruleid": "2", "testinput": "Late goal", "scenario": "short", "grounded": False},
]
FILES = {
    "sort.prompty": (
        "---\nname: Sort\ninputs:\n  headline: {type: string}\n  tone: {type: string, default: plain}\n"
        "scenarios:\n  - {name: short, parameters: {tone: brief}}\nsample: {headline: Cup final}\n"
        "---\nsystem:\nName a label. Be {{tone}}.\nuser:\n{{headline}}\n"
    ),
    "kind.metric.prompty": "---\ntags: [scorer]\n---\nuser:\nScore how kind {{output}} is from 0 to 100.\n",
    "sort/rules.txt": "The answer must be at most 2 words.\nThe answer must be polite.\n",
    "sort/inverse_rules.txt": "The answer must be at least 3 words.\nThe answer must be rude.\n",
    "sort/tests.json": json.dumps(TESTS),
    "sort/baseline_tests.txt": "Snow\n===\nSun\n",
    "table.csv": "ruleid, testid, headline, expectedoutput\n4, 1, Two labels, Error\n",
    "cases.yaml": "- {id: plain, input: Fog, expected: World}\n",
}
TARGET = "target: {prompt: sort.prompty, models: [openai/a]}\n"


def says(said):
    """One label, unless the input asks for several; a judge finds everything fine."""
    if said.schema is None:
        return "One and two" if "and" in said.messages[-1][1] else "World"
    fields = said.schema["properties"]
    if "verdicts" in fields:
        return json.dumps({"reason": "fine", "verdicts": [{"rule": n, "verdict": "OK"} for n in (1, 2)]})
    return json.dumps({name: 90 if name == "score" else "kind" for name in fields})


@pytest.fixture
def server(world, monkeypatch):
    for name in ("OPENAI_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name, text in FILES.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    with ScriptedServer(says) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        yield server


def last():
    with open_store(".evalmark/evalmark.db", read_only=True) as store:
        return store.run("last")


def seen(run):
    """What was asked, and what every score says."""
    return [
        (r.trial.dataset, r.trial.case, r.output.value, [(s.name, s.status, s.passed) for s in r.scores])
        for r in run.results
    ]


def test_a_suite_that_names_the_prompt_alone_is_the_run_of_the_prompt(evalmark, server):
    Path("suite.yaml").write_text(TARGET)
    first = evalmark("run", "sort.prompty", "--model", "openai/a", "--judge", "openai/judge")
    by_prompt = seen(last())
    second = evalmark("run", "suite.yaml", "--judge", "openai/judge")
    assert (first.code, second.code) == (0, 0)
    assert seen(last()) == by_prompt
    assert {dataset for dataset, *_ in by_prompt} == {"tests", "baseline"}
    assert server.problems == []


def test_marked_tests_count_neither_in_the_verdict_nor_in_the_rate(evalmark, server):
    found = evalmark("run", "sort.prompty", "--model", "openai/a", "--judge", "openai/judge", "-o", "run.xml")
    assert found.code == 0  # the one that fails is not valid
    assert "1 of 1 passed" in found.out
    assert "4 of them left out of the headline (2 baseline, 1 not valid, 1 of ungrounded rules)" in " ".join(
        found.out.split()
    )
    assert 'failures="0"' in Path("run.xml").read_text()


@pytest.mark.parametrize(
    ("datasets", "cases"),
    [
        pytest.param("sort/tests.json", [("Rain in Oslo", 1, None)] * 1, id="the prompt's own file"),
        pytest.param("table.csv", [("Two labels", 4, None)], id="a table of tests"),
        pytest.param(
            "[cases.yaml, table.csv]", [("Fog", "ordinary", "World"), ("Two labels", 4, None)], id="both kinds"
        ),
        pytest.param(
            "[{path: table.csv, input: headline, expected: expectedoutput}]",
            [("Two labels", "4", "Error")],
            id="a table that the suite says how to read",
        ),
    ],
)
def test_tests_of_the_prompt_are_read_as_such_and_other_cases_as_ever(evalmark, server, datasets, cases):
    Path("sort/tests.json").write_text(json.dumps(TESTS[:1]))
    Path("suite.yaml").write_text(f"datasets: {datasets}\n{TARGET}metrics: [{{contains: {{any: [World]}}}}]\n")
    assert evalmark("run", "suite.yaml").code in (0, 1)
    run = last()
    assert [metric.name for metric in run.metrics] == ["contains"]  # named ones take the place of those of the prompt
    assert [
        (
            r.trial.case.input["headline"] if isinstance(r.trial.case.input, dict) else r.trial.case.input,
            r.trial.case.metadata.get("ruleid", "ordinary"),
            r.trial.case.expected,
        )
        for r in run.results
    ] == cases


def test_the_values_of_a_scenario_reach_the_model(evalmark, server):
    Path("suite.yaml").write_text(f"datasets: sort/tests.json\n{TARGET}metrics: [{{contains: {{any: [World]}}}}]\n")
    evalmark("run", "suite.yaml")
    told = {r.messages[1][1]: r.messages[0][1] for r in server.requests}
    assert told["Late goal"] == "Name a label. Be brief."


def test_judges_of_a_suite_judge_by_the_metrics_of_the_prompt(evalmark, server):
    Path("suite.yaml").write_text(f"{TARGET}judge: [openai/one, openai/two]\n")
    evalmark("run", "suite.yaml")
    assert [metric.name for metric in last().metrics if metric.judge] == [
        "compliance [openai/one]",
        "compliance [openai/two]",
        "kind [openai/one]",
        "kind [openai/two]",
    ]


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        pytest.param("target: {model: openai/a}\n", (), "the suite has no `datasets`", id="a model without a prompt"),
        pytest.param(TARGET, ("--target", "json:dumps"), "the suite has no `datasets`", id="the prompt is taken away"),
        pytest.param(TARGET.replace("sort.p", "sorts.p"), (), "there is no such file", id="no such prompt"),
        pytest.param(f"{TARGET}gate: {{thresholds: {{kin: 1}}}}\njudge: openai/j\n", (), "did you mean `kind`?", id="a gate"),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_said_before_any_call(evalmark, server, text, words, said):
    Path("suite.yaml").write_text(text)
    found = evalmark("run", "suite.yaml", *words)
    assert (found.code, server.count) == (2, 0)
    assert said in " ".join(found.err.split())


def test_a_suite_of_a_prompt_alone_is_checked_as_a_suite(evalmark, server):
    Path("suite.yaml").write_text(f"{TARGET}judge: openai/judge\n")
    assert evalmark("validate", "suite.yaml").code == 0
    Path("sort/tests.json").write_text(json.dumps([{"ruleid": "1", "testinput": ""}]))
    found = evalmark("validate", "suite.yaml")
    assert found.code != 0
    assert "sort/tests.json:1: the test has no input" in found.err + found.out
