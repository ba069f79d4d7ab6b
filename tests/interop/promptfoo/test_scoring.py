"""What a config asserts is scored in a run as promptfoo scores it: sets, thresholds, transforms, judges and functions."""

import asyncio
import shutil

import pytest
import yaml

from evalmark import Case, Output
from evalmark.cli.commands.file_checks import validate
from evalmark.core.errors import ConfigError
from evalmark.core.settings import Settings
from evalmark.interop.promptfoo.scorers import NodeAssertion, PythonAssertion
from evalmark.interop.shared.assertions import Assertions, JudgedAssertions, SimilarAssertions
from evalmark.testing.chat import ScriptedModel
from tests.interop.promptfoo.test_promptfoo import config, moved

YES, NO, MOST = {"reason": "r", "pass": True}, {"reason": "r", "pass": False}, {"reason": "r", "answer": "B"}


def one_test(*asserts, **more):
    return {"vars": {"city": "Oslo"}, "assert": list(asserts), **more}


def one_case(folder, *asserts, others=(), **more):
    """The case of a test with these assertions, in a suite whose other test has others."""
    imported, suite, cases = moved(
        folder, config(one_test(*asserts, **more), {"vars": {"city": "Rome"}, "assert": list(others)})
    )
    assert imported.dropped == ()
    assert validate(folder / "in" / "suite.yaml", Settings()) == []
    return imported, suite, cases[0]


@pytest.mark.parametrize(
    ("threshold", "weights", "passed", "value"),
    [(0.5, (1, 1), True, 0.5), (0.6, (1, 1), False, 0.5), (0.75, (3, 1), True, 0.75), (0.3, (1, 3), False, 0.25), (1, (1, 0), True, 1.0)],
)  # fmt: skip
@pytest.mark.parametrize("form", ["set", "test"])
def test_a_threshold_is_that_of_the_weighted_mean(tmp_path, form, threshold, weights, passed, value):
    asserts = [
        {"type": "contains", "value": text, "weight": weight}
        for text, weight in zip(("Oslo", "Rome"), weights, strict=True)
    ]
    if form == "set":
        _, _, case = one_case(tmp_path, {"type": "assert-set", "threshold": threshold, "assert": asserts})
    else:
        _, _, case = one_case(tmp_path, *asserts, threshold=threshold)
    (score,) = Assertions()(case, Output(value="Oslo"))
    assert (score.passed, score.value) == (passed, value)


def test_a_set_without_a_threshold_is_each_of_its_assertions(tmp_path):
    inner = [{"type": "contains", "value": "Oslo"}, {"type": "is-json"}]
    _, _, case = one_case(tmp_path, {"type": "assert-set", "assert": inner})
    scores = Assertions()(case, Output(value="Oslo"))
    assert [(score.name, score.passed) for score in scores] == [("contains", True), ("is_json", False)]


def test_a_set_with_judged_assertions_asks_the_judge(tmp_path):
    inner = [{"type": "llm-rubric", "value": "Is kind"}, {"type": "contains", "value": "Oslo"}]
    _, suite, case = one_case(tmp_path, {"type": "assert-set", "threshold": 0.5, "assert": inner, "metric": "both"})
    assert suite["metrics"] == [{"evalmark.scorers:JudgedAssertions": {"name": "judged_assertions"}}]
    (score,) = asyncio.run(JudgedAssertions()(case, Output(value="Oslo"), ScriptedModel([NO])))
    assert (score.name, score.passed, score.value) == ("both", True, 0.5)


def test_a_set_with_a_part_that_cannot_be_judged_is_not_judged(tmp_path):
    inner = [{"type": "cost", "threshold": 1}, {"type": "contains", "value": "Oslo"}]
    _, _, case = one_case(tmp_path, {"type": "assert-set", "threshold": 0.1, "assert": inner})
    (score,) = Assertions()(case, Output(value="Oslo"))
    assert (score.status, score.passed) == ("unscored", None)


def test_several_criteria_of_g_eval_pass_by_their_mean(tmp_path):
    imported, _, case = one_case(tmp_path, {"type": "g-eval", "value": ["Is kind", "Is short"]})
    [change] = [part.to for part in imported.parts if part.name.endswith("(g-eval)")]
    assert change.startswith("the judge gives one of five")
    (score,) = asyncio.run(
        JudgedAssertions()(case, Output(value="Oslo"), ScriptedModel([MOST, {"reason": "r", "answer": "C"}]))
    )
    assert (score.value, score.passed) == (0.625, False)


