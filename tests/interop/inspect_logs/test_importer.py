"""Inspect's logs become runs with the same samples, grades and tokens."""

import json
import math
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from evalmark.core.errors import ConfigError, DataError, MissingExtraError
from evalmark.core.values.case import ToolCall, Turn
from evalmark.core.values.score import Result, Score
from evalmark.interop.inspect_logs import log_files
from evalmark.interop.inspect_logs.importer import import_inspect

from .logs import Data, header, sample, write_eval, write_json


def results(path: Path) -> list[Result]:
    run = import_inspect(path).run
    assert run is not None
    return list(run.results)


def only(tmp_path: Path, **fields: Any) -> Result:
    (result,) = results(write_json(tmp_path / "log.json", [sample(**fields)]))
    return result


def score_of(tmp_path: Path, value: Any, **more: Any) -> Score:
    (score,) = only(tmp_path, scores={"grade": {"value": value, **more}}).scores
    return score


@pytest.mark.parametrize(
    ("value", "number", "passed", "status"),
    [
        ("C", 1.0, True, "scored"),
        ("I", 0.0, False, "scored"),
        ("P", 0.5, False, "scored"),
        ("N", 0.0, False, "scored"),
        ("yes", 1.0, True, "scored"),
        (True, 1.0, True, "scored"),
        (False, 0.0, False, "scored"),
        (0.25, 0.25, None, "scored"),
        (17, None, None, "scored"),
        ("quite good", None, None, "scored"),
        (math.nan, None, None, "unscored"),
        (None, None, None, "unscored"),
    ],
)
def test_a_value_of_a_score(tmp_path: Path, value: Any, number: float | None, passed: bool | None, status: str) -> None:
    score = score_of(tmp_path, value)
    assert (score.value, score.passed, score.status) == (number, passed, status)
    assert score.raw == (None if status == "unscored" else value)


def test_a_score_keeps_its_explanation_and_the_answer_that_was_graded(tmp_path: Path) -> None:
    score = score_of(tmp_path, "C", explanation="It is Oslo.", answer="Oslo", metadata={"k": 1})
    assert (score.reason, score.detail) == ("It is Oslo.", {"answer": "Oslo", "metadata": {"k": 1}})


def test_a_score_with_several_values_becomes_several(tmp_path: Path) -> None:
    found = only(tmp_path, scores={"style": {"value": {"tone": 0.5, "length": "C"}}}).scores
    assert [(score.name, score.value) for score in found] == [("style.tone", 0.5), ("style.length", 1.0)]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"target": "Oslo"}, ("Capital of Norway?", "Oslo", ("Oslo",))),
        ({"target": ["Oslo", "Christiania"]}, ("Capital of Norway?", "Oslo", ("Oslo", "Christiania"))),
        ({"target": ""}, ("Capital of Norway?", None, ())),
        (
            {"choices": ["Oslo", "Bergen"], "target": ["A"]},
            ({"question": "Capital of Norway?", "choices": ["Oslo", "Bergen"]}, ["A"], (["A"],)),
        ),
    ],
)
def test_targets_are_alternatives_and_choices_belong_to_the_question(
    tmp_path: Path, fields: Data, expected: tuple[Any, ...]
) -> None:
    case = only(tmp_path, **fields).trial.case
    assert (case.input, case.expected, case.liked) == expected


