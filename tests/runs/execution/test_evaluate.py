"""`evaluate` as a user calls it: from scripts, inside a loop, with a store and without."""

import asyncio
import json
import re
import time

import pytest

from evalmark import Case, ConfigError, Gate, Output, StoreError, evaluate, evaluate_async
from evalmark.reports.files.writers import save
from evalmark.stats.summary.gate import summary_and_verdict
from evalmark.store import open_store

PINGS = [{"id": "a", "input": "ping", "expected": "pong"}, {"id": "b", "input": "pang", "expected": "pong"}]


def pong(text):
    return text.replace("i", "o")


def verdicts(run):
    return {r.trial.case.id: r.verdict for r in run.results}


@pytest.mark.parametrize(
    ("data", "task", "scorers", "found"),
    [
        pytest.param(PINGS, pong, ["equals"], {"a": "pass", "b": "fail"}, id="mappings, a function and a name"),
        pytest.param(
            [Case(id="1", input="x", expected="X")],
            str.upper,
            ["equals"],
            {"1": "pass"},
            id="cases and a builtin method",
        ),
        pytest.param(
            [{"id": "1", "question": "q", "answer": "yes", "reference": "yes"}],
            None,
            ["equals"],
            {"1": "pass"},
            id="no task: the answers that the rows bring",
        ),
        pytest.param(
            PINGS,
            pong,
            [lambda output: len(output) == 4],
            {"a": "pass", "b": "pass"},
            id="a lambda of the output",
        ),
        pytest.param(
            PINGS,
            lambda case: Output(value=case.id),
            [{"contains": {"any": ["b"], "name": "says b"}}],
            {"a": "fail", "b": "pass"},
            id="a task that wants the case, a scorer with settings and a name",
        ),
        pytest.param(
            PINGS,
            pong,
            [{"edit_similarity": {"threshold": 0.5}}],
            {"a": "pass", "b": "pass"},
            id="a graded scorer with a threshold",
        ),
    ],
)
def test_evaluate_finds(world, data, task, scorers, found):
    assert verdicts(evaluate(data, task, scorers, store=None)) == found


def test_an_error_is_told_alone(world):
    with pytest.raises(ConfigError) as refused:
        evaluate([{"input": "x"}], str.upper, ["no_such_scorer"], store=None)
    assert refused.value.__context__ is None, "what Python tells of an error begins with the one it was raised in"


def test_an_error_of_a_run_is_told_alone(world):
    (world / "place").mkdir()
    with pytest.raises(StoreError) as refused:
        evaluate([{"input": "x", "expected": "X"}], str.upper, ["equals"], store=str(world / "place"))
    told = refused.value
    while told is not None:
        assert "no running event loop" not in str(told)
        told = told.__cause__ or told.__context__


def test_it_works_inside_a_running_loop(world):
    async def notebook():
        return evaluate(PINGS, pong, ["equals"], store=None), await evaluate_async(PINGS, pong, ["equals"], store=None)

    one, other = asyncio.run(notebook())
    assert verdicts(one) == verdicts(other) == {"a": "pass", "b": "fail"}


def test_a_run_is_kept_in_the_store_by_default(world):
    run = evaluate(PINGS, pong, ["equals"], name="pings")
    assert (world / ".evalmark" / "evalmark.db").is_file()
    with open_store(".evalmark/evalmark.db", read_only=True) as store:
        kept = store.run("last")
        assert (kept.id, kept.name, kept.status) == (run.id, "pings", "complete")
        assert tuple(kept.results) == run.results


def test_without_a_store_nothing_is_written(world):
    evaluate(PINGS, pong, ["equals"], store=None)
    assert list(world.iterdir()) == []


def test_repeats_are_a_field_and_come_in_order(world):
    run = evaluate(PINGS, pong, ["equals"], repeat=3, jobs=2, store=None)
    assert [(r.trial.case.id, r.trial.repeat) for r in run.results] == [(i, n) for i in "ab" for n in range(3)]


def test_a_limit_takes_the_first_cases(world):
    assert list(verdicts(evaluate(PINGS, pong, ["equals"], limit=1, store=None))) == ["a"]


def test_a_file_is_read_as_a_dataset(world):
    (world / "pings.jsonl").write_text("\n".join(map(json.dumps, PINGS)), encoding="utf-8")
    run = evaluate("pings.jsonl", pong, ["equals"], store=None)
    assert run.datasets[0].rows == 2
    assert run.results[1].trial.case.place.endswith("pings.jsonl:2")