def test_judges_see_the_output_after_its_transform(tmp_path):
    judge = ScriptedModel([YES])
    asserted = {"type": "llm-rubric", "value": "Is kind", "transform": "JSON.parse(output).answer"}
    _, _, case = one_case(tmp_path, asserted, options={"transform": "output.trim()"})
    (score,) = asyncio.run(JudgedAssertions()(case, Output(value=' {"answer": "tidy"} '), judge))
    assert score.passed is True
    asked = "\n".join(str(turn.content) for turn in judge.requests[0].messages)
    assert "tidy" in asked
    assert "{" not in asked.split("The answer:")[1].split("</data")[0]
    (broken,) = asyncio.run(JudgedAssertions()(case, Output(value="no JSON"), judge))
    assert (broken.status, broken.passed) == ("error", None)


def test_each_judge_of_a_config_judges_what_is_its_own(tmp_path):
    asserts = [{"type": "llm-rubric", "value": f"By {name}", "provider": f"openai:chat:{name}"} for name in ("a", "b")]
    _, suite, case = one_case(tmp_path, *asserts)
    settings = [metric["evalmark.scorers:JudgedAssertions"] for metric in suite["metrics"]]
    assert [(one["group"], one["judge"]) for one in settings] == [("openai/a", "openai/a"), ("openai/b", "openai/b")]
    judge = ScriptedModel([YES])
    (score,) = asyncio.run(JudgedAssertions(group="openai/b")(case, Output(value="x"), judge))
    assert "By b" in str(judge.requests[0].messages)
    assert score.passed


def test_similarity_to_several_texts_is_that_to_the_closest(tmp_path):
    async def embedder(texts):
        return [[1.0, 0.0] if "Oslo" in text else [0.0, 1.0] for text in texts]

    _, _, case = one_case(tmp_path, {"type": "similar", "value": ["Rome", "Oslo"]})
    (score,) = asyncio.run(SimilarAssertions()(case, Output(value="in Oslo"), embedder))
    assert (score.passed, score.raw) == (True, pytest.approx(1.0))
    (skipped,) = asyncio.run(SimilarAssertions()(Case(id="2"), Output(value="x"), embedder))
    assert skipped.status == "skipped"


@pytest.mark.parametrize(
    ("asserted", "kind", "settings", "change"),
    [
        ({"type": "llm-rubric", "value": "x"}, "closed_qa", {"criteria": "x"}, "yes or no"),
        ({"type": "llm-rubric", "value": "x", "threshold": 0.8}, "criteria", {"criteria": "x", "threshold": 0.8}, "five grades"),
        ({"type": "llm-rubric", "value": {"a": 1}}, "closed_qa", {"criteria": '{"a": 1}'}, "yes or no"),
        ({"type": "not-llm-rubric", "value": "x"}, "closed_qa", {"criteria": "The opposite of this criterion has to be true of the output: x"}, "yes or no"),
        ({"type": "llm-rubric", "value": "x", "weight": 0}, "criteria", {"criteria": "x"}, "measured only"),
        ({"type": "llm-rubric", "value": "x", "provider": "python:judge.py"}, "closed_qa", {"criteria": "x"}, "the suite's judge takes its place"),
        ({"type": "context-faithfulness", "threshold": 0.9}, "faithfulness", {"threshold": 0.9}, "share of the claims"),
        ({"type": "context-faithfulness"}, "faithfulness", {"threshold": 0.0}, "share of the claims"),
    ],
)  # fmt: skip
def test_judged_assertions_become_judged_metrics_and_say_what_changes(tmp_path, asserted, kind, settings, change):
    test = {"vars": {"query": "Where?", "context": "Oslo is in Norway."}, "assert": [asserted]}
    imported, _, cases = moved(tmp_path, config(test, {"vars": {"query": "x"}}))
    assert list(cases[0].metadata["assert"]) == [{kind: settings}]
    [part] = [part for part in imported.parts if part.name.endswith(f"({asserted['type']})")]
    assert part.outcome == "changed"
    assert change in part.to
    if kind == "faithfulness":
        assert cases[0].contexts == ("Oslo is in Norway.",)


@pytest.mark.parametrize("kind", ["context-recall", "context-relevance", "answer-relevance"])
def test_measures_of_retrieval_become_criteria_with_what_they_measure(tmp_path, kind):
    test = {
        "vars": {"query": "Where?", "context": "Oslo is in Norway."},
        "assert": [{"type": kind, "value": "In Norway", "threshold": 0.6}],
    }
    _, suite, _ = moved(tmp_path, config(test))
    [metric] = suite["metrics"]
    assert metric["criteria"]["threshold"] == 0.6
    assert ("In Norway" in metric["criteria"]["criteria"]) is (kind == "context-recall")


