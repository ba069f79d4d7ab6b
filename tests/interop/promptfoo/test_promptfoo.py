"""Configs of promptfoo as suites of ours: what each assertion becomes, and what is refused."""

import asyncio
import json
from pathlib import Path

import pytest
import yaml

from evalmark import Case, Output
from evalmark.cli.commands.file_checks import validate
from evalmark.core.settings import Settings
from evalmark.errors import ConfigError, DataError
from evalmark.inputs.datasets.reader import read_cases
from evalmark.inputs.suites.reader import read_suite
from evalmark.interop.promptfoo.assertion_requests import AssertionScope, UnsupportedAssertionError
from evalmark.interop.promptfoo.assertions import read_assertion
from evalmark.interop.promptfoo.importer import import_promptfoo
from evalmark.interop.promptfoo.scorers import PythonAssertion
from evalmark.interop.promptfoo.variables import with_raw_marks, without_raw_marks
from evalmark.interop.shared.assertions import Assertions, JudgedAssertions
from evalmark.interop.shared.import_options import ImportOptions
from evalmark.testing.chat import ScriptedModel
from tests.interop.shared.carried import laid_out

CHECK = 'def get_assert(output, context):\n    return {"pass": output == context["vars"]["city"], "score": 1.0, "reason": "so"}\n'


DRAFT = "http://json-schema.org/draft-07/schema#"


def moved(folder: Path, config: object, code=(), everything=False, **files: str):
    """What a config comes to, the suite and the cases of it."""
    laid_out(folder, {"promptfooconfig.yaml": yaml.safe_dump(config), **files})
    imported = import_promptfoo(
        folder, ImportOptions(code=("all",) if everything else tuple(str(folder / name) for name in code))
    )
    laid_out(folder / "in", imported.files)
    suite = yaml.safe_load(imported.files["suite.yaml"])
    return imported, suite, list(read_cases(folder / "in" / "cases.jsonl"))