def test_a_task_that_changes_its_case_changes_nothing_for_the_scorers(world):
    def spoil(case):
        case.input["word"] = "spoiled"
        case.metadata["seen"] = True
        return case.input["word"]

    def kept(case):
        return case.input == {"word": "fresh"} and case.metadata == {}

    run = evaluate([Case(id="1", input={"word": "fresh"})], spoil, [kept], store=None)
    assert run.results[0].output.value == "spoiled"
    assert verdicts(run) == {"1": "pass"}


def test_without_scorers_the_outputs_are_kept_and_nothing_is_judged(world):
    run = evaluate(PINGS, pong, store=None)
    assert [(result.output.value, result.scores) for result in run.results] == [("pong", ()), ("pang", ())]
    _, verdict = summary_and_verdict(run)
    assert (verdict.gated, verdict.scored, verdict.exit_code) == (False, False, 0)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(
            (PINGS, None, ["equals"]),
            ["there is no target to produce one", "fill in `answer`"],
            id="neither task nor answers",
        ),
        pytest.param((PINGS, pong, ["equal"]), ["'equal'", "equals"], id="a scorer's name with a slip"),
        pytest.param(
            (PINGS, pong, [lambda outptu: True]), ["'outptu'", "output"], id="a scorer's parameter with a slip"
        ),
        pytest.param((PINGS, lambda a, b: a, ["equals"]), ["'b'"], id="a task with two parameters of its own"),
        pytest.param((PINGS, "nowhere:answer", ["equals"]), ["no module 'nowhere'"], id="a module that is not there"),
        pytest.param((PINGS, 5, ["equals"]), ["int", "cannot be called"], id="a task that is no function"),
        pytest.param(
            (PINGS, pong, [lambda output: True] * 2), ["two scorers are called 'lambda'"], id="two of one name"
        ),
        pytest.param(("gone.jsonl", pong, ["equals"]), ["gone.jsonl"], id="a dataset that is not there"),
        pytest.param(
            ([{"id": "a", "input": "1"}, {"id": "a", "input": "2"}], pong, ["equals"]), ["'a'"], id="an id used twice"
        ),
        pytest.param((PINGS, pong, ["equals", 7]), ["7"], id="a scorer that is a number"),
    ],
)
def test_a_run_that_cannot_work_is_refused_in_a_sentence(world, arguments, says):
    with pytest.raises(ConfigError) as refused:
        evaluate(*arguments, store=None)
    assert all(part in str(refused.value) for part in says), str(refused.value)


def test_all_faults_are_named_at_once(world):
    gate = Gate(thresholds={"fluency": 0.5})
    with pytest.raises(ConfigError) as refused:
        evaluate([{"id": "a", "input": "x"}], None, [lambda nothing: True], gate=gate, repeat=0, store=None)
    said = str(refused.value)
    assert all(part in said for part in ("'nothing'", "fluency", "repeat", "no target")), said


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param({"jobs": 0}, "jobs: 0", id="no jobs"),
        pytest.param({"timeout": -1}, "timeout: -1", id="a time limit below zero"),
        pytest.param({"limit": 0}, "limit .* found 0", id="no cases"),
        pytest.param({"embeddings": "no-such-model"}, "no-such-model", id="an unknown embedding model"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(world, options, says):
    with pytest.raises(ConfigError, match=says):
        evaluate(PINGS, pong, ["similarity"], store=None, **options)


def test_an_option_with_a_slip_is_named(world):
    with pytest.raises(ConfigError, match="no option 'repeats'"):
        evaluate(PINGS, pong, ["equals"], repeats=3)


def test_a_store_that_cannot_be_made_is_said_before_anything_runs(world):
    asked = []
    (world / "file").write_text("", encoding="utf-8")
    with pytest.raises(StoreError, match="file"):
        evaluate(PINGS, asked.append, ["equals"], store="file/evalmark.db")
    assert asked == []


def test_an_embedder_of_ones_own_is_asked_for_each_text_once(world):
    asked = []

    def embed(texts):
        asked.extend(texts)
        return [[float(len(text)), 1.0] for text in texts]

    run = evaluate(PINGS, pong, ["similarity"], embeddings=embed, store=None)
    assert sorted(asked) == ["pang", "pong"]
    assert verdicts(run)["a"] == "pass"


def test_an_embedder_that_breaks_is_an_error_of_the_cases_it_was_asked_for(world):
    def embed(texts):
        raise RuntimeError("no connection")

    run = evaluate(PINGS, pong, ["similarity", "equals"], embeddings=embed, store=None)
    assert set(verdicts(run).values()) == {"error"}
    assert "no connection" in run.results[0].scores[0].reason
    assert run.results[0].scores[1].passed


def test_importing_loads_nothing_heavy(world):
    import subprocess
    import sys

    heavy = "{'numpy', 'scipy', 'pydantic', 'rich', 'apsw', 'onnxruntime', 'asyncio', 'yaml', 'typer'}"
    code = f"import sys, evalmark; loaded = {heavy} & sys.modules.keys(); assert not loaded, loaded"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["Case", "evaluate", "Similarity", "Gate"])