@pytest.mark.parametrize(
    "prompt",
    [
        "Is {{ output }} from {{city}} {{ rubric }}?",
        '[{"role": "system", "content": "Is {{output}}{% raw %}{% endraw %} from {{city}}"}, {"role": "user", "content": "{{rubric}}?"}]',
        "file://prompt.txt",
    ],
)
def test_a_prompt_of_the_user_s_own_is_the_criterion(tmp_path, prompt):
    asserted = one_test({"type": "llm-rubric", "value": "kind"}, options={"rubricPrompt": prompt})
    imported, suite, _ = moved(tmp_path, config(asserted), **{"prompt.txt": "Is {{output}} from Oslo kind?\n"})
    [metric] = suite["metrics"]
    text = " ".join(metric["closed_qa"]["criteria"].split())
    assert text.replace("kind ?", "kind?") == "Is (the answer that is shown below) from Oslo kind?"
    assert any("its own prompt becomes the criterion" in part.to for part in imported.parts)


def test_settings_of_a_grader_are_kept(tmp_path):
    grader = {"id": "openai:chat:a", "config": {"temperature": 1, "apiKey": "secret", "tools": []}}
    imported, suite, _ = moved(tmp_path, config(one_test({"type": "llm-rubric", "value": "x", "provider": grader})))
    assert suite["metrics"] == [{"closed_qa": {"criteria": "x", "settings": {"temperature": 1}, "judge": "openai/a"}}]
    assert any("without the grader's `tools`" in part.to for part in imported.parts)
    assert "secret" not in str(imported.files)


@pytest.mark.parametrize(
    ("grader", "address", "judge"),
    [
        ("openai:chat:a", "http://127.0.0.1:1234/v1", "openai_compatible:http://127.0.0.1:1234/v1/a"),
        ("anthropic:messages:a", "http://127.0.0.1:1234", None),
    ],
)
def test_a_grader_at_an_address_of_its_own_is_not_called_elsewhere(tmp_path, grader, address, judge):
    row = {"id": grader, "config": {"apiBaseUrl": address}}
    imported, suite, _ = moved(tmp_path, config(one_test({"type": "llm-rubric", "value": "x", "provider": row})))
    assert suite["metrics"][0]["closed_qa"].get("judge") == judge
    assert any("the suite's judge takes its place" in part.to for part in imported.parts) == (judge is None)


def test_values_are_templates_and_files(tmp_path):
    asserts = [
        {"type": "contains", "value": "{{ city | upper }}"},
        {"type": "contains", "value": "{% if city %}yes{% endif %}"},
        {"type": "contains-any", "value": "file://words.yaml"},
        {"type": "llm-rubric", "value": "file://rubric.txt"},
    ]
    files = {"words.yaml": "- '{{city}}'\n- b\n", "rubric.txt": "Is kind to {{city}}\n"}
    _, _, (case, _) = moved(tmp_path, config(one_test(*asserts), {"vars": {"city": "x"}}), **files)
    entries = [next(iter(one.values())) for one in case.metadata["assert"]]
    assert [list(entries[at]["any"]) for at in (0, 1, 2) if "any" in entries[at]] in (
        [["yes"], ["{{city}}", "b"]],
        [["OSLO"], ["yes"], ["{{city}}", "b"]],
    )
    assert entries[3]["criteria"] == "Is kind to {{city}}"


# Functions.


def test_inline_python_is_a_function_in_a_file_that_the_user_can_read(tmp_path):
    asserts = [
        {"type": "python", "value": "len(output) > 2", "metric": "long"},
        {
            "type": "not-python",
            "value": "import math\nif output == context['vars']['city']:\n  return True\nreturn {'pass': math.pi > 4, 'score': 0.2, 'reason': 'r'}\n",
        },
    ]
    refused, _, _ = moved(tmp_path / "a", config(one_test(*asserts)))
    assert sum(part.number for part in refused.dropped) == 2
    assert not any(name.endswith(".py") for name in refused.files)
    imported, suite, (case,) = moved(tmp_path / "b", config(one_test(*asserts)), everything=True)
    assert imported.dropped == ()
    first, second = (metric["evalmark.scorers:PythonAssertion"] for metric in suite["metrics"])
    assert (first["name"], first["function"]) == ("long", "get_assert")
    folder = tmp_path / "b" / "in"
    assert PythonAssertion(file=folder / first["file"])(case, Output(value="Oslo")) is True
    other = PythonAssertion(file=folder / second["file"], negated=second["negated"])
    assert other(case, Output(value="Oslo")) is False
    assert other(case, Output(value="x")) == {"score": 0.2, "pass": True, "reason": "r"}