def config(*tests, **more):
    return {"prompts": ["Say: {{city}}"], "providers": ["openai:chat:small"], "tests": list(tests), **more}


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ({"type": "equals", "value": "Oslo"}, ("equals", {}, "Oslo")),
        ({"type": "equals", "value": "{{city}}"}, ("equals", {}, "Bergen")),
        (
            {"type": "equals", "value": {"a": 1}},
            ("structured_output", {"allow_extras": False, "error_field": None}, {"a": 1}),
        ),
        ({"type": "equals", "value": 42}, ("equals", {}, "42")),
        ({"type": "equals", "value": 2.0}, ("equals", {}, "2")),
        ({"type": "equals", "value": True}, ("equals", {}, "true")),
        ({"type": "not-equals", "value": "a.b"}, ("not-regex", {"pattern": r"a\.b", "full": True}, None)),
        ({"type": "contains", "value": 42}, ("contains", {}, "42")),
        ({"type": "not-contains", "value": "Oslo"}, ("not-contains", {"any": ["Oslo"]}, None)),
        ({"type": "not-icontains", "value": "x"}, ("not-contains", {"any": ["x"], "ignore_case": True}, None)),
        ({"type": "not-starts-with", "value": "x"}, ("not-regex", {"pattern": "^x"}, None)),
        ({"type": "contains-any", "value": '"a, b", c'}, ("contains", {"any": ["a, b", "c"]}, None)),
        ({"type": "contains-any", "value": [1, "{{city}}"]}, ("contains", {"any": ["1", "Bergen"]}, None)),
        ({"type": "regex", "value": r"^\d+$"}, ("regex", {"pattern": r"^[0-9]+\Z"}, None)),
        ({"type": "is-json"}, ("is_json", {}, None)),
        (
            {"type": "is-json", "value": "type: object"},
            ("json_schema", {"schema": {"$schema": DRAFT, "type": "object"}}, None),
        ),
        ({"type": "not-word-count", "value": "5"}, ("not-length", {"min_words": 5, "max_words": 5}, None)),
        ({"type": "contains", "value": "x", "weight": 2, "threshold": 0.5}, ("contains", {}, "x")),
        ({"type": "icontains", "value": "The {{ city }}"}, ("contains", {"ignore_case": True}, "The Bergen")),
        ({"type": "contains-all", "value": "a, b"}, ("contains", {"all": ["a", "b"]}, None)),
        ({"type": "not-icontains-any", "value": ["a"]}, ("not-contains", {"any": ["a"], "ignore_case": True}, None)),
        ({"type": "starts-with", "value": "a.b"}, ("regex", {"pattern": r"^a\.b"}, None)),
        (
            {"type": "is-json", "value": {"type": "object"}},
            ("json_schema", {"schema": {"$schema": DRAFT, "type": "object"}}, None),
        ),
        ({"type": "similar:cosine", "value": "x", "threshold": 0.5}, ("similarity", {"positive": 0.5}, "x")),
        ({"type": "similar", "value": "x"}, ("similarity", {"positive": 0.75}, "x")),
        ({"type": "latency", "threshold": 1500}, ("time", {"seconds": 1.5}, None)),
        ({"type": "word-count", "value": {"max": 5}}, ("length", {"max_words": 5}, None)),
        ({"type": "llm-rubric", "value": "Is kind"}, ("closed_qa", {"criteria": "Is kind"}, None)),
        ({"type": "g-eval", "value": ["a"]}, ("criteria", {"criteria": "a"}, None)),
        ({"type": "model-graded-factuality", "value": "x"}, ("factuality", {}, "x")),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else "",
)
def test_an_assertion_becomes_a_check(said, wanted):
    asked = read_assertion(said, AssertionScope(variables={"city": "Bergen"}))
    assert (asked.scorer, asked.settings, asked.expected) == wanted


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"type": "javascript", "value": "fetch('http://x')"}, "evalmark does not compute: it uses 'fetch'"),
        ({"type": "javascript", "value": "require('fs')"}, "evalmark does not compute: it uses 'require'"),
        ({"type": "javascript", "value": "context.providerResponse.raw"}, "it uses context.providerResponse"),
        ({"type": "javascript", "value": "file://check.js"}, "--code check.js"),
        ({"type": "python", "value": "len(output)"}, "it is code"),
        ({"type": "not-python", "value": "file://a.py"}, "--code a.py"),
        ({"type": "ruby", "value": "x"}, "it is code"),
        ({"type": "webhook", "value": "http://x"}, "an address in the file"),
        ({"type": "equals", "value": "x", "transform": "fetch(output)"}, "`transform` is code"),
        ({"type": "equals", "value": "file:///etc/passwd"}, "in a file that is not read"),
        ({"type": "not-g-eval", "value": "x"}, "cannot negate"),
        ({"type": "regex"}, "not a text"),
        ({"type": "contains"}, "no `value`"),
        ({"type": "latency", "threshold": "soon"}, "milliseconds"),
        ({"type": "latency", "threshold": float("inf")}, "milliseconds"),
        ({"type": "levenshtein", "value": "x", "threshold": [1]}, "its `threshold` is not a number"),
        ({"type": "javascript", "value": "true", "threshold": 10**400}, "its `threshold` is not a number"),
        ({"type": "assert-set", "assert": [5, None]}, "None: evalmark has no metric"),
        ({"type": "g-eval", "value": "x", "rubricPrompt": "y"}, "its own `rubricPrompt`"),
        ({"type": "__import__('os')"}, "evalmark has no metric for"),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else "",
)
def test_what_no_check_does_is_said_and_code_is_refused(said, why):
    with pytest.raises(UnsupportedAssertionError, match=why):
        read_assertion(said, AssertionScope())


def test_what_all_tests_ask_for_is_a_metric_and_the_rest_stands_with_its_case(tmp_path):
    rows = [
        {"vars": {"city": "Oslo"}, "assert": [{"type": "equals", "value": "Oslo"}, {"type": "regex", "value": "^O"}]},
        {
            "vars": {"city": "Rome"},
            "assert": [{"type": "equals", "value": "Rome"}, {"type": "llm-rubric", "value": "Is short"}],
        },
    ]
    default = {"assert": [{"type": "latency", "threshold": 2000}]}
    _, suite, cases = moved(tmp_path, config(*rows, defaultTest=default))
    assert suite["metrics"][:2] == [{"time": {"seconds": 2.0}}, "equals"]
    assert [next(iter(metric)) for metric in suite["metrics"][2:]] == [
        "evalmark.scorers:Assertions",
        "evalmark.scorers:JudgedAssertions",
    ]
    assert [case.expected for case in cases] == ["Oslo", "Rome"]
    assert [case.metadata["assert"] for case in cases] == [
        [{"regex": {"pattern": "^O"}}],
        [{"closed_qa": {"criteria": "Is short"}}],
    ]
    assert read_suite(tmp_path / "in" / "suite.yaml").target.models == ("openai/small",)


