"""Judged runs from the command line, against a server that speaks the real protocol and counts what it is sent."""

import json
from collections import Counter
from pathlib import Path

import pytest

from evalmark.store import open_store
from evalmark.testing.scripted import ScriptedServer, Status

BOT = """
calls = []

def answer(text):
    with open("asked.txt", "a") as asked:
        asked.write(text + "\\n")
    return text.upper()


class Chat:
    def __init__(self):
        self.heard = []

    def __call__(self, text):
        self.heard.append(text)
        with open("asked.txt", "a") as asked:
            asked.write(text + "\\n")
        return " ".join(self.heard)
"""
SCALE = {
    "name": "clear",
    "config": {"needs_history": False, "needs_example_output": False},
    "metric_description": "Is it clear?",
    "score": {"type": "scale", "min": 1, "max": 5, "description": "5 is clearest"},
}
FLOW = {**SCALE, "name": "flow", "config": {"needs_history": True, "needs_example_output": False}}
RIGHT = {**SCALE, "name": "right", "config": {"needs_history": False, "needs_example_output": True}}
CASES = 6


def judge(said):
    """Four of five, with the reason that this model gives."""
    return json.dumps({"reason": f"{said.model} thinks so", "score": 4})


@pytest.fixture
def server(world, monkeypatch):
    for name in ("OPENAI_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ScriptedServer(judge) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        yield server


@pytest.fixture
def suite(world):
    """Writes a test as Tiamat's users do, with these metrics; gives its name."""

    def write(*metrics, outputs=True, **more):
        Path("bot.py").write_text(BOT, encoding="utf-8")
        rows = [{"input": f"x{n}"} | ({"output": f"X{n}"} if outputs else {}) for n in range(CASES)]
        data = {"name": "letters", "config": {"example_outputs": outputs}, "data": rows}
        Path("data.json").write_text(json.dumps(data), encoding="utf-8")
        for metric in metrics:
            Path(f"{metric['name']}.json").write_text(json.dumps(metric), encoding="utf-8")
        names = [f"{metric['name']}.json" for metric in metrics]
        test = {"datasets": ["data.json"], "metrics": names, "target": "bot:answer"} | more
        Path("test.json").write_text(json.dumps(test), encoding="utf-8")
        return "test.json"

    return write


def asked():
    path = Path("asked.txt")
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def last():
    with open_store(".evalmark/evalmark.db", read_only=True) as store:
        run = store.run("last")
        return run, list(run.results)


def test_the_same_answers_are_judged_once_and_for_all(evalmark, server, suite):
    first = evalmark("run", suite(SCALE, RIGHT), "--judge", "openai/m")
    assert (first.code, len(server.requests)) == (0, 2 * CASES)
    assert "4.00 of 1..5 (0.75)" in first.out
    assert "openai/m  12 calls" in first.out
    again = evalmark("run", "test.json", "--judge", "openai/m")
    assert (again.code, len(server.requests)) == (0, 2 * CASES)
    assert "12 cached" in again.out
    assert len(asked()) == 2 * CASES, "a Python target is always called"


@pytest.mark.parametrize("words", [["test.json"], ["run", "test.json"]], ids=["a test alone", "with the verb"])
def test_a_test_of_tiamat_runs_as_it_is(evalmark, server, suite, words):
    suite(SCALE)
    assert evalmark(*words, "--judge", "openai/m").code == 0


def test_recordings_take_a_run_to_a_place_without_keys_and_network(evalmark, server, suite, world, monkeypatch):
    evalmark("run", suite(SCALE), "--judge", "openai/m", "--store", "one.db")
    assert evalmark("cache", "export", "calls.jsonl", "--store", "one.db").code == 0
    sent = len(server.requests)
    nothing = evalmark("run", "test.json", "--judge", "openai/m", "--store", "two.db", "--replay", "strict")
    assert nothing.code == 3
    assert "is not in the journal" in nothing.text or "not recorded" in nothing.text
    assert evalmark("cache", "import", "calls.jsonl", "--store", "two.db").code == 0
    found = evalmark("run", "test.json", "--judge", "openai/m", "--store", "two.db", "--replay", "strict")
    assert (found.code, len(server.requests)) == (0, sent)


def test_a_budget_ends_the_run_cleanly_and_a_larger_one_goes_on(evalmark, server, suite):
    ended = evalmark("run", suite(SCALE), "--judge", "openai/m", "--max-calls", "2", "-j", "1")
    assert (ended.code, len(server.requests)) == (3, 2)
    assert "The budget of 2 calls is reached" in ended.out
    run, results = last()
    assert (run.status, {r.verdict for r in results}) == ("stopped", {"ungated"})
    assert f"--resume {run.id}" in ended.err
    assert "evalmark run test.json --judge openai/m --max-calls MORE" in ended.err
    done = evalmark("run", "test.json", "--judge", "openai/m", "--max-calls", "20", "--resume", run.id)
    assert (done.code, len(server.requests)) == (0, CASES)
    run, results = last()
    assert (run.status, len(results), sum(s.calls for s in run.spending)) == ("complete", CASES, CASES)
    assert run.notes == (), "what stopped it is over"


def test_a_key_that_is_refused_is_said_once_and_nothing_is_recorded_for_it(evalmark, server, suite):
    server.answer = lambda said: Status(401, body='{"error": {"message": "bad key"}}')
    refused = evalmark("run", suite(SCALE), "--judge", "openai/m", "-j", "2")
    assert refused.code == 3
    assert len(server.requests) <= 2
    assert refused.out.count("answered 401") == 1
    assert last()[1] == []
    server.answer = judge
    assert evalmark("run", "test.json", "--judge", "openai/m", "--resume").code == 0
    assert len(last()[1]) == CASES


def test_what_ended_in_an_error_can_be_run_again_alone(evalmark, server, suite):
    bad = {"x1", "x4"}
    server.answer = lambda said: (
        Status(400, body='{"error": {"message": "no"}}')
        if any(f"\n{x}\n" in said.messages[-1][1] for x in bad)
        else judge(said)
    )
    first = evalmark("run", suite(SCALE), "--judge", "openai/m")
    assert first.code == 3
    _, results = last()
    assert sum(r.verdict == "error" for r in results) == 2
    server.answer = judge
    sent = len(server.requests)
    again = evalmark("run", "test.json", "--judge", "openai/m", "--retry-errors")
    run, results = last()
    assert again.code == 0
    assert (len(results), {r.verdict for r in results}, run.status) == (CASES, {"ungated"}, "complete")
    assert len(server.requests) - sent == 2
    assert sorted(asked()[CASES:]) == sorted(bad)


def test_only_some_cases_can_be_run(evalmark, server, suite):
    assert evalmark("run", suite(SCALE), "--judge", "openai/m", "--filter", "input=x[12]").code == 0
    assert sorted(asked()) == ["x1", "x2"]
    assert evalmark("run", "test.json", "--judge", "openai/m", "--filter", "colour=red").code == 2
    nothing = evalmark("run", "test.json", "--judge", "openai/m", "--filter", "id=nobody")
    assert (nothing.code, "No case matches the conditions: each is tag=NAME, id=PATTERN" in nothing.text) == (3, True)


def test_conditions_in_a_variable_are_separated_by_commas(evalmark, server, suite, monkeypatch):
    monkeypatch.setenv("EVALMARK_FILTER", "input=x*, input!=x[0-4]")
    assert evalmark("run", suite(SCALE), "--judge", "openai/m").code == 0
    assert asked() == ["x5"]


def test_kept_outputs_are_judged_by_others_and_the_target_is_not_asked(evalmark, server, suite):
    evalmark("run", suite(SCALE), "--judge", "openai/m")
    Path("right.json").write_text(json.dumps(RIGHT), encoding="utf-8")
    done = evalmark("rescore", "last", "--metric", "right.json", "--metric", "equals", "--judge", "openai/n")
    run, results = last()
    assert done.code == 0
    assert len(asked()) == CASES
    assert {tuple(s.name for s in r.scores) for r in results} == {("right", "equals")}
    assert [r.output.value for r in results] == [f"X{n}" for n in range(CASES)]
    assert run.target == "bot:answer"
    as_before = evalmark("rescore", "last~1")
    assert as_before.code == 0, "without metrics and judges, those of the run"
    assert "cached" in as_before.out


def test_a_plan_sends_nothing_and_knows_what_is_recorded(evalmark, server, suite):
    planned = evalmark("plan", suite(SCALE, FLOW), "--judge", "openai/m", "--repeat", "2")
    assert planned.code == 0
    assert (server.requests, asked(), Path(".evalmark").exists()) == ([], [], False)
    assert "24 trials" in planned.out
    evalmark("run", "test.json", "--judge", "openai/m", "--repeat", "2")
    sent = len(server.requests)
    planned = evalmark("plan", "test.json", "--judge", "openai/m", "--repeat", "2")
    assert len(server.requests) == sent
    assert counted(planned) == ["24", "24", "0"]
    evalmark("run", "test.json", "--judge", "openai/n", "--max-calls", "1")
    planned = evalmark("plan", "test.json", "--judge", "openai/m", "--repeat", "2")
    assert counted(planned) == ["24", "24", "0"], "a run that was stopped knows fewer answers than one before it"


def counted(planned):
    """Calls, those in the journal, and those to be sent."""
    words = planned.out.split()
    place = words.index("openai/m")
    return words[place + 1 : place + 4]


def test_a_call_that_failed_can_be_looked_at(evalmark, server, suite):
    server.answer = lambda said: Status(400, body='{"error": {"message": "too rude"}}')
    evalmark("run", suite(SCALE), "--judge", "openai/m")
    shown = evalmark("show", "last", "--failed", "--calls", "-n", "1")
    assert "Is it clear?" in shown.out
    assert "too rude" in shown.out


def test_a_judge_that_nobody_knows_is_named_once(evalmark, server, suite):
    refused = evalmark("run", suite(SCALE, FLOW), "--judge", "llama3")
    assert refused.err.count("llama3") <= 2
    assert len(refused.err.splitlines()) == 1


def test_a_conversation_is_one_and_every_turn_sees_those_before_it(evalmark, server, suite):
    done = evalmark("run", suite(SCALE, FLOW, target="bot:Chat"), "--judge", "openai/m")
    assert done.code == 0
    _, results = last()
    single = [r.output.value for r in results if r.trial.mode == "single"]
    turns = [r.output.value for r in results if r.trial.mode == "conversation"]
    assert single == [f"x{n}" for n in range(CASES)]
    assert turns == [" ".join(f"x{m}" for m in range(n + 1)) for n in range(CASES)]
    assert len(asked()) == 2 * CASES, "once per row and mode"
    shown = next(
        said for said in server.requests if "flow" in said.messages[-1][1] and "\nx2\n" in said.messages[-1][1]
    )
    assert "x0 x1" in shown.messages[-1][1], "the judge sees the turns before"


def test_an_interrupted_conversation_goes_on_where_it_was(evalmark, server, suite):
    evalmark("run", suite(FLOW), "--judge", "openai/m", "--max-calls", "3", "-j", "1")
    kept = len(last()[1])
    assert 0 < kept < CASES
    assert evalmark("run", "test.json", "--judge", "openai/m", "--resume").code == 0
    _, results = last()
    assert [r.trial.case.input for r in results] == [f"x{n}" for n in range(CASES)]
    seen = [said.messages[-1][1] for said in server.requests]
    assert any("\nx5\n" in text and "X0" in text for text in seen), "turns of the first pass are part of the history"


def test_several_judges_give_each_a_verdict_and_how_far_they_agree(evalmark, server, suite):
    server.answer = lambda said: json.dumps({"reason": "r", "score": 4 if said.model == "m" else 3})
    done = evalmark("run", suite(SCALE), "--judge", "openai/m", "--judge", "openai/n", "-o", "run.json")
    assert done.code == 0
    assert "clear [openai/m]" in done.out
    assert "the same on 0 of 6 outputs" in done.out
    assert evalmark("run", "test.json", "--judge", "openai/n").code == 0
    assert len(server.requests) == 2 * CASES, "a judge alone finds what it said among others"


def test_repeats_of_a_judge_are_asked_one_by_one_and_their_flips_are_counted(evalmark, server, suite):
    before = Counter()

    def answer(said):
        before[said.messages] += 1
        return json.dumps({"reason": "r", "score": 1 if before[said.messages] == 1 else 5})

    server.answer = answer
    done = evalmark("run", suite({**SCALE, "repeat": 2}), "--judge", "openai/m")
    assert (done.code, len(server.requests)) == (0, 2 * CASES)
    _, results = last()
    assert {(s.value, s.detail["flipped"]) for r in results for s in r.scores} == {(0.5, True)}


@pytest.mark.parametrize(
    ("said", "raw", "unscored"),
    [
        pytest.param('{"reason": "r", "score": 6}', None, "judge_range", id="out of range"),
        pytest.param('{"reason": "r", "score": "7/10"}', None, "judge_", id="no number"),
        pytest.param("Well done!", None, "judge_", id="no verdict at all"),
    ],
)
def test_what_cannot_be_used_is_asked_again_once_and_then_unscored(evalmark, server, suite, said, raw, unscored):
    server.answer = lambda request: said
    done = evalmark("run", suite(SCALE), "--judge", "openai/m", "-n", "1")
    assert (done.code, len(server.requests)) == (3, 2)
    (score,) = last()[1][0].scores
    assert (score.status, score.value) == ("unscored", None)
    assert score.detail["unscored"].startswith(unscored)


def test_what_models_were_asked_is_shown_word_for_word(evalmark, server, suite):
    suite(SCALE)
    own = 'from evalmark import Output\n\ndef answer(text):\n    return Output(value=text, metadata={"calls": 3})\n'
    Path("bot.py").write_text(own, encoding="utf-8")
    evalmark("run", "test.json", "--judge", "openai/m")
    shown = evalmark("show", "last", "--calls", "-n", "1")
    assert "Is it clear?" in shown.out
    assert "m thinks so" in shown.out


@pytest.mark.parametrize(
    ("metrics", "outputs", "words", "told"),
    [
        pytest.param([SCALE], True, [], "clear needs a judge; name one with --judge", id="nobody judges"),
        pytest.param([SCALE], True, ["--judge", "nobody/m"], "nobody/m", id="a provider that nobody knows"),
        pytest.param([RIGHT], False, ["--judge", "openai/m"], "right", id="example outputs that are not there"),
        pytest.param([SCALE], True, ["--judge", "openai/m", "--max-cost", "1"], "the price of openai/m is not known", id="a price that is not known"),
        pytest.param([SCALE], True, ["--judge", "anthropic/m"], "ANTHROPIC_API_KEY", id="a key that is not set"),
        pytest.param([SCALE], True, ["--judge", "openai/m", "--replay", "never"], "one of auto, off, record, strict", id="a mode that is none"),
        pytest.param([{**SCALE, "score": {"type": "scale", "min": 5, "max": 1, "description": "d"}}], True, ["--judge", "openai/m"], "clear.json", id="a metric with a fault"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_a_sentence_before_anything_is_sent(
    evalmark, server, suite, monkeypatch, metrics, outputs, words, told
):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    refused = evalmark("run", suite(*metrics, outputs=outputs), *words)
    assert refused.code == 2, refused.text
    assert told in refused.err
    assert "Traceback" not in refused.text
    assert (server.requests, asked()) == ([], [])


def test_a_model_at_any_address_and_a_named_one_can_judge(evalmark, server, suite):
    at_once = f"openai_compatible:{server.url}/v1/some/model"
    assert evalmark("run", suite(SCALE), "--judge", at_once).code == 0
    assert {said.model for said in server.requests} == {"some/model"}
    table = f'[tool.evalmark.models]\nfast = {{provider = "openai", model = "m", base_url = "{server.url}/v1", input = 1, output = 2}}\n'
    Path("pyproject.toml").write_text(table, encoding="utf-8")
    done = evalmark("run", "test.json", "--judge", "fast", "--max-cost", "5")
    assert done.code == 0
    (spent,) = last()[0].spending
    assert (spent.model, spent.unknown_cost) == ("fast", 0)
    assert spent.cost == pytest.approx((spent.input_tokens + 2 * spent.output_tokens) / 1e6)


def test_vectors_of_a_server_are_asked_for_once_and_kept(evalmark, server, suite):
    words = ("--embeddings", "openai/text-embedding-3-small")
    assert evalmark("run", suite(metrics=["similarity"]), *words).code in (0, 1)
    texts = [text for said in server.requests for _, text in said.messages]
    assert len(texts) == len(set(texts)) == CASES, "what was expected and what was answered is the same text here"
    sent = len(server.requests)
    evalmark("run", "test.json", *words)
    assert len(server.requests) == sent
    assert last()[0].embedder.startswith("remote:openai/text-embedding-3-small")


def test_a_model_is_the_target_and_its_answers_are_paid_once(evalmark, server, suite):
    server.answer = lambda said: said.messages[-1][1].upper()
    model = {"model": "openai/m", "system": "Shout.", "settings": {"temperature": 0}}
    first = evalmark("run", suite(target=model, metrics=["equals"]))
    assert (first.code, len(server.requests)) == (0, CASES)
    assert server.requests[0].messages[0] == ("system", "Shout.")
    assert server.requests[0].settings["temperature"] == 0
    assert (evalmark("run", "test.json").code, len(server.requests)) == (0, CASES)
    assert evalmark("run", "test.json", "--repeat", "2").code == 0
    assert len(server.requests) == 2 * CASES, "a repeat is a call of its own"


@pytest.mark.parametrize("words", [["run", "test.json"], ["rescore", "last", "--metric", "clear.json"]])
def test_a_report_is_never_written_over_a_metric_file(evalmark, server, suite, words):
    evalmark("run", suite(SCALE), "--judge", "openai/m")
    before = Path("clear.json").read_text(encoding="utf-8")
    refused = evalmark(*words, "--judge", "openai/m", "-o", "clear.json")
    assert (refused.code, "the run reads this file" in refused.err) == (2, True), refused.text
    assert Path("clear.json").read_text(encoding="utf-8") == before


@pytest.mark.parametrize("name", ["test.json", "data.json"])
def test_a_report_of_a_kept_run_is_never_written_over_what_the_run_has_read(evalmark, server, suite, name):
    evalmark("run", suite(SCALE), "--judge", "openai/m")
    before = Path(name).read_text(encoding="utf-8")
    refused = evalmark("report", "last", "-o", "new.json", "-o", name)
    assert (refused.code, "the run reads this file" in refused.err) == (2, True), refused.text
    assert (Path(name).read_text(encoding="utf-8"), Path("new.json").exists()) == (before, False)


@pytest.mark.parametrize("name", ["openai_compatible:http://me:hunter2@host/v1/m", "https://host/v1/m?key=hunter2"])
def test_a_judge_whose_name_holds_a_password_is_refused_without_repeating_it(
    evalmark, server, suite, monkeypatch, name
):
    evalmark("run", suite(SCALE), "--judge", "openai/m")
    said = [
        evalmark("run", "test.json", "--judge", name),
        evalmark("rescore", "last", "--metric", "clear.json", "--judge", name),
        evalmark("run", suite({**SCALE, "judge": name})),
    ]
    monkeypatch.setenv("EVALMARK_JUDGE", name)
    said.append(evalmark("run", suite(SCALE)))
    assert [one.code for one in said] == [2, 2, 2, 2]
    assert not any("hunter2" in one.text for one in said), [one.text for one in said]


def test_a_judge_that_is_named_twice_is_said_to_be(evalmark, server, suite):
    refused = evalmark("run", suite(SCALE), "--judge", "openai/m", "--judge", "openai/m")
    assert refused.code == 2
    assert "--judge openai/m repeats a judge" in refused.err
    assert server.requests == []


def test_a_fault_of_the_second_suite_is_said_before_the_first_one_is_run(evalmark, server, suite):
    Path("judged.json").write_text(Path(suite(SCALE, judge="openai/m")).read_text(encoding="utf-8"), encoding="utf-8")
    refused = evalmark("run", "judged.json", suite(SCALE))
    assert (refused.code, "clear needs a judge" in refused.err) == (2, True), refused.text
    assert (server.requests, asked()) == ([], [])
    assert evalmark("run", "judged.json", "judged.json").code == 0


@pytest.mark.parametrize("metric", ["length", "regex", "not-regex"])
def test_a_metric_of_a_flag_that_needs_settings_is_sent_to_a_suite(evalmark, server, suite, metric):
    evalmark("run", suite(SCALE), "--judge", "openai/m")
    refused = evalmark("rescore", "last", "--metric", metric)
    assert (refused.code, "Settings belong in a suite; name one with --suite." in refused.err) == (2, True), (
        refused.text
    )
    unknown = evalmark("rescore", "last", "--metric", "lenght")
    assert (unknown.code, "--suite" in unknown.err) == (2, False), unknown.text


def test_a_rescore_takes_its_metrics_from_one_place(evalmark, server, suite):
    evalmark("run", suite(SCALE), "--judge", "openai/m")
    refused = evalmark("rescore", "last", "--metric", "equals", "--suite", "test.json")
    assert (refused.code, refused.err) == (2, "--metric and --suite are mutually exclusive; use one of them.\n")


def test_a_time_limit_does_not_count_what_calls_wait_at_the_gate(evalmark, server, suite):
    def answer(said):
        return Status(429, headers={"retry-after": "1"}) if said.number == 0 else judge(said)

    server.answer = answer
    assert evalmark("run", suite(SCALE), "--judge", "openai/m", "--timeout", "0.5").code == 0
    assert {s.status for r in last()[1] for s in r.scores} == {"scored"}


def test_errors_are_looked_for_in_the_newest_run_that_has_some(evalmark, server, suite):
    server.answer = lambda said: Status(400, body='{"error": {"message": "no"}}')
    evalmark("run", suite(SCALE), "--judge", "openai/m")
    broken = last()[0].id
    server.answer = judge
    evalmark("run", "test.json", "--judge", "openai/m")
    assert evalmark("run", "test.json", "--judge", "openai/m", "--retry-errors").code == 0
    with open_store(".evalmark/evalmark.db", read_only=True) as store:
        assert {r.verdict for r in store.run(broken).results} == {"ungated"}
        before = len(store.runs())
    nothing = evalmark("run", "test.json", "--judge", "openai/m", "--retry-errors")
    assert (nothing.code, "no run of this suite" in nothing.err) == (2, True)
    with open_store(".evalmark/evalmark.db", read_only=True) as store:
        assert len(store.runs()) == before


def test_what_came_from_the_journal_is_counted_over_all_passes(evalmark, server, suite):
    evalmark("run", suite(SCALE), "--judge", "openai/m", "--store", "s.db", "--max-calls", "2", "-j", "1")
    evalmark("run", "test.json", "--judge", "openai/m", "--store", "s.db")
    server.answer = lambda said: Status(400, body="{}")
    evalmark("cache", "clear", "--all", "--store", "s.db")
    evalmark("run", "test.json", "--judge", "openai/n", "--store", "s.db")
    server.answer = judge
    evalmark("run", "test.json", "--judge", "openai/n", "--store", "s.db", "--retry-errors")
    with open_store("s.db", read_only=True) as store:
        newest, _, oldest = [store.run(run.id) for run in store.runs()]
    assert [(s.calls, s.failed, s.replayed) for s in newest.spending] == [(CASES, CASES, 0)]
    assert [(s.calls, s.replayed) for s in oldest.spending] == [(2, 0)]


def test_a_conversation_with_gaps_says_so(evalmark, server, suite):
    done = evalmark("run", suite(FLOW), "--judge", "openai/m", "--filter", "input=x[135]")
    assert "later turns ran without them" in " ".join(done.out.split())


@pytest.mark.parametrize("metrics", [["clear.json"], ["factuality"], ["pairwise"], ["faithfulness"]])
def test_a_target_that_forgets_to_return_is_not_judged(evalmark, server, suite, metrics):
    suite(SCALE, target="bot2:answer", metrics=metrics)
    Path("bot2.py").write_text("def answer(text):\n    text.upper()\n", encoding="utf-8")
    done = evalmark("run", "test.json", "--judge", "openai/m")
    assert (done.code, server.requests) == (3, [])
    reasons = {s.reason for r in last()[1] for s in r.scores}
    assert metrics == ["faithfulness"] or [reason for reason in reasons if "is a `return` missing?" in reason]


def test_turns_after_one_that_is_asked_anew_are_asked_anew_too(evalmark, server, suite):
    Path("shaky.py").write_text(
        "import os\n\ndef answer(text, history):\n"
        "    if text == 'x2' and not os.path.exists('mended'):\n        raise OSError('down')\n"
        "    return f'{text} after {len(history) // 2}'\n",
        encoding="utf-8",
    )
    evalmark("run", suite(FLOW, target="shaky:answer"), "--judge", "openai/m")
    assert [r.output.value for r in last()[1]][3] == "x3 after 2", "the turn that failed is not part of the history"
    Path("mended").touch()
    assert evalmark("run", "test.json", "--judge", "openai/m", "--retry-errors").code == 0
    assert [r.output.value for r in last()[1]] == [f"x{n} after {n}" for n in range(CASES)]


def test_what_was_sent_again_in_vain_is_counted(evalmark, server, suite):
    server.answer = lambda said: Status(500, headers={"retry-after": "0"}, body="{}")
    done = evalmark("run", suite(SCALE), "--judge", "openai/m", "-n", "2", "--retries", "1")
    (spent,) = last()[0].spending
    assert done.code == 3
    assert spent.calls + spent.failed + spent.attempts == len(server.requests) == 4
