"""`evalmark merge` where files hold more than one shard each: those of several suites, merged runs, labels given later."""

import json
import shlex
from pathlib import Path

import pytest

from evalmark.store import open_store

BOT = """
def answer(text):
    return text.upper()

def other(text):
    return text.upper() + "!"
"""


def suite(name, wrong=(), **fields):
    """A suite of four cases; of those that are `wrong` something else is expected."""
    Path("bot.py").write_text(BOT, encoding="utf-8")
    rows = [{"id": row, "input": row, "expected": "?" if row in wrong else row.upper()} for row in "abcd"]
    Path(f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    known = {"name": name, "datasets": [f"{name}.jsonl"], "target": "bot:answer", "metrics": ["equals"]}
    Path(f"{name}.json").write_text(json.dumps(known | fields), encoding="utf-8")
    return f"{name}.json"


def runs(store):
    with open_store(store, read_only=True) as ledger:
        return ledger.runs()


@pytest.fixture
def shard(world, evalmark):
    """Runs a shard of suites into the store of this shard; gives the exit code."""

    def run(which, *words):
        return evalmark("run", *words, "--shard", which, "--store", f"s{which[0]}.db", "-q").code

    return run


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        pytest.param({}, 0, id="both hold"),
        pytest.param({"one": "a"}, 1, id="the first fails"),
        pytest.param({"two": "a"}, 1, id="the second fails"),
    ],
)
def test_every_suite_that_has_shards_in_the_files_is_merged_and_the_worst_code_counts(evalmark, shard, wrong, code):
    names = [suite(name, wrong.get(name, ())) for name in ("one", "two")]
    assert [shard(which, *names) for which in ("1/2", "2/2")] == [0, 0]
    said = evalmark("merge", "s1.db", "s2.db", "-o", "all.db")
    assert said.code == code, said.text
    assert [(run.name, run.status, len(run.results)) for run in runs("all.db")] == [
        ("two", "complete", 4),
        ("one", "complete", 4),
    ]
    assert evalmark("merge", "s1.db", "s2.db", "-o", "all.db", "-q").code == code
    assert len(runs("all.db")) == 2


def test_a_suite_of_which_only_one_file_has_a_shard_is_merged_and_not_complete(evalmark, shard):
    suite("one")
    suite("two")
    shard("1/2", "one.json", "two.json")
    shard("2/2", "two.json")
    assert evalmark("merge", "s1.db", "s2.db", "-o", "all.db", "-q").code == 3
    assert [(run.name, run.status) for run in runs("all.db")] == [("two", "complete"), ("one", "interrupted")]


def test_a_run_beside_a_file_with_several_suites_is_refused_with_the_form_that_says_which(evalmark, shard):
    names = [suite("one"), suite("two")]
    for which in ("1/2", "2/2"):
        shard(which, *names)
    two, one = runs("s1.db")
    said = evalmark("merge", "s1.db", "s2.db@last", "-o", "all.db")
    assert said.code == 2
    assert said.err == (
        f"s1.db: there are shards of several suites, one.json ({one.id}), two.json ({two.id}); name one of them, "
        f"such as s1.db@{two.id}.\n"
    )
    assert evalmark("merge", f"s1.db@{two.id}", "s2.db@last", "-o", "all.db", "-q").code == 0
    assert [run.name for run in runs("all.db")] == ["two"]


def test_faults_of_one_suite_keep_all_of_them_out(evalmark, shard):
    shard("1/2", suite("one"), suite("two"))
    shard("2/2", suite("one"), suite("two", gate={"min_pass_rate": 0.5}))
    said = evalmark("merge", "s1.db", "s2.db", "-o", "all.db")
    assert (said.code, "they differ in the gate." in said.err) == (2, True), said.text
    assert not Path("all.db").exists()


def test_an_earlier_shard_with_another_target_that_is_left_out_is_named(evalmark, shard):
    suite("one")
    for which in ("1/2", "2/2"):
        shard(which, "one.json", "--target", "bot:other")
        shard(which, "one.json")
    earlier = runs("s1.db")[1].id
    said = evalmark("merge", "s1.db", "s2.db", "-o", "all.db", "-q")
    assert said.code == 0, said.text
    assert f"{earlier}, with another target, other scorers or models, is left out" in said.err
    assert f"to merge it, name s1.db@{earlier}." in said.err
    assert [run.target for run in runs("all.db")] == ["bot:answer"]


def test_another_shard_in_the_same_file_that_is_left_out_is_named(evalmark, shard):
    suite("one")
    for which in ("1/2", "2/2"):
        evalmark("run", "one.json", "--shard", which, "--store", "both.db", "-q")
    two, one = (run.id for run in runs("both.db"))
    said = evalmark("merge", "both.db", "-o", "all.db", "-q")
    assert said.code == 3
    assert said.err.startswith(
        f"both.db: merging {two}, the newest run of one.json; {one}, shard 1/2, is left out; to merge it, name both.db@{one}.\n"
    )
    assert evalmark("merge", "both.db", f"both.db@{one}", "-o", "all.db", "-q").code == 0


def test_a_refused_merge_leaves_no_file_behind(evalmark, shard):
    shard("2/2", suite("one"))
    assert evalmark("merge", "s2.db", "s2.db", "-o", "left.db").code == 2
    assert not list(Path().glob("left.db*"))