def test_every_prompt_is_asked_of_every_provider_in_one_suite(tmp_path):
    test = {"vars": {"city": "Oslo"}, "assert": [{"type": "equals", "value": "Oslo"}]}
    prompts = [{"raw": "Name {{city}}.", "label": "short"}, "Say {{city}}."]
    warm = {"id": "openai:chat:small", "label": "warm", "config": {"temperature": 0.9, "max_tokens": 5}}
    providers = ["openai:chat:small", {**warm, "prompts": ["short"]}]
    moved(tmp_path, config(test, description="cities", prompts=prompts, providers=providers))
    suite = read_suite(tmp_path / "in" / "suite.yaml")
    assert validate(tmp_path / "in" / "suite.yaml", Settings()) == []
    assert [(target.name, target.prompt.name, dict(target.settings)) for target in suite.target] == [
        ("", "short.prompt.yml", {"temperature": 0, "max_tokens": 1024}),
        ("", "prompt-2.prompt.yml", {"temperature": 0, "max_tokens": 1024}),
        ("short@warm", "short.prompt.yml", {"temperature": 0.9, "max_tokens": 5}),
    ]


def test_variables_that_no_prompt_shows_do_not_keep_a_suite_from_running(tmp_path):
    tests = [
        {
            "vars": {"city": "Oslo", "land": "Norway", "odd key": 1},
            "assert": [{"type": "contains", "value": "{{land}}"}],
        }
    ]
    imported, suite, (case,) = moved(tmp_path, config(*tests, prompts=["Say: {{city}}", "{{land}}: {{city}}?"]))
    assert validate(tmp_path / "in" / "suite.yaml", Settings()) == []
    assert (case.input, case.metadata["odd key"]) == ({"city": "Oslo", "land": "Norway"}, 1)
    assert yaml.safe_load(imported.files[suite["target"][0]["prompt"]])["inputs"] == {"land": {"required": False}}
    assert "inputs" not in yaml.safe_load(imported.files["prompt-2.prompt.yml"])


def test_lists_of_values_and_scenarios_are_spread_out(tmp_path):
    scenario = {
        "config": [{"vars": {"tone": "warm"}}, {"vars": {"tone": "dry"}}],
        "tests": [{"vars": {"city": "Rome"}}],
    }
    _, _, cases = moved(
        tmp_path, config({"vars": {"city": ["Oslo", "Bergen"], "n": ["1", "2"], "m": [3, 4]}}, scenarios=[scenario])
    )
    assert [tuple(case.input.values()) for case in cases] == [
        ("Oslo", [3, 4], "1"), ("Oslo", [3, 4], "2"), ("Bergen", [3, 4], "1"), ("Bergen", [3, 4], "2"),
        ("warm", "Rome"), ("dry", "Rome"),
    ]  # fmt: skip


def test_a_scenario_without_tests_has_one_for_each_of_its_settings(tmp_path):
    scenario = {"config": [{"vars": {"city": "Oslo"}}, {"vars": {"city": "Rome"}}]}
    _, _, cases = moved(tmp_path, config(scenarios=[scenario]))
    assert [case.input["city"] for case in cases] == ["Oslo", "Rome"]


def test_rows_of_a_csv_file_bring_their_assertions_and_get_the_default_ones(tmp_path):
    rows = "city,__expected,__expected2,__metadata:kind\nOslo,Oslo,,x\nRome,contains: Ro,not-contains: sorry,\nhttp://x,http://x,,\n"
    default = {"assert": [{"type": "regex", "value": "."}]}
    _, suite, cases = moved(tmp_path, config("file://rows.csv", defaultTest=default), **{"rows.csv": rows})
    assert suite["metrics"][0] == {"regex": {"pattern": r"[^\n\r\u2028\u2029]"}}
    assert [case.expected for case in cases] == ["Oslo", "Ro", "http://x"]
    assert cases[0].metadata["kind"] == "x"
    assert cases[1].metadata["assert"] == [{"contains": {}}, {"not-contains": {"any": ["sorry"]}}]


