"""A prompt file as what is run: its tests on every model, judged by its rules and by the metrics beside it."""

import json
from collections import Counter
from pathlib import Path

import pytest

from evalmark.store import open_store
from evalmark.testing.scripted import ScriptedServer

FILES = {
    "reply.prompty": """---
name: Reply
inputs:
  question: {type: string}
sample:
  question: Where is my order?
---
system:
You answer customers of a shop.
user:
{{question}}
""",
    "kind.metric.prompty": """---
name: Kind
tags: [scorer]
inputs:
  output: {type: string}
---
user:
Score how kind <OUTPUT> is from 0 to 100.
<OUTPUT>{{output}}</OUTPUT>
""",
    "later.metric.prompty": """---
name: Later
tags: [experimental]
inputs:
  output: {type: string}
---
user:
Is <OUTPUT> fine? Answer OK or ERR.
<OUTPUT>{{output}}</OUTPUT>
""",
    "reply/rules.txt": "The answer must be at most 5 words.\nThe answer must be polite.\n",
    "reply/inverse_rules.txt": "The answer must be longer than 5 words.\nThe answer must be rude.\n",
    "reply/tests.json": json.dumps(
        [
            {"ruleid": "1", "testid": "1", "testinput": "Where is my order?", "expectedoutput": "soon"},
            {"ruleid": "4", "testid": "1", "testinput": "You are bad", "expectedoutput": "sorry"},
            {"ruleid": "2", "testid": "1", "testinput": "", "expectedoutput": "hello"},
        ]
    ),
}
MODELS = ("--model", "openai/long", "--model", "openai/short", "--judge", "openai/judge")


def says(said):
    """One model that is too long for the first rule, one that is not, and a judge that finds everything fine."""
    if said.schema is None:
        return "About your order, dear customer: soon" if said.model == "long" else "Soon"
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


def without_the_broken_row():
    path = Path("reply/tests.json")
    path.write_text(json.dumps(json.loads(path.read_text())[:2]), encoding="utf-8")


def test_tests_rules_and_metrics_beside_a_prompt_are_found_by_themselves(evalmark, server):
    without_the_broken_row()
    found = evalmark("run", "reply.prompty", *MODELS)
    assert found.code == 1
    with open_store(".evalmark/evalmark.db", read_only=True) as store:
        run = store.run("last")
        scores = {
            (r.trial.target, s.name): (s.status, s.passed)
            for r in run.results
            for s in r.scores
            if r.trial.position == 0
        }
    assert scores == {
        ("openai/long", "compliance"): ("scored", True),
        ("openai/long", "rules.1"): ("scored", False),
        ("openai/long", "kind"): ("scored", None),
        ("openai/long", "later"): ("skipped", None),
        ("openai/short", "compliance"): ("scored", True),
        ("openai/short", "rules.1"): ("scored", True),
        ("openai/short", "kind"): ("scored", None),
        ("openai/short", "later"): ("skipped", None),
    }
    asked = Counter(said.model for said in server.requests)
    assert (asked["long"], asked["short"]) == (2, 2)  # once for each test, whatever judges it
    assert "at most 5 words" in found.out
    assert server.problems == []


def test_the_prompt_alone_is_enough_of_a_command_and_is_not_paid_twice(evalmark, server):
    without_the_broken_row()
    assert evalmark("reply.prompty", *MODELS).code == 1
    sent = server.count
    assert evalmark("reply.prompty", *MODELS).code == 1
    assert server.count == sent


def test_the_overview_sets_the_models_side_by_side(evalmark, server):
    without_the_broken_row()
    evalmark("run", "reply.prompty", *MODELS)
    text = evalmark("show", "last", "--overview").out
    assert "openai/long" in text
    assert "openai/short" in text
    assert "rules.1: openai/long against openai/short" in text


def test_without_tests_the_samples_of_the_prompt_are_asked(evalmark, server):
    Path("reply/tests.json").unlink()
    evalmark("run", "reply.prompty", "--model", "openai/short", "--judge", "openai/judge")
    with open_store(".evalmark/evalmark.db", read_only=True) as store:
        (result,) = store.run("last").results
    assert result.trial.case.input == {"question": "Where is my order?"}


def _only_the_metric(name: str, text: str):
    """No rules, and no other metric."""
    for path in (*Path().glob("*.metric.prompty"), *Path("reply").glob("*rules.txt")):
        path.unlink()
    Path(f"{name}.metric.prompty").write_text(text, encoding="utf-8")