def test_messages_before_the_last_one_of_the_user_are_the_history(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Capital?"}]
    case = only(tmp_path, input=messages).trial.case
    assert (case.input, case.history) == ("Capital?", (Turn(role="system", content="Be brief."),))


def test_attachments_are_put_back_where_the_log_refers_to_them(tmp_path: Path) -> None:
    case = only(tmp_path, input="attachment://abc", attachments={"abc": "A long question?"}).trial.case
    assert case.input == "A long question?"


def test_epochs_are_repeats_and_cases_keep_the_order_of_the_dataset(tmp_path: Path) -> None:
    samples = [sample(2, epoch=2), sample(2), sample("no", epoch=2), sample("no")]
    path = write_eval(
        tmp_path / "log.eval", samples, dataset={"name": "capitals", "sample_ids": ["no", 2]}, config={"epochs": 2}
    )
    found = results(path)
    assert [(r.trial.case.id, r.trial.repeat, r.trial.position) for r in found] == [
        ("no", 0, 0),
        ("no", 1, 0),
        ("2", 0, 1),
        ("2", 1, 1),
    ]


def test_tool_calls_are_joined_with_their_results_and_times(tmp_path: Path) -> None:
    calls = [
        {"id": "a", "function": "add", "arguments": {"x": 1}},
        {"id": "b", "function": "find", "arguments": {"q": "z"}},
    ]
    messages = [
        {"role": "user", "content": "What is 1 + 2?"},
        {"role": "assistant", "content": "Let me add.", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "3"},
        {"role": "tool", "tool_call_id": "b", "content": "", "error": {"type": "unknown", "message": "no such\nthing"}},
        {
            "role": "assistant",
            "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "It is 3"}],
        },
    ]
    events = [
        {
            "event": "tool",
            "id": "a",
            "timestamp": "2026-11-20T10:00:00+00:00",
            "completed": "2026-11-20T10:00:02+00:00",
        }
    ]
    output = only(tmp_path, messages=messages, events=events, completion="It is 3").output
    question, opening, add, find, last = output.transcript
    assert (question, opening) == (
        Turn(role="user", content="What is 1 + 2?"),
        Turn(role="assistant", content="Let me add."),
    )
    assert isinstance(add, ToolCall)
    assert (add.name, add.arguments, add.result, add.seconds) == (
        "add",
        {"x": 1},
        "3",
        2.0,
    )
    assert isinstance(find, ToolCall)
    assert (find.result, find.error) == (None, "no such thing")
    assert last == Turn(role="assistant", content="It is 3")
    assert output.tool_calls == (add, find)


def test_the_time_of_an_output_is_that_of_the_solvers_without_scoring(tmp_path: Path) -> None:
    events = [
        {"event": "span_begin", "type": "solvers", "working_start": 1.0},
        {"event": "span_begin", "type": "scorers", "working_start": 3.5},
    ]
    assert only(tmp_path, events=events, total_time=60.0).output.seconds == 2.5
    assert only(tmp_path, total_time=60.0).output.seconds == 0.5


@pytest.mark.parametrize(
    ("used", "tokens"),
    [
        ({"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}, (9, 2, None)),
        ({"input_tokens": 9, "output_tokens": 2, "total_tokens": 31, "input_tokens_cache_read": 20}, (29, 2, 20)),
        ({"input_tokens": 29, "output_tokens": 2, "total_tokens": 31, "input_tokens_cache_read": 20}, (29, 2, 20)),
        ({"input_tokens": None, "output_tokens": -1}, None),
    ],
)
def test_input_tokens_include_those_of_the_cache(tmp_path: Path, used: Data, tokens: Any) -> None:
    usage = only(tmp_path, model_usage={"openai/small": used}).output.usage
    found = None if usage is None else (usage.input_tokens, usage.output_tokens, usage.cached_tokens)
    assert found == tokens


def test_calls_of_solvers_and_scorers_are_counted_by_model(tmp_path: Path) -> None:
    def call(model: str, **more: Any) -> Data:
        return {"event": "model", "model": model, "output": {"usage": {"input_tokens": 5, "output_tokens": 1}}, **more}

    events = [call("openai/small"), call("openai/small", cache="read"), call("openai/judge"), call("openai/judge")]
    run = import_inspect(write_json(tmp_path / "log.json", [sample(events=events)])).run
    assert run is not None
    assert [(one.model, one.calls, one.replayed, one.input_tokens) for one in run.spending] == [
        ("openai/small", 1, 1, 5),
        ("openai/judge", 2, 0, 10),
    ]


def test_a_sample_with_an_error_has_no_output(tmp_path: Path) -> None:
    output = only(tmp_path, error={"message": "ValueError('boom\nmore')"}, completion="", output={"choices": []}).output
    assert (output.value, output.error) == (None, "ValueError('boom more')")


def test_several_models_are_targets_of_one_run(tmp_path: Path) -> None:
    write_eval(tmp_path / "a.eval", [sample()], task_id="a")
    write_json(tmp_path / "b.json", [sample()], model="openai/large", task_id="b", created="2026-11-21T10:00:00+00:00")
    (tmp_path / "logs.json").write_text("{}")
    run = import_inspect(tmp_path).run
    assert run is not None
    assert [(r.trial.target, r.trial.position) for r in run.results] == [("openai/large", 0), ("openai/small", 0)]
    assert (run.created, run.finished, run.versions) == (
        "2026-11-20T10:00:00Z",
        "2026-11-20T10:01:00Z",
        {"inspect_ai": "0.3.285"},
    )


def test_a_retried_log_replaces_the_one_before_it(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", [], status="error", error={"message": "stopped"})
    write_json(tmp_path / "b.json", [sample()], created="2026-11-21T10:00:00+00:00")
    assert len(results(tmp_path)) == 1


def test_two_runs_of_a_task_with_a_model_are_not_mixed(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", [sample()], task_id="a")
    write_json(tmp_path / "b.json", [sample()], task_id="b")
    with pytest.raises(
        DataError, match=r"a\.json and b\.json are both of the task capitals with openai/small\. Import each"
    ):
        import_inspect(tmp_path)


def test_a_log_that_did_not_end_says_so(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_journal/start.json", json.dumps({key: header()[key] for key in ("version", "eval", "plan")}))
        archive.writestr("samples/no_epoch_1.json", json.dumps(sample()))
    run = import_inspect(path).run
    assert run is not None
    assert "The status of log.eval is started, so cases may be missing." in run.notes


@pytest.mark.parametrize(
    ("scorer", "outcome", "to"),
    [
        ({"name": "includes", "options": {}}, "kept", "contains"),
        ({"name": "inspect_ai/match", "options": {"location": "end"}}, "kept", "regex, for each case"),
        ({"name": "match", "options": {"numeric": True}}, "left out", "its code is not in the log"),
        ({"name": "model_graded_fact", "options": {}}, "changed", "a metric file"),
        ({"name": "model_graded_fact", "options": {"template": "own"}}, "left out", "its code is not in the log"),
        ({"name": "my_scorer", "options": {}}, "left out", "its code is not in the log"),
    ],
)
def test_scorers_of_a_suite(tmp_path: Path, scorer: Data, outcome: str, to: str) -> None:
    imported = import_inspect(write_json(tmp_path / "log.json", [sample()], scorers=[scorer]))
    (part,) = [part for part in imported.parts if part.name.startswith("capitals: scorer")]
    assert part.outcome == outcome
    assert part.to.startswith(to)


def test_scorers_that_an_older_log_names_only_with_its_results(tmp_path: Path) -> None:
    score = {"name": "includes", "scorer": "includes", "params": {"ignore_case": False}, "metrics": {}}
    path = write_json(tmp_path / "log.json", [sample()], scorers=[])
    log = json.loads(path.read_text())
    path.write_text(json.dumps({**log, "results": {"scores": [score, {**score, "name": "mean"}, {"name": "x"}]}}))
    imported = import_inspect(path)
    assert [part.to for part in imported.parts if part.name.startswith("capitals: scorer")] == ["contains"]
    assert "- contains" in imported.files["suite.yaml"]


@pytest.mark.parametrize(
    ("location", "output", "passes"),
    [
        ("end", "The capital is: oslo!", True),
        ("end", "Oslo, of course", False),
        ("begin", '"Oslo", of course', True),
        ("begin", "It is Oslo", False),
        ("exact", " (OSLO). ", True),
        ("exact", "Oslo it is", False),
        ("any", "So Oslo is it", True),
    ],
)
def test_match_decides_as_inspect_does(tmp_path: Path, location: str, output: str, passes: bool) -> None:
    from evalmark import evaluate

    scorers = [{"name": "match", "options": {"location": location}}]
    path = write_json(tmp_path / "log.json", [sample(completion=output)], scorers=scorers, model="mockllm/model")
    rows = [json.loads(line) for line in import_inspect(path).files["cases.jsonl"].splitlines()]
    run = evaluate(rows, None, ["evalmark.scorers:Assertions"], store=None)
    ((score,),) = [result.scores for result in run.results]
    assert (score.name, score.passed) == ("match", passes)


def test_a_task_that_only_asks_a_model_keeps_it_as_the_target(tmp_path: Path) -> None:
    path = write_json(
        tmp_path / "log.json",
        [sample()],
        model="google/some-model",
        model_generate_config={"temperature": 0.5, "max_retries": 3},
        config={"epochs": 3},
    )
    suite = import_inspect(path).files["suite.yaml"]
    assert "gemini/some-model" in suite
    assert "temperature: 0.5" in suite
    assert "repeat: 3" in suite
    assert "answer" not in import_inspect(path).files["cases.jsonl"]


def test_a_system_message_becomes_a_prompt(tmp_path: Path) -> None:
    steps = [{"solver": "system_message", "params": {"template": "Be brief."}}, {"solver": "generate", "params": {}}]
    files = import_inspect(write_json(tmp_path / "log.json", [sample()], steps=steps)).files
    assert "Be brief." in files["capitals.prompt.yml"]


def test_zstd_archives_are_read_with_the_extra_and_named_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sys.version_info < (3, 14):
        module = pytest.importorskip("backports.zstd.zipfile")
    else:
        module = zipfile
    path = write_eval(tmp_path / "log.eval", [sample()], method=93, module=module)
    assert len(results(path)) == 1
    if sys.version_info < (3, 14):
        monkeypatch.setitem(sys.modules, "backports.zstd.zipfile", None)
        with pytest.raises(MissingExtraError, match=r"Run: pip install 'evalmark\[inspect\]'"):
            import_inspect(path)


@pytest.mark.parametrize("shift", [len("samples/no_epoch_1.json"), -30])
def test_damaged_zstd_data_ends_with_one_sentence(tmp_path: Path, shift: int) -> None:
    module = zipfile if sys.version_info >= (3, 14) else pytest.importorskip("backports.zstd.zipfile")
    path = write_eval(tmp_path / "log.eval", [sample()], method=93, module=module)
    whole = bytearray(path.read_bytes())
    at = whole.index(b"samples/no_epoch_1.json") + shift
    whole[at : at + 20] = b"\xff" * 20
    path.write_bytes(bytes(whole))
    with pytest.raises(DataError, match=r"samples/no_epoch_1\.json': cannot be unpacked: .*\.$"):
        import_inspect(path)


def _bomb(path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(header()))
        archive.writestr("samples/no_epoch_1.json", " " * 3_000_000)
    return path


def _cut(path: Path) -> Path:
    whole = write_eval(path, [sample()]).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    return path


def _flipped(path: Path) -> Path:
    whole = bytearray(write_eval(path, [sample()]).read_bytes())
    at = whole.index(b"samples/no_epoch_1.json") + 40
    whole[at] ^= 0xFF
    path.write_bytes(bytes(whole))
    return path


def _nested(levels: int) -> Data:
    data: Data = {}
    for _ in range(levels):
        data = {"a": data}
    return data


def _with_text(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda at: _bomb(at / "a.eval"), "is larger than 1 MiB when unpacked"),
        (lambda at: _cut(at / "a.eval"), "is no zip archive, as a .eval log is, or a damaged one"),
        (lambda at: _flipped(at / "a.eval"), "cannot be unpacked"),
        (lambda at: _with_text(at / "a.eval", "text"), "is no zip archive"),
        (lambda at: write_eval(at / "a.eval", [], method=zipfile.ZIP_BZIP2), "is packed with method 12 of zip"),
        (lambda at: write_eval(at / "a.eval", []), "has no samples"),
        (lambda at: write_json(at / "a.json", [{"id": True}]), "`id` of the sample is True"),
        (lambda at: write_json(at / "a.json", [sample(epoch="1")]), "`epoch` of the sample is '1'"),
        (lambda at: write_json(at / "a.json", [sample(epoch=10**30)]), "`trial.repeat` is 9"),
        (lambda at: write_json(at / "a.json", [7]), "the sample is not an object"),  # type: ignore[list-item]
        (lambda at: write_json(at / "a.json", [sample(scores=[1])]), "`scores` of the sample is [1]"),
        (
            lambda at: write_json(at / "a.json", [sample(input=[{"text": 1}])]),
            "a message of the sample is not an object",
        ),
        (lambda at: write_json(at / "a.json", [sample(metadata="x")]), "`metadata` of the sample is 'x'"),
        (lambda at: _with_text(at / "a.json", "[" * 100_000), "nested too deeply"),
        (lambda at: _with_text(at / "a.json", '{"eval": {"a": ' + "[" * 900 + "]" * 900 + "}}"), "nested too deeply"),
        (lambda at: write_json(at / "a.json", [sample(metadata=_nested(200))]), "nested too deeply"),
        (lambda at: write_json(at / "a.json", [sample(events=[_nested(400)])]), "nested too deeply"),
        (lambda at: _with_text(at / "a.json", '{"eval": 1}'), "is no log of Inspect"),
        (lambda at: _with_text(at / "a.json", '{"eval": {"x": 1}, "samples": [{}]}'), "`id` of the sample is None"),
        (lambda at: _with_text(at / "a.txt", "x").parent, "there is no log of Inspect"),
    ],
)
def test_hostile_and_damaged_logs_end_with_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Any, message: str
) -> None:
    monkeypatch.setattr(log_files, "MAX_DOCUMENT", 1 << 20)
    with pytest.raises(ConfigError) as caught:
        import_inspect(make(tmp_path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "fields",
    [
        {"events": [{"event": "span_begin", "type": {"a": 1}}, 7, {"event": "tool", "id": []}]},
        {"messages": [{"role": "tool", "tool_call_id": [1], "content": "x"}, 7]},
        {"messages": [], "output": {}},
        {"output": {"choices": [7]}, "model_usage": {"openai/small": 7}, "limit": 7, "choices": []},
    ],
)
def test_odd_values_in_unimportant_places_do_not_matter(tmp_path: Path, fields: Data) -> None:
    imported = import_inspect(write_json(tmp_path / "log.json", [sample(**fields)], model="mockllm/model"))
    assert imported.files["cases.jsonl"]


def test_the_name_of_a_file_in_an_archive_is_never_a_path(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(header()))
        archive.writestr("samples/../../outside.json", json.dumps(sample()))
    assert len(results(path)) == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["log.eval"]