def test_a_python_file_is_taken_along_only_where_the_user_names_it(tmp_path):
    said = {"vars": {"city": "Oslo"}, "assert": [{"type": "python", "value": "file://checks.py"}]}
    refused, suite, _ = moved(tmp_path / "a", config(said), **{"checks.py": CHECK})
    assert [part.outcome for part in refused.parts if part.name.endswith("(python)")] == ["left out"]
    assert "metrics" not in suite
    assert "checks.py" not in refused.files
    named, suite, _ = moved(tmp_path / "b", config(said), code=["checks.py"], **{"checks.py": CHECK})
    assert named.files["checks.py"] == CHECK
    (metric,) = suite["metrics"]
    settings = metric["evalmark.scorers:PythonAssertion"]
    assert settings == {"file": "checks.py", "function": "get_assert", "name": "checks"}


def test_a_function_of_promptfoo_judges_with_its_context(tmp_path):
    (tmp_path / "checks_of_city.py").write_text(CHECK + "def share(output, context):\n    return 0.4\n")
    case = Case(id="1", input={"city": "Oslo"})
    check = PythonAssertion(file=tmp_path / "checks_of_city.py")
    assert check(case, Output(value="Oslo")) == {"pass": True, "score": 1.0, "reason": "so"}
    share = PythonAssertion(file=tmp_path / "checks_of_city.py", function="share", least=0.5)
    assert share(case, Output(value="")) == {"score": 0.4, "passed": False}
    with pytest.raises(ConfigError, match="no attribute 'shrae'"):
        PythonAssertion(file=tmp_path / "checks_of_city.py", function="shrae")


@pytest.mark.parametrize(
    "said",
    [
        pytest.param({"tests": "file://gen.py:make"}, id="a generator of tests"),
        pytest.param({"tests": [{"path": "file://gen.js", "config": {}}]}, id="a generator with settings"),
        pytest.param({"providers": ["file://provider.py"]}, id="a provider in Python"),
        pytest.param({"providers": ["exec:rm -rf /"]}, id="a provider that is a command"),
        pytest.param({"prompts": ["file://prompt.js"]}, id="a prompt in JavaScript"),
        pytest.param({"prompts": ["file://prompt.py:make"]}, id="a prompt in Python"),
        pytest.param({"nunjucksFilters": {"f": "file://f.js"}}, id="a filter"),
        pytest.param({"extensions": ["file://hook.py:run"]}, id="an extension"),
        pytest.param(
            {"tests": [{"vars": {"city": "x"}, "assertScoringFunction": "file://s.py"}]}, id="a scoring function"
        ),
    ],
)
def test_code_is_refused_wherever_it_stands(said, tmp_path):
    files = dict.fromkeys(
        ("gen.py", "gen.js", "provider.py", "prompt.js", "prompt.py", "f.js", "hook.py", "s.py"), "boom("
    )
    whole = {**config({"vars": {"city": "Oslo"}}), **said}
    laid_out(tmp_path, {"promptfooconfig.yaml": yaml.safe_dump(whole), **files})
    imported = import_promptfoo(tmp_path)
    assert "left out" in [part.outcome for part in imported.parts]
    assert not any(name.endswith((".py", ".js")) or "boom(" in text for name, text in imported.files.items())


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/passwd.txt", "file://../secret.txt", "link.txt"])
def test_no_file_outside_of_the_folder_is_read(name, tmp_path):
    (tmp_path / "secret.txt").write_text("hunter2")
    folder = laid_out(
        tmp_path / "in",
        {"promptfooconfig.yaml": yaml.safe_dump({**config({"vars": {"city": "a"}}), "prompts": [name]})},
    )
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    imported = import_promptfoo(folder)
    assert "hunter2" not in str(imported)
    assert "left out" in [part.outcome for part in imported.parts]