def test_the_store_of_a_shard_may_take_the_whole_again_and_again(evalmark, shard):
    suite("one")
    for which in ("1/2", "2/2"):
        shard(which, "one.json")
    call = ("merge", "s1.db", "s2.db", "-o", "s1.db")
    first, again = evalmark(*call), evalmark(*call)
    assert (first.code, again.code) == (0, 0), again.text
    assert "merged before" in again.err
    assert [len(run.results) for run in runs("s1.db")] == [4, 2]


def test_a_merged_run_that_is_named_as_a_shard_is_refused_with_the_names_of_the_shards(evalmark, shard):
    suite("one")
    for which in ("1/2", "2/2"):
        shard(which, "one.json")
    evalmark("merge", "s1.db", "s2.db", "-o", "all.db", "-q")
    merged, (one, two) = runs("all.db")[0].id, [runs(store)[0].id for store in ("s1.db", "s2.db")]
    said = evalmark("merge", "all.db", "s2.db", "-o", "more.db")
    assert (said.code, said.err) == (
        2,
        f"run {merged} is a merged run; name the shards that it was merged from: {one}, {two}.\n",
    )


def test_two_places_for_the_whole_are_refused(evalmark, shard):
    shard("1/1", suite("one"))
    said = evalmark("merge", "s1.db", "-o", "a.db", "-o", "b.db")
    assert (said.code, said.err) == (
        2,
        "-o takes one store for the merged run, but got a.db, b.db; name one of them.\n",
    )
    assert not Path("a.db").exists()
    assert not Path("b.db").exists()


@pytest.mark.parametrize(
    ("named", "says"),
    [
        pytest.param(("--store", "my runs.db"), " --store 'my runs.db'", id="a file that is named is named again, as a shell takes it"),
        pytest.param((), "", id="that of the settings is found anyway"),
    ],
)  # fmt: skip
def test_the_command_to_look_again_finds_the_run(evalmark, world, named, says):
    ran = evalmark("run", suite("one", wrong="a"), *named)
    run = runs(named[1] if named else ".evalmark/evalmark.db")[0]
    for said in (ran, evalmark("show", "last", *named)):
        assert " ".join(said.out.split()).endswith(f"show it with: evalmark show {run.id} --failed{says}")


def test_merging_says_where_the_whole_is_and_gives_no_advice_that_it_does_not_know(evalmark, shard):
    shard("1/2", suite("one"))
    said = evalmark("merge", "s1.db", "-o", "all.db")
    merged = runs("all.db")[0].id
    assert " ".join(said.out.split()).endswith(f"evalmark show {merged} --store all.db"), said.out
    assert "To go on" not in said.out
    assert "To go on" not in evalmark("show", "last", "--store", "all.db").out


@pytest.mark.parametrize(
    ("flags", "printed"),
    [
        pytest.param((), "--repeat 1", id="none"),
        pytest.param(("-n", "3"), "--repeat 1 --limit 3", id="the first cases"),
        pytest.param(("--filter", "id=[ac]", "--filter", "id=*"), "--repeat 1 --filter 'id=[ac]' --filter 'id=*'", id="conditions, as a shell takes them"),
        pytest.param(("--repeat", "2", "-n", "3"), "--repeat 2 --limit 3", id="repeats, which the suite does not have"),
    ],
)  # fmt: skip
def test_the_command_that_asks_what_is_missing_has_the_flags_of_the_shards(evalmark, shard, flags, printed):
    evalmark("run", suite("one"), "--store", "alone.db", "-q", *flags)
    shard("1/2", "one.json", *flags)
    said = evalmark("merge", "s1.db", "-o", "all.db", "-q")
    merged = runs("all.db")[0].id
    command = f"evalmark run one.json --store all.db {printed} --resume {merged}"
    assert said.err == (
        "Not complete. This command runs the missing cases; add the flags of the shards that are not recorded "
        f"(--target, --model, --judge, --lock, --embeddings, --mode): {command}\n"
    )
    assert evalmark(*shlex.split(command)[1:], "-q").code == 0
    assert [result.trial for result in runs("all.db")[0].results] == [
        result.trial for result in runs("alone.db")[0].results
    ]


@pytest.fixture(params=["a file", pytest.param("a server", marks=pytest.mark.slow)])
def into(request):
    """A place for the whole."""
    return "all.db" if request.param == "a file" else request.getfixturevalue("on_a_server")


def test_labels_that_shards_are_given_after_the_merge_arrive_when_they_are_merged_again(evalmark, shard, into):
    suite("one")
    for which in ("1/2", "2/2"):
        shard(which, "one.json")

    def note(case, store, *words):
        assert evalmark("note", "last", "--case", case, *words, "--by", "ann", "--store", store).code == 0

    def merge():
        said = evalmark("merge", "s1.db", "s2.db", "-o", into, "-q")
        assert said.code == 0, said.text
        return said.err

    note("a", "s1.db", "--label", "up")
    assert merge() == ""
    (whole,) = runs(into)
    note("a", "s1.db", "--label", "down", "--comment", "on second thoughts")
    note("b", "s2.db", "--metric", "equals", "--label", "up")
    assert merge() == f"These shards were merged before, as {whole.id}; 2 new labels written there.\n"
    assert merge() == f"These shards were merged before, as {whole.id}; nothing new is written.\n"
    with open_store(into, read_only=True) as store:
        said = store.sessions.all_labels()
    assert [(label.about.partition(":")[0], label.liked) for label in said] == [
        ("output", True),
        ("output", False),
        ("score", True),
    ]
    assert all(f":{whole.id}/" in label.about for label in said)
    assert "on second thoughts" in evalmark("show", "last", "--case", "a", "--store", into).out
