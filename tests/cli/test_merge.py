"""`evalmark run --shard` and `evalmark merge`: the run that one machine would have made, whatever happens on the way."""

import json
import shutil
from pathlib import Path

import apsw
import pytest

from evalmark.reports.files.options import ReportOptions
from evalmark.reports.files.run_json import as_jsonl
from evalmark.store import open_store
from evalmark.testing.scripted import ScriptedServer

BOT = """
def answer(text):
    with open("asked.txt", "a") as asked:
        asked.write(text + "\\n")
    if text == "broken":
        raise ValueError("no answer")
    return text.upper()

def other(text):
    return text.upper() + "!"

class Turns:
    needs_history = True
    name = "turns"

    def __call__(self, case):
        return len(case.history)

TURNS = Turns()
"""


def judge(said):
    return json.dumps({"reason": f"{said.model} has read it", "answer": "C"})


@pytest.fixture
def server(world, monkeypatch):
    for name in ("OPENAI_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ScriptedServer(judge) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        yield server


def suite(wrong=(), name="letters", rows="abcde", more="fgh", **fields):
    """A suite of two datasets; of the cases that are `wrong` something else is expected."""
    Path("bot.py").write_text(BOT, encoding="utf-8")
    for dataset, letters in (("first", rows), ("second", more)):
        cases = [
            {"id": row, "input": row, "expected": "?" if row in wrong else row.upper(), "tags": ["even"][: number % 2]}
            for number, row in enumerate(letters)
        ]
        Path(f"{dataset}.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    known = {"name": name, "datasets": ["first.jsonl", "second.jsonl"], "target": "bot:answer", "metrics": ["equals"]}
    Path("suite.json").write_text(json.dumps(known | fields), encoding="utf-8")
    return "suite.json"


@pytest.fixture
def shards(world, evalmark):
    """Runs shards of the suite, each with a store of its own; gives exit codes."""

    def run(*which, **said):
        words = [word for flag, value in said.items() for word in (f"--{flag}", value)]
        return [
            evalmark("run", "suite.json", "--shard", one, "--store", f"shard-{one[0]}.db", "-q", *words).code
            for one in which or ("1/3", "2/3", "3/3")
        ]

    return run


ALL = ("shard-1.db", "shard-2.db", "shard-3.db")


def kept(store="merged.db", run="last"):
    with open_store(store, read_only=True) as ledger:
        return ledger.run(run)


def lines(run):
    """All that is exported of a run, without times; what it was merged from is said for itself."""
    exported = [json.loads(line) for line in as_jsonl(run, options=ReportOptions(times=False))]
    notes = exported[0]["run"]["notes"]
    exported[0]["run"]["notes"] = [note for note in notes if not note.startswith("Merged from shards: ")]
    return exported


def asked():
    path = Path("asked.txt")
    found = path.read_text(encoding="utf-8").split() if path.exists() else []
    path.unlink(missing_ok=True)
    return found


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        pytest.param({}, {}, id="two datasets"),
        pytest.param({"wrong": "bg", "gate": {"min_pass_rate": 0.7}}, {}, id="a gate that holds for all and for no shard alone"),
        pytest.param({"repeat": 3}, {}, id="repeats"),
        pytest.param({"rows": ["a", "broken", "c"]}, {}, id="an answer that never came"),
        pytest.param({}, {"limit": "2"}, id="the first cases of each"),
        pytest.param({}, {"filter": "tag=even"}, id="some cases"),
        pytest.param({"metrics": ["bot:TURNS", "equals"], "repeat": 2}, {}, id="conversations, and rows by themselves"),
        pytest.param({"rows": "a", "more": "b"}, {}, id="fewer cases than shards"),
    ],
)  # fmt: skip
def test_the_merged_run_is_the_run_that_one_machine_would_have_made(evalmark, shards, shape, said):
    suite(**shape)
    words = [word for flag, value in said.items() for word in (f"--{flag}", value)]
    alone = evalmark("run", "suite.json", "--store", "whole.db", "-q", *words)
    questions = asked()
    shards(**said)
    assert sorted(asked()) == sorted(questions)
    merged = evalmark("merge", *ALL, "-o", "merged.db")
    assert merged.code == alone.code, merged.text
    whole, found = kept("whole.db"), kept()
    assert lines(found) == lines(whole)
    assert (found.shard, found.is_part) == (None, whole.is_part)
    assert asked() == [], "merging asks nothing"