def test_every_public_name_is_there(name):
    import evalmark

    assert name in evalmark.__all__
    assert getattr(evalmark, name).__name__ == name


def test_a_notebook_can_complete_every_name():
    import evalmark

    assert dir(evalmark) == sorted(evalmark.__all__)


def test_a_report_is_saved_under_a_name_that_is_a_text(world):
    run = evaluate(["ping"], lambda text: "pong", [lambda output: True], store=None)
    save(run, "out.md")
    assert (world / "out.md").read_text(encoding="utf-8").startswith("## ")


def test_no_public_name_is_a_room(world):
    import evalmark

    rooms = {path.name for path in (__import__("pathlib").Path(evalmark.__file__).parent).iterdir()}
    assert not rooms & set(evalmark.__all__)
    assert len(evalmark.__all__) <= 30


def test_the_class_of_a_model_is_no_judge():
    from evalmark.testing.chat import ScriptedModel

    with pytest.raises(ConfigError, match=r"judge: <class .*ScriptedModel'> is neither the name of a model"):
        evaluate([{"id": "1", "input": "x"}], str, ["factuality"], judge=ScriptedModel, store=None)


@pytest.mark.parametrize("repeat", [0, 1.5, "2"])
def test_a_repeat_that_is_no_whole_number_is_refused(repeat):
    with pytest.raises(ConfigError, match="repeat has to be a whole number of at least 1; found"):
        evaluate([{"id": "1", "input": "x"}], str.upper, ["equals"], repeat=repeat, store=None)


def blocked(seconds, *, is_async):
    """The notes of a run in which something keeps the event loop waiting, on a machine that is busy with something else."""

    async def held():
        loop = asyncio.get_running_loop()
        loop.call_later(0.3, time.sleep, seconds)  # as a machine does that runs something else meanwhile
        slow = [{"id": str(number), "input": "x", "expected": "x"} for number in range(3)]
        return await evaluate_async(slow, lingering, [slowly_async if is_async else "equals"], store=None)

    return [note for note in asyncio.run(held()).notes if "event loop" in note]


def lingering(text):
    time.sleep(2)
    return text


async def slowly_async(output):
    await asyncio.sleep(2)
    return True


@pytest.mark.slow
def test_a_busy_machine_is_not_blamed_on_a_target_without_async():
    assert blocked(1.5, is_async=False) == []
    assert len(blocked(1.5, is_async=True)) == 1


def test_none_means_that_an_option_is_not_given():
    run = evaluate(
        ["a", "b"], str.upper, [lambda output: True], store=None, sample=None, run_name=None, tags=None, seed=None
    )
    assert (run.sample, run.given_name, run.tags, len(run.results)) == (None, "", (), 2)


def test_a_run_from_python_has_a_name_tags_and_a_sample_as_one_of_the_command_line(world):
    cases = [{"id": str(number), "input": "a", "expected": "A"} for number in range(20)]
    options = {"name": "letters", "run_name": "nightly", "tags": ["main", "model=small"], "sample": 5, "seed": 7}
    run = evaluate(cases, str.upper, ["equals"], **options)
    again = evaluate(list(reversed(cases)), str.upper, ["equals"], **options)
    assert (run.name, run.given_name, run.tags) == ("letters", "nightly", ("main", "model=small"))
    drawn = [{result.trial.case.id for result in one.results} for one in (run, again)]
    assert len(drawn[0]) == 5
    assert drawn[0] == drawn[1]
    with open_store(world / ".evalmark" / "evalmark.db", read_only=True) as store:
        assert store.run(run.id).sample == run.sample


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        pytest.param({"run_name": "last"}, "run name 'last': this could be taken", id="a name that means another run"),
        pytest.param({"run_name": 3}, "run name 3: a name has at most 80", id="a name that is no text"),
        pytest.param({"tags": [3]}, "tag 3: write a word", id="a tag that is no text"),
        pytest.param({"tags": 3}, "tag 3: write a word", id="tags that are no list"),
        pytest.param({"tags": "two words"}, "tag 'two words': write a word or key=value", id="a tag with a space"),
    ],
)
def test_a_name_or_tag_that_could_not_be_used_is_refused_before_the_run(world, options, sentence):
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        evaluate([{"input": "a"}], str.upper, **options)
    assert not (world / ".evalmark").exists()