LIKE_TRUTH = """---
tags: [groundtruth]
---
user:
Is {{output}} the same as {{groundtruth}}? Answer OK or ERR.
"""
BY_RULES = "---\n---\nuser:\nDoes {{output}} keep to {{rules}}? Answer OK or ERR.\n"


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        pytest.param("later", FILES["later.metric.prompty"], "tagged experimental", id="a metric that was only found"),
        pytest.param("ruled", BY_RULES, "has none", id="a metric of rules, and there are none"),
        pytest.param("truth", LIKE_TRUTH, "needs a ground truth", id="no test has a ground truth"),
    ],
)
def test_nobody_has_to_judge_where_every_metric_that_asks_is_skipped(evalmark, server, name, text, why):
    without_the_broken_row()
    _only_the_metric(name, text)
    said = evalmark("run", "reply.prompty", *MODELS[:2], "-o", "out.json", "-o", "out.md")
    shown = "skipped in 2 trials: {}"
    report = json.loads(Path("out.json").read_text(encoding="utf-8"))
    (reasons,) = [metric["skipped_because"] for metric in report["summary"]["groups"][0]["metrics"]]
    assert [(why in reason, n) for reason, n in reasons.items()] == [(True, 2)]
    for text in (said.out, Path("out.md").read_text(encoding="utf-8")):
        assert shown.format(next(iter(reasons)))[:60] in " ".join(text.replace("\\", "").split())
    with open_store(".evalmark/evalmark.db", read_only=True) as store:
        scores = [score for result in store.run("last").results for score in result.scores]
    assert [(score.name, score.status) for score in scores] == [(name, "skipped")] * 2
    assert why in scores[0].reason
    assert {said.model for said in server.requests} == {"long"}


def test_one_test_with_a_ground_truth_needs_a_judge(evalmark, server):
    without_the_broken_row()
    _only_the_metric("truth", LIKE_TRUTH)
    path = Path("reply/tests.json")
    first, second = json.loads(path.read_text())
    path.write_text(json.dumps([first, {**second, "groundtruth": "I am sorry"}]), encoding="utf-8")
    found = evalmark("run", "reply.prompty", *MODELS[:2])
    assert (found.code, server.count) == (2, 0)
    assert "truth needs a judge; name one with --judge" in found.err


def test_a_judge_whose_key_is_missing_is_no_fault_where_the_metric_that_would_ask_is_skipped(evalmark, server):
    without_the_broken_row()
    _only_the_metric("later", FILES["later.metric.prompty"])
    evalmark("run", "reply.prompty", *MODELS[:2], "--judge", "anthropic/judge", "--judge", "openai/other")
    with open_store(".evalmark/evalmark.db", read_only=True) as store:
        run = store.run("last")
        assert [(metric.name, metric.judge) for metric in run.metrics] == [("later", "")]
    assert {said.model for said in server.requests} == {"long"}


@pytest.mark.parametrize(
    ("change", "words", "said"),
    [
        pytest.param(None, MODELS, "reply/tests.json:", id="a test without input"),
        pytest.param(without_the_broken_row, MODELS[:4], "need a judge; name one with --judge", id="no judge"),
        pytest.param(without_the_broken_row, MODELS[4:], "no model is named", id="no model"),
        pytest.param(
            lambda: [Path("reply/tests.json").unlink(), _without_sample()],
            MODELS,
            "evalmark generate",
            id="no tests at all",
        ),
        pytest.param(
            lambda: Path("reply.prompty").write_text("---\nname: [\n---\nx"), MODELS, "reply.prompty:", id="no head"
        ),
    ],
)
def test_what_cannot_be_run_is_said_before_any_call(evalmark, server, change, words, said):
    if change is not None:
        change()
    found = evalmark("run", "reply.prompty", *words)
    assert (found.code, server.count) == (2, 0)
    assert said in found.err


def _without_sample():
    path = Path("reply.prompty")
    path.write_text(path.read_text().replace("sample:\n  question: Where is my order?\n", ""))


def test_the_judge_of_the_flag_wins_over_the_one_that_a_metric_file_names(evalmark, server, monkeypatch):
    without_the_broken_row()
    kind = Path("kind.metric.prompty")
    kind.write_text(kind.read_text().replace("name: Kind", "name: Kind\njudge: openai/own"), encoding="utf-8")
    evalmark("run", "reply.prompty", *MODELS[2:])
    assert {said.model for said in server.requests} == {"short", "judge"}
    monkeypatch.setenv("EVALMARK_JUDGE", "openai/judge")
    evalmark("run", "reply.prompty", *MODELS[2:4])
    assert "own" in {said.model for said in server.requests}


def test_one_fault_of_many_tests_is_said_once(evalmark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("p").mkdir()
    Path("p.prompty").write_text("user:\n{{text}} {{tone}}\n")
    Path("p/tests.json").write_text(json.dumps([{"testinput": {"text": str(n)}} for n in range(48)], indent=0))
    found = evalmark("validate", "p.prompty")
    assert found.code == 2
    (missing,) = (found.out + found.err).strip().splitlines()
    assert missing.startswith("p/tests.json:2: p.prompty:2: {{tone}} has no value")
    assert missing.endswith("The same fault is in 47 more rows: lines 7, 12, 17, 22, 27, ….")


@pytest.mark.parametrize("verb", [("validate",), ("run", "--model", "openai/a")])
def test_a_prompt_of_github_models_under_another_name_is_known(evalmark, tmp_path, monkeypatch, verb):
    monkeypatch.chdir(tmp_path)
    Path("joke.yml").write_text("name: Joke\nmodel: openai/a\nmessages:\n- {role: user, content: '{{text}}'}\n")
    found = evalmark(verb[0], "joke.yml", *verb[1:])
    assert found.code == 2
    assert (
        "joke.yml:1: this seems to be a prompt of GitHub Models; let its name end in .prompt.yml"
        in found.out + found.err
    )