def test_a_key_in_a_config_goes_nowhere(tmp_path):
    provider = {"id": "openai:chat:small", "config": {"apiKey": "sk-0123456789abcdef", "temperature": 0.5}}
    imported, suite, _ = moved(
        tmp_path,
        {**config({"vars": {"city": "a"}}), "providers": [provider], "env": {"OPENAI_API_KEY": "sk-0123456789abcdef"}},
    )
    assert suite["target"]["settings"] == {"temperature": 0.5, "max_tokens": 1024}
    assert "sk-0123" not in str(imported)


def test_results_of_promptfoo_are_read_with_their_states(tmp_path):
    def row(index, **more):
        return {
            "promptIdx": 0, "testIdx": index, "vars": {"city": "Oslo"}, "provider": {"id": "openai:chat:small"},
            "success": True, "score": 1, "failureReason": 0, "latencyMs": 120, "namedScores": {}, **more,
        }  # fmt: skip

    parts = [
        {"pass": True, "score": 1, "reason": "so", "assertion": {"type": "equals"}},
        {"pass": False, "score": 0.2, "reason": "no", "assertion": {"type": "equals"}},
        {
            "pass": False,
            "score": 0,
            "reason": "429",
            "assertion": {"type": "llm-rubric", "metric": "kind"},
            "metadata": {"graderError": True},
        },
    ]
    rows = [
        row(
            0,
            response={"output": "Oslo"},
            gradingResult={"pass": False, "score": 0.4, "reason": "x", "componentResults": parts},
        ),
        row(0, response={"output": "Bergen"}, gradingResult={"pass": True, "score": 1, "reason": "y"}),
        row(1, success=False, failureReason=2, error="API error: 500"),
    ]
    whole = {
        "evalId": "e",
        "config": config({"vars": {"city": "Oslo"}}),
        "results": {"version": 3, "timestamp": "2026-11-21T10:15:00.000Z", "results": rows},
    }
    (tmp_path / "out.json").write_text(json.dumps(whole))
    first, again, failed = import_promptfoo(tmp_path / "out.json").run.results
    assert [(s.name, s.status, s.value, s.passed) for s in first.scores] == [
        ("equals", "scored", 1, True), ("equals-2", "scored", 0.2, False), ("kind", "unscored", None, None),
    ]  # fmt: skip
    assert (first.trial.target, first.trial.repeat, again.trial.repeat) == ("openai/small", 0, 1)
    assert (first.output.seconds, again.verdict, failed.verdict) == (0.12, "pass", "error")
    assert failed.output.error == "API error: 500"


def test_a_verdict_that_is_neither_true_nor_false_is_said(tmp_path):
    rows = [
        {"testIdx": n, "vars": {}, "provider": "p", "gradingResult": {"pass": said, "score": 1, "reason": ""}}
        for n, said in enumerate(["yes", True, None])
    ]
    rows.append({"testIdx": 3, "vars": {}, "provider": "p", "gradingResult": {"pass": "no"}})
    (tmp_path / "out.json").write_text(json.dumps({"results": {"version": 3, "results": rows}}))
    imported = import_promptfoo(tmp_path / "out.json")
    assert [result.verdict for result in imported.run.results] == ["ungated", "pass", "ungated", "unscored"]
    (said,) = imported.remarks
    assert said.startswith(f'{tmp_path}/out.json:1: `pass` is "yes", neither true nor false, and so in 2 more gradings')


def test_a_test_and_its_results_are_the_same_case(tmp_path):
    whole = config({"vars": {"city": "Oslo"}}, {"vars": {"city": "Bergen"}})
    rows = [
        {"testIdx": n, "vars": test["vars"], "provider": "p", "success": True} for n, test in enumerate(whole["tests"])
    ]
    _, _, cases = moved(tmp_path, whole)
    (tmp_path / "out.json").write_text(json.dumps({"results": {"version": 3, "results": rows}}))
    results = import_promptfoo(tmp_path / "out.json").run.results
    assert [case.id for case in cases] == [result.trial.case.id for result in results]