def test_with_a_judge_every_call_is_carried_over_and_found(evalmark, shards, server):
    suite(metrics=["factuality"], judge="openai/judge")
    assert evalmark("run", "suite.json", "--store", "whole.db", "-q").code == 0
    assert shards() == [0, 0, 0]
    sent = len(server.requests)
    assert evalmark("merge", *ALL, "-o", "merged.db").code == 0
    whole, found = kept("whole.db"), kept()
    assert lines(found) == lines(whole)
    assert found.spending == whole.spending
    with open_store("merged.db", read_only=True) as store:
        assert store.spending(found.id) == whole.spending
        assert store.interrupted_calls(found.id) == 0
    shown = evalmark("show", "last", "--case", "d", "--calls", "--store", "merged.db")
    assert "judge has read it" in shown.out
    assert "no longer recorded" not in shown.out
    assert (
        evalmark("cache", "export", "calls.jsonl", "--run", "last", "--store", "merged.db").out
        == "calls.jsonl: 8 calls\n"
    )
    again = evalmark("run", "suite.json", "--store", "merged.db", "--replay", "strict")
    assert again.code == 0, again.text
    assert "8 cached" in again.out
    assert len(server.requests) == sent


def test_a_call_that_another_run_has_paid_for_is_carried_over_too(evalmark, shards, server):
    suite(metrics=["factuality"], judge="openai/judge")
    evalmark("run", "suite.json", "--store", "shard-1.db", "-q")
    evalmark("cache", "export", "calls.jsonl", "--store", "shard-1.db")
    for name in ALL[1:]:
        evalmark("cache", "import", "calls.jsonl", "--store", name)
    sent = len(server.requests)
    assert shards(replay="strict") == [0, 0, 0]
    assert evalmark("merge", *ALL, "-o", "merged.db").code == 0
    assert evalmark("run", "suite.json", "--store", "merged.db", "--replay", "strict", "-q").code == 0
    assert len(server.requests) == sent