@pytest.mark.parametrize("result", ["{'pass': True}", "{'score': 0.4, 'reason': 'x'}", "{'pass_': True, 'score': 1}"])
def test_an_object_that_is_no_grade_fails_as_in_promptfoo(tmp_path, result):
    asserts = one_test({"type": "python", "value": result})
    _, suite, (case,) = moved(tmp_path, config(asserts), everything=True)
    file = tmp_path / "in" / suite["metrics"][0]["evalmark.scorers:PythonAssertion"]["file"]
    for negated in (False, True):
        check = PythonAssertion(file=file, negated=negated)
        assert check(case, Output(value="Oslo"))["pass"] is False


def test_a_function_that_only_some_tests_have_scores_only_these(tmp_path):
    tests = [one_test({"type": "python", "value": "True"}), {"vars": {"city": "Rome"}}]
    imported, suite, cases = moved(tmp_path, config(*tests), everything=True)
    assert imported.dropped == ()
    [metric] = suite["metrics"]
    settings = dict(metric["evalmark.scorers:PythonAssertion"])
    assert settings.pop("name") == settings["case_key"]
    check = PythonAssertion(**{**settings, "file": tmp_path / "in" / settings["file"]})
    assert check(cases[0], Output(value="x")) is True
    assert check(cases[1], Output(value="x")).status == "skipped"


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")


@needs_node
def test_javascript_that_is_not_computed_runs_in_node_if_the_user_allows_it(tmp_path):
    code = "console.log('printed');\nreturn new Date().getFullYear() > 2000 && output === context.vars.city;\n"
    _, suite, (case,) = moved(tmp_path, config(one_test({"type": "javascript", "value": code})), everything=True)
    settings = suite["metrics"][0]["evalmark.scorers:NodeAssertion"]
    check = NodeAssertion(file=tmp_path / "in" / settings["file"])
    assert [check(case, Output(value=value)) for value in ("Oslo", "Rome")] == [True, False]


@needs_node
@pytest.mark.parametrize(
    ("name", "code", "function", "expected"),
    [
        ("a.js", "module.exports = (output, context) => output.length / context.config.n;", "", {"score": 0.5, "passed": True}),
        ("b.cjs", "module.exports = { own: () => ({ pass: true, score: 1, reason: 'r' }) };", "own", {"score": 1, "pass": True, "reason": "r"}),
        ("c.mjs", "export default async (output) => output === 'Oslo';", "", True),
        ("d.mjs", "export const own = () => true;", "own", True),
    ],
)  # fmt: skip
def test_a_javascript_file_exports_a_function(tmp_path, name, code, function, expected):
    (tmp_path / name).write_text(code)
    check = NodeAssertion(file=tmp_path / name, function=function, config={"n": 8})
    assert check(Case(id="1", input={"city": "Oslo"}), Output(value="Oslo")) == expected


@needs_node
def test_a_function_that_fails_says_so(tmp_path):
    (tmp_path / "a.js").write_text("module.exports = () => { throw new Error('no city'); };")
    with pytest.raises(RuntimeError, match=r"a\.js: .*no city"):
        NodeAssertion(file=tmp_path / "a.js")(Case(id="1"), Output(value="x"))
    (tmp_path / "b.js").write_text("module.exports = 5;")
    with pytest.raises(RuntimeError, match="exports no function"):
        NodeAssertion(file=tmp_path / "b.js")(Case(id="1"), Output(value="x"))


def test_without_node_the_metric_says_what_it_needs(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match=r"it needs Node\.js"):
        NodeAssertion(file=tmp_path / "a.js")


def test_files_that_an_allowed_file_imports_are_taken_along_or_named(tmp_path):
    files = {"checks.py": "import words\ndef get_assert(output, context): return words.ok\n", "words.py": "ok = True\n"}
    asserted = {"type": "python", "value": "file://checks.py"}
    both, _, _ = moved(tmp_path / "a", config(one_test(asserted)), code=["checks.py", "words.py"], **files)
    assert {"checks.py", "words.py"} <= both.files.keys()
    one, _, _ = moved(tmp_path / "b", config(one_test(asserted)), code=["checks.py"], **files)
    assert "words.py" not in one.files
    assert "checks.py imports words.py; name it with --code too, or the assertion will fail." in one.remarks


def test_a_config_of_all_kinds_is_a_suite_that_validates(tmp_path):
    kinds = ["is-xml", "contains-xml", "is-html", "contains-html", "contains-json"]
    more = [{"type": kind, "value": "a b"} for kind in ("levenshtein", "bleu", "gleu", "rouge-n")]
    asserts = (
        [{"type": kind} for kind in kinds]
        + more
        + [{"type": "cost", "threshold": 1}, {"type": "finish-reason", "value": "stop"}]
    )
    imported, suite, _ = moved(tmp_path, config(one_test(*asserts)))
    assert imported.dropped == ()
    assert len(suite["metrics"]) == len(asserts)
    assert validate(tmp_path / "in" / "suite.yaml", Settings()) == []
    assert yaml.safe_dump(suite)