def test_two_files_of_one_name_are_not_taken_for_each_other(tmp_path):
    asserts = [{"type": "python", "value": f"file://{folder}/check.py"} for folder in ("a", "b")]
    files = {"a/check.py": CHECK, "b/check.py": CHECK + "# another\n"}
    imported, suite, _ = moved(tmp_path, config({"vars": {"city": "Oslo"}, "assert": asserts}), code=[*files], **files)
    assert len(suite["metrics"]) == 1
    assert imported.files["check.py"] == CHECK
    left = [part.to for part in imported.parts if part.outcome == "left out"]
    assert left == ["another file has the name check.py; rename one of them"]


def test_braces_in_data_are_none_of_the_template():
    assert with_raw_marks({"a": ["{{x}}", "plain"]}) == {"a": ["{% raw %}{{x}}{% endraw %}", "plain"]}
    for text in ("{{x}}", "{% raw %}", "{% endraw %}{{x}}", "{% raw %}a{% endraw %} {{b}}", ""):
        assert without_raw_marks(with_raw_marks(text)) == text or "endraw" in text


def test_checks_of_a_row_judge_that_row_alone():
    scorer = Assertions()
    asked = Case(
        id="1",
        expected="Oslo",
        metadata={"assert": [{"equals": {}}, {"not-contains": {"any": ["sorry"], "name": "calm"}}, {"equals": {}}]},
    )
    assert [(s.name, s.passed) for s in scorer(asked, Output(value="Oslo"))] == [
        ("equals", True),
        ("calm", True),
        ("equals-2", True),
    ]
    assert [s.status for s in scorer(Case(id="2"), Output(value="x"))] == ["skipped"]


@pytest.mark.parametrize(
    "said",
    [
        "equals",
        {"equals": {}},
        [{"os:system": {}}],
        [{"equals": {}, "regex": {}}],
        ["x"],
        [{"chrf": {}}],
        [{"set": {}}],
        [{"set": {"checks": [{"similarity": {}}]}}],
        [{1: 2}],
    ],
    ids=str,
)
def test_a_row_that_asks_for_no_check_is_an_error(said):
    with pytest.raises(ValueError, match="`assert` in the metadata"):
        Assertions()(Case(id="1", metadata={"assert": said}), Output(value="x"))


def test_what_a_row_asks_a_judge_costs_nothing_elsewhere():
    judge = ScriptedModel([{"reason": "One word.", "pass": True}, {"reason": "Most of it.", "answer": "B"}])
    rows = [
        {"closed_qa": {"criteria": "Is short"}},
        {"criteria": {"criteria": "Is kind", "threshold": 0.8}},
        {"equals": {}},
    ]
    scores = asyncio.run(JudgedAssertions()(Case(id="1", metadata={"assert": rows}), Output(value="Oslo"), judge))
    assert [(s.name, s.value, s.passed) for s in scores] == [("closed_qa", 1.0, True), ("criteria", 0.75, False)]
    (skipped,) = asyncio.run(JudgedAssertions()(Case(id="2"), Output(value="Oslo"), judge))
    assert skipped.status == "skipped"


def test_what_is_neither_is_refused(tmp_path):
    (tmp_path / "x.yaml").write_text("a: 1\n")
    with pytest.raises(DataError, match="neither a config of promptfoo"):
        import_promptfoo(tmp_path / "x.yaml")


@pytest.mark.parametrize("number", ["1.2.3", ".", "-."])
def test_a_cell_with_a_threshold_that_is_no_number_is_text(number, tmp_path):
    (tmp_path / "t.csv").write_text(f"x,__expected\n1,similar({number}): Oslo\n")
    (tmp_path / "promptfooconfig.yaml").write_text("prompts: ['{{x}}']\ntests: t.csv\n")
    (case,) = import_promptfoo(tmp_path).files["cases.jsonl"].splitlines()
    assert json.loads(case)["expected"] == f"similar({number}): Oslo"


@pytest.mark.parametrize("settings", [5, "text", [1], True])
def test_settings_of_a_row_s_check_are_a_mapping(settings):
    case = Case(id="1", metadata={"assert": [{"contains": settings}]})
    with pytest.raises(ValueError, match=r"it takes \{scorer: settings\}"):
        Assertions()(case, Output(value="x"))