@pytest.mark.parametrize(
    ("shape", "run", "merged", "codes", "code", "says"),
    [
        pytest.param({}, (), ALL, [0, 0, 0], 0, "8 judged trials: every one passed.", id="all is well"),
        pytest.param({"wrong": "b"}, (), ALL, [0, 0, 0], 1, "1 of 8 judged trials failed.", id="a wrong answer is no fault of its shard"),
        pytest.param({"rows": ["a", "broken"]}, (), ALL, [0, 3, 0], 3, "1 error; at most 0 are allowed.", id="a shard in which something breaks is red itself"),
        pytest.param({"rows": ["a", "broken"], "gate": {"max_errors": 1}}, (), ALL, [0, 0, 0], 0, "4 judged trials: every one passed.", id="an error that the gate allows"),
        pytest.param({"rows": ["broken", "broken"], "gate": {"max_errors": 1}}, (), ALL, [0, 0, 0], 3, "2 errors; at most 1 is allowed.", id="errors that the gate allows in each shard, but not in all"),
        pytest.param({"rows": "a", "more": "b"}, ("3/3",), ALL[2:], [0], 3, "No cases ran.", id="a shard without a case, alone"),
        pytest.param({}, ("1/3", "3/3"), (ALL[0], ALL[2]), [0, 0], 3, "The run is incomplete.", id="a lost shard"),
        pytest.param({"wrong": "a"}, ("1/3", "3/3"), (ALL[0], ALL[2]), [0, 0], 1, "1 of 5 judged trials failed.", id="a lost shard that could not save the gate"),
        pytest.param({"wrong": "a", "gate": {"min_pass_rate": 0.9}}, ("1/3", "3/3"), (ALL[0], ALL[2]), [0, 0], 3, "missing trials could still raise it to the minimum", id="a lost shard that could"),
        pytest.param({}, ("1/1",), ALL[:1], [0], 0, "8 judged trials", id="one shard of one"),
    ],
)  # fmt: skip
def test_a_shard_says_whether_it_did_its_work_and_the_whole_is_judged(
    evalmark, shards, shape, run, merged, codes, code, says
):
    suite(**shape)
    if shape.get("rows") == ["broken", "broken"]:  # ids are told apart
        rows = [{"id": f"b{n}", "input": "broken", "expected": "x"} for n in range(2)]
        Path("first.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert shards(*run) == codes
    said = evalmark("merge", *merged, "-o", "merged.db")
    assert (said.code, says in " ".join(said.out.split())) == (code, True), said.text


def test_a_lost_shard_is_named_and_what_it_would_have_asked_can_be_asked_in_the_merged_store(evalmark, shards):
    suite()
    whole = evalmark("run", "suite.json", "--store", "whole.db", "-q")
    shards("1/3", "3/3")
    said = evalmark("merge", ALL[0], ALL[2], "-o", "merged.db")
    run = kept()
    assert (said.code, run.status) == (3, "interrupted")
    assert "Missing: shard 2 of 3 is missing." in run.notes
    assert f"evalmark run suite.json --store merged.db --repeat 1 --resume {run.id}\n" in said.err
    asked()
    again = evalmark("run", "suite.json", "--store", "merged.db", "--resume", run.id, "-q")
    assert again.code == whole.code, again.text
    assert sorted(asked()) == ["b", "e", "h"]
    assert lines(kept()) == lines(kept("whole.db"))


def test_a_shard_that_broke_off_is_named_and_merged_anew_once_it_is_complete(evalmark, shards, server):
    suite(metrics=["factuality"], judge="openai/judge")
    shards("1/2")
    (code,) = shards("2/2", **{"max-calls": "2"})
    broken = kept("shard-2.db")
    assert (code, broken.status, len(broken.results)) == (3, "stopped", 2)
    first = evalmark("merge", *ALL[:2], "-o", "merged.db")
    assert first.code == 3
    assert f"Missing: shard 2/2 ({broken.id}) did not finish." in kept().notes
    assert evalmark("run", "suite.json", "--shard", "2/2", "--store", "shard-2.db", "--resume", "-q").code == 0
    assert kept("shard-2.db").id == broken.id, "the same run went on"
    assert evalmark("merge", *ALL[:2], "-o", "merged.db").code == 0
    with open_store("merged.db", read_only=True) as store:
        assert [run.status for run in store.runs()] == ["complete", "stopped"]
        assert sum(spent.calls for spent in store.run("last").spending) == 8


def test_the_same_shards_once_more_change_nothing(evalmark, shards):
    suite(wrong="b")
    shards()
    first = evalmark("merge", *ALL, "-o", "merged.db")
    before = [(run, *run.results) for run in kept_runs("merged.db")]
    again = evalmark("merge", *reversed(ALL), "-o", "merged.db")
    assert (first.code, again.code) == (1, 1)
    assert f"These shards were merged before, as {kept().id}; nothing new is written.\n" in again.err
    assert again.out == first.out
    assert [(run, *run.results) for run in kept_runs("merged.db")] == before


def edited(name):
    """The suite once more, with other rows in its second dataset."""
    suite(more=name)


@pytest.mark.parametrize(
    ("between", "which", "merged", "says"),
    [
        pytest.param(lambda: None, ("1/3", "2/3"), (*ALL[:2], ALL[0]), "is named twice; name each shard once.", id="a file twice"),
        pytest.param(lambda: shutil.copy("shard-1.db", "copy.db"), ("2/3",), (*ALL[:2], "copy.db"), "is named twice; name each shard once.", id="a copy of a file"),
        pytest.param(lambda: shutil.move("shard-1.db", "old.db"), ("1/3", "2/3"), (*ALL[:2], "old.db"), "shard 1/3 is named twice, as ", id="a shard that ran twice"),
        pytest.param(lambda: None, ("1/3", "2/4"), ALL[:2], "do not belong to the same run; they differ in the number of shards.", id="of three and of four"),
        pytest.param(lambda: suite(more="fgx"), ("2/3",), ALL[:2], "they differ in the rows of second.", id="a dataset that was edited in between"),
        pytest.param(lambda: suite(more="fghi"), ("2/3",), ALL[:2], "they differ in the rows of second.", id="a dataset that grew in between"),
        pytest.param(lambda: suite(rows="abced"), ("2/3",), ALL[:2], "they differ in the rows of first.", id="a dataset in another order"),
        pytest.param(lambda: suite(name="digits"), ("2/3",), ALL[:2], "they differ in the name of the suite.", id="another suite"),
        pytest.param(lambda: suite(target="bot:other"), ("2/3",), ALL[:2], "they differ in the target, the scorers or a model.", id="another target"),
        pytest.param(lambda: suite(metrics=["contains"]), ("2/3",), ALL[:2], "they differ in the target, the scorers or a model.", id="another metric"),
        pytest.param(lambda: suite(gate={"min_pass_rate": 0.5}), ("2/3",), ALL[:2], "they differ in the gate.", id="another gate"),
        pytest.param(lambda: None, (), ("shard-1.db", "gone.db"), "gone.db: this store file does not exist.", id="a file that is not there"),
        pytest.param(lambda: None, (), ("shard-1.db@zz",), "there is no run 'zz'", id="a run that is not there"),
        pytest.param(lambda: None, (), ("suite.json",), "there is no store yet", id="a suite that never ran"),
        pytest.param(lambda: open_store("empty.db").close(), (), ("shard-1.db", "empty.db"), "empty.db: there are no runs in this store yet", id="a store without runs"),
    ],
)  # fmt: skip
def test_what_makes_no_whole_is_refused_in_a_sentence_and_nothing_is_written(
    evalmark, shards, between, which, merged, says
):
    suite()
    shards("1/3")
    between()
    if which:
        shards(*which)
    said = evalmark("merge", *merged, "-o", "merged.db")
    assert (said.code, says in said.err, "Traceback" in said.err) == (2, True, False), said.text
    assert not Path("merged.db").exists()


def kept_runs(store):
    with open_store(store, read_only=True) as ledger:
        return ledger.runs()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param(("--shard", "0/4"), "'0/4' is not a shard; shards are numbered from 1/4 to 4/4.", id="before the first"),
        pytest.param(("--shard", "5/4"), "'5/4' is not a shard; shards are numbered from 1/4 to 4/4.", id="behind the last"),
        pytest.param(("--shard", "a/b"), "'a/b' is not a shard; write the second of four as 2/4.", id="letters"),
        pytest.param(("--shard", "1/2", "--until-decided"), "suite.json: a run that stops once its gate is decided looks at all cases, and shard 1/2 is a share of them; leave out either `until_decided` or the shard.", id="stopping early"),
        pytest.param(("--shard", "1/2", "--baseline", "last"), "--baseline last needs a whole run; merge the shards", id="a baseline"),
        pytest.param(("--shard", "1/2", "--resume", "last"), "covers all cases, but the command selects shard 1/2; omit --shard", id="going on with a run of all cases"),
    ],
)  # fmt: skip
def test_a_share_that_makes_no_sense_is_refused_before_anything_is_asked(evalmark, world, words, says):
    evalmark("run", suite(), "-q")
    asked()
    said = evalmark("run", "suite.json", *words)
    assert (said.code, says in said.err) == (2, True), said.text
    assert asked() == []


def test_stopping_early_that_stands_in_one_of_several_suites_is_found_before_the_first_runs(evalmark, world):
    suite(until_decided=True)
    shutil.copy("suite.json", "early.json")
    assert evalmark("run", suite(), "early.json", "--shard", "1/2").code == 2
    assert asked() == []


def test_a_baseline_of_the_suite_is_left_to_the_whole(evalmark, shards):
    suite(baseline="last-green", wrong="a")
    assert shards("1/2", baseline="none") == [0]
    assert shards("1/2") == [0]


def test_a_bare_resume_goes_on_with_the_same_shard_or_starts_a_new_one(evalmark, world, server):
    suite(metrics=["factuality"], judge="openai/judge")
    call = ("run", "suite.json", "--store", "one.db", "-q")
    assert evalmark(*call, "--shard", "1/2", "--max-calls", "1").code == 3
    broken = kept("one.db")
    other = evalmark(*call, "--shard", "2/2", "--resume")
    assert (
        "No unfinished run of this suite with the same target and scorers that is shard 2/2; starting a new one."
        in other.err
    )
    assert "starting a new one" in evalmark(*call, "--resume").err, "a run of all cases is none of these"
    same = evalmark(*call, "--shard", "1/2", "--resume")
    assert (same.code, f"Resuming {broken.id}" in same.err) == (0, True), same.text
    told = {(str(run.shard), run.status) for run in kept_runs("one.db")}
    assert told == {("1/2", "complete"), ("2/2", "complete"), ("None", "complete")}


def test_runs_of_one_store_are_merged_by_their_ids_into_the_same(evalmark, world):
    suite(wrong="b")
    for shard in ("1/2", "2/2"):
        evalmark("run", "suite.json", "--shard", shard, "-q")
    ids = [run.id for run in kept_runs(".evalmark/evalmark.db")]
    said = evalmark("merge", *ids)
    assert said.code == 1, said.text
    assert [len(run.results) for run in kept_runs(".evalmark/evalmark.db")] == [8, 4, 4]
    assert evalmark("merge", "last", ids[0]).code == 2, "what is merged is no shard"


def test_labels_are_carried_over(evalmark, shards):
    suite()
    shards("1/2", "2/2")
    for name, case in (("shard-1.db", "a"), ("shard-2.db", "b")):
        evalmark(
            "note",
            "last",
            "--case",
            case,
            "--label",
            "down",
            "--comment",
            f"{case} is wrong",
            "--by",
            "ann",
            "--store",
            name,
        )
        evalmark("note", "last", "--case", case, "--metric", "equals", "--label", "up", "--by", "ann", "--store", name)
    evalmark("merge", *ALL[:2], "-o", "merged.db")
    for case in "ab":
        shown = evalmark("show", "last", "--case", case, "--store", "merged.db")
        assert f"{case} is wrong" in shown.out
    with open_store("merged.db", read_only=True) as store:
        assert len(store.sessions.labels_of_run(kept().id)) == 2
        assert sorted(label.about.partition(":")[0] for label in store.sessions.all_labels()) == [
            "output",
            "output",
            "score",
            "score",
        ]
        assert all(f":{kept().id}/" in label.about for label in store.sessions.all_labels())


def test_samples_of_outputs_to_label_are_carried_over_once(evalmark, shards):
    suite()
    shards("1/2", "2/2")
    for name in ("shard-1.db", "shard-2.db"):
        assert evalmark("label", "last", "--sample", "2", "--store", name).code == 0
    evalmark("merge", *ALL[:2], "-o", "merged.db")
    again = evalmark("merge", *ALL[:2], "-o", "merged.db")
    assert "merged before" in again.text
    with open_store("merged.db", read_only=True) as store:
        (run,) = store.runs()
        samples = store.sessions.label_samples(run.id).values()
        trials = {result.trial.id for result in run.results}
    assert [(len(sample.trials), sample.run) for sample in samples] == [(2, run.id)] * 2
    assert {trial for sample in samples for trial in sample.trials} <= trials


def spoil(path, sql):
    """Change a store behind its back."""
    db = apsw.Connection(str(path))
    db.execute(sql)
    db.close()


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        pytest.param(lambda path: spoil(path, "update result set output = '{}' where case_id = 'b'"), "the stored result of case 'b' of 'first' is damaged", id="a damaged result"),
        pytest.param(lambda path: spoil(path, "update run set header = '{'"), "the header of run number 1 is damaged", id="a damaged header"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:6000]), "", id="a file that was cut off"),
        pytest.param(lambda path: path.write_bytes(b""), "", id="an empty file"),
        pytest.param(lambda path: spoil(path, "pragma user_version = 99"), "a newer evalmark wrote this store (store version 99", id="of a newer evalmark"),
    ],
)  # fmt: skip
def test_a_shard_that_cannot_be_read_is_named_and_nothing_of_the_whole_is_kept(evalmark, shards, harm, says):
    suite()
    shards()
    harm(Path("shard-2.db"))
    said = evalmark("merge", *ALL, "-o", "merged.db")
    assert (said.code, "shard-2.db" in said.err, says in said.err) == (2, True, True), said.text
    assert "Traceback" not in said.err
    assert not Path("merged.db").exists() or not kept_runs("merged.db")


def test_a_damaged_call_is_left_out_with_a_remark(evalmark, shards, server):
    suite(metrics=["factuality"], judge="openai/judge")
    shards()
    spoil("shard-2.db", "update call set reply = '{}' where number = 1")
    said = evalmark("merge", *ALL, "-o", "merged.db")
    assert said.code == 0, said.text
    assert said.err == "1 recorded call was damaged and left out; it is sent again when needed.\n"
    assert evalmark("run", "suite.json", "--store", "merged.db", "--replay", "strict", "-q").code == 3


@pytest.mark.parametrize("name", ["all.html", "all.junit.xml", "all.xml", "ALL.MD"])
def test_a_report_is_not_taken_for_a_store(evalmark, shards, name):
    suite()
    shards("1/1")
    said = evalmark("merge", "shard-1.db", "-o", name)
    assert (said.code, Path(name).exists()) == (2, False)
    assert (
        said.err
        == f"{name}: shards are merged into a store, as merged.db; reports of it are written with evalmark report.\n"
    )


@pytest.mark.slow
def test_on_a_server_shards_write_side_by_side_and_are_merged_there(evalmark, world, on_a_server):
    suite(wrong="b")
    for shard in ("1/2", "2/2"):
        assert evalmark("run", "suite.json", "--shard", shard, "--store", on_a_server, "-q").code == 0
    with open_store(on_a_server, read_only=True) as store:
        ids = [run.id for run in store.runs()]
    assert evalmark("merge", *(f"{on_a_server}@{name}" for name in ids), "-o", "merged.db", "-q").code == 1
    assert evalmark("merge", *ids, "--store", on_a_server, "-q").code == 1
    evalmark("run", "suite.json", "--store", "whole.db", "-q")
    assert lines(kept()) == lines(kept(on_a_server)) == lines(kept("whole.db"))


def test_a_report_over_shards_with_a_gate_notices_a_lost_one(evalmark, shards):
    suite()
    shards("1/3", "2/3")
    said = evalmark("report", *ALL[:2], "--to", "github", "--min-pass-rate", "0.5")
    assert (said.code, "Missing: shard 3 of 3 is missing." in said.out) == (3, True), said.text
    alone = evalmark("report", "shard-1.db", "-o", "x.md", "--min-pass-rate", "0.5")
    assert (alone.code, "Missing: shards 2 to 3 of 3 are missing." in alone.out) == (3, True), alone.text


def test_a_shard_alone_fails_no_gate_that_the_others_could_still_save(evalmark, shards):
    suite(wrong="abcdefg", gate={"min_pass_rate": 0.5})
    shards("1/3")
    below = evalmark("report", "shard-1.db", "-o", "x.md", "--min-pass-rate", "0.4")
    assert (below.code, "could still raise it" in " ".join(below.out.split())) == (3, True), below.text
    evalmark("report", "shard-1.db", "-o", "x.md")
    assert "once they are merged" in Path("x.md").read_text(encoding="utf-8"), "its own gate waits for the others"


def test_another_suite_does_not_take_up_a_merged_run(evalmark, shards):
    suite(name="all", repeat=2)
    Path("suite.json").rename("all.json")
    for number in (2, 3):
        evalmark("run", "all.json", "--shard", f"{number}/3", "--store", f"shard-{number}.db", "-q")
    evalmark("merge", "shard-2.db", "shard-3.db", "-o", "merged.db", "-q")
    whole = kept()
    suite(name="few", more="f")
    asked()
    said = evalmark("run", "suite.json", "--store", "merged.db", "--resume", "last", "-q")
    assert (said.code, said.out) == (2, "")
    assert said.err == (
        f"run {whole.id} belongs to the suite 'all' (all.json), not to the suite 'few' (suite.json); resume it with its own "
        "suite, or omit --resume.\n"
    )
    assert (asked(), kept()) == ([], whole)


def test_a_shard_is_rescored_once_it_is_merged(evalmark, shards):
    suite()
    shards("1/2", "2/2")
    said = evalmark("rescore", "last", "--store", "shard-1.db", "-q")
    assert (said.code, "is shard 1/2 and holds a share of the cases only" in said.err) == (2, True), said.text
    assert len(kept_runs("shard-1.db")) == 1
    assert evalmark("merge", "shard-1.db", "shard-2.db", "-o", "merged.db", "-q").code == 0
    assert evalmark("rescore", "last", "--store", "merged.db", "-q").code == 0
