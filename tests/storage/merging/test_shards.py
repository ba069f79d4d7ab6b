"""Shards that make one run: which do, what is lost of them, and the header of the whole."""

from dataclasses import replace

import pytest

from evalmark import Gate, Run
from evalmark.core.values.run import DatasetInfo, Metric, Shard
from evalmark.core.values.spending import Spending
from evalmark.errors import ConfigError
from evalmark.stats.summary.gate import apply_gate
from evalmark.stats.summary.summarise import summarise
from evalmark.storage.merging.merged_run import merge_runs
from evalmark.storage.merging.missing import MISSING_PREFIX
from evalmark.storage.merging.shards import merge_note, merged_header

from .test_merging import results

DEALT = {"a": "rows of a", "b": "rows of b"}


def shard(place="2/3", run_id="", **fields):
    """A run that is a share of another one."""
    number, of = map(int, place.split("/"))
    share = Shard(number=number, of=of, dealt=DEALT)
    known = {
        "name": "bot",
        "created": f"2026-11-21T10:0{number}:00Z",
        "finished": f"2026-11-21T10:1{number}:00Z",
        "target": "t",
        "datasets": (DatasetInfo(name="a", path="a.csv", rows=number), DatasetInfo(name="b", path="b.csv", rows=1)),
        "metrics": (Metric(name="m"),),
        "plan": "p",
        "suite": "suite.yaml",
        "revision": "c0ffee",
        "is_part": True,
        "notes": (share.note, "A note of all."),
        "spending": (Spending(model="x/y", calls=number, cost=0.5),),
    }
    return Run(id=run_id or f"run-{number}", shard=share, **known | fields)


def three(**last):
    return [shard("1/3"), shard("2/3"), shard("3/3", **last)]


def dealt(run, **fields):
    """A shard that was dealt otherwise."""
    return replace(run, shard=replace(run.shard, **fields))


def test_the_whole_is_the_run_that_one_machine_would_have_made():
    found = merged_header(three(), "whole")
    alone = shard("1/1", "whole")
    assert found == replace(
        alone,
        shard=None,
        is_part=False,
        created="2026-11-21T10:01:00Z",
        finished="2026-11-21T10:13:00Z",
        datasets=(DatasetInfo(name="a", path="a.csv", rows=6), DatasetInfo(name="b", path="b.csv", rows=3)),
        notes=("A note of all.", "Merged from shards: run-1, run-2, run-3."),
        spending=(Spending(model="x/y", calls=6, cost=1.5),),
    )


def test_the_order_in_which_shards_are_named_changes_nothing():
    assert merged_header(three()[::-1], "whole") == merged_header(three(), "whole")
    assert merge_note(three()[::-1]) == merge_note(three())


def test_one_shard_of_one_is_a_whole():
    assert merged_header([shard("1/1")], "w").status == "complete"


@pytest.mark.parametrize(
    ("limit", "only", "is_part"),
    [(None, (), False), (5, (), True), (None, ("tag=x",), True)],
    ids=["all cases", "a limit", "conditions"],
)
def test_the_whole_leaves_out_what_all_shards_left_out(limit, only, is_part):
    assert merged_header([dealt(run, limit=limit, only=only) for run in three()], "w").is_part is is_part


DIFFER = "shard 3/3 (run-3) and shard 1/3 (run-1) do not belong to the same run; they differ in"


@pytest.mark.parametrize(
    ("shards", "says"),
    [
        pytest.param([*three(), shard("2/3", "again")], "shard 2/3 is named twice, as run-2 and again; leave one of them out.", id="a shard twice"),
        pytest.param([*three(), shard("2/3")], "run run-2 is named twice; name each shard once.", id="the same run twice"),
        pytest.param([*three()[:2], replace(shard("3/3"), shard=None)], "run run-3 is not a shard: it covers all cases. Run the suite with --shard.", id="a run of all cases"),
        pytest.param([shard("1/3"), shard("3/4")], "shard 3/4 (run-3) and shard 1/3 (run-1) do not belong to the same run; they differ in the number of shards.", id="of another number of shards"),
        pytest.param(three(plan="q"), f"{DIFFER} the target, the scorers or a model.", id="another target"),
        pytest.param(three(name="other"), f"{DIFFER} the name of the suite.", id="another suite"),
        pytest.param(three(repeat=3), f"{DIFFER} the number of repeats.", id="other repeats"),
        pytest.param(three(gate=Gate(min_pass_rate=0.5)), f"{DIFFER} the gate.", id="another gate"),
        pytest.param(three(datasets=(DatasetInfo(name="a"),)), f"{DIFFER} the datasets.", id="other datasets"),
        pytest.param([*three()[:2], dealt(shard("3/3"), limit=9)], f"{DIFFER} --limit.", id="another limit"),
        pytest.param([*three()[:2], dealt(shard("3/3"), only=("tag=x",))], f"{DIFFER} --filter.", id="other conditions"),
        pytest.param([*three()[:2], dealt(shard("3/3"), dealt=DEALT | {"b": "edited"})], f"{DIFFER} the rows of b.", id="a dataset that was edited in between"),
        pytest.param([*three()[:2], dealt(shard("3/3"), dealt={"a": DEALT["a"]})], f"{DIFFER} the rows of b.", id="a dataset that was empty for one"),
        pytest.param(three(plan="q", repeat=2), f"{DIFFER} the target, the scorers or a model, the number of repeats.", id="several things"),
    ],
)  # fmt: skip
def test_what_is_no_whole_is_refused_in_a_sentence(shards, says):
    with pytest.raises(ConfigError) as fault:
        merged_header(shards, "w")
    assert str(fault.value).splitlines() == [says]


def test_all_faults_are_named_at_once():
    with pytest.raises(ConfigError) as fault:
        merged_header([shard("1/3"), shard("2/3", plan="q"), shard("3/3", repeat=2)], "w")
    assert len(str(fault.value).splitlines()) == 2


def test_conversations_have_seen_their_own_datasets_only():
    talks = [Metric(name="m", mode="conversation")]
    shards = [shard("1/2", metrics=talks), shard("2/2", metrics=talks)]
    apart = [dealt(shards[0], dealt={"a": "x"}), dealt(shards[1], dealt={"b": "y"})]
    assert merged_header(apart, "w").status == "complete"


@pytest.mark.parametrize(
    ("shards", "status", "says"),
    [
        pytest.param(three()[:2], "interrupted", ["Missing: shard 3 of 3 is missing."], id="one is lost"),
        pytest.param(three()[1:2], "interrupted", ["Missing: shards 1, 3 of 3 are missing."], id="two are lost"),
        pytest.param([shard("1/30"), shard("9/30")], "interrupted", ["Missing: shards 2 to 8, 10 to 30 of 30 are missing."], id="many are lost"),
        pytest.param([shard(f"{n}/50", f"r{n}") for n in range(1, 50, 2)], "interrupted", ["Missing: shards 2, 4, 6, 8, 10, 12, 14, 16, 18, 20 and others of 50 are missing."], id="every other one is lost"),
        pytest.param(three(status="interrupted"), "interrupted", ["Missing: shard 3/3 (run-3) did not finish."], id="one was interrupted"),
        pytest.param(three(status="stopped"), "stopped", ["Missing: shard 3/3 (run-3) did not finish."], id="one ran out of budget"),
        pytest.param(three(status="running", finished=None), "interrupted", ["Missing: shard 3/3 (run-3) did not finish."], id="one was killed elsewhere"),
        pytest.param([shard("1/3"), shard("3/3", status="interrupted")], "interrupted", ["Missing: shard 2 of 3 is missing.", "Missing: shard 3/3 (run-3) did not finish."], id="one is lost, and one was interrupted"),
    ],
)  # fmt: skip
def test_what_is_lost_leaves_the_whole_incomplete_and_is_named(shards, status, says):
    found = merged_header(shards, "w")
    assert (found.status, [note for note in found.notes if note.startswith(MISSING_PREFIX)]) == (status, says)
    assert [info.rows for info in found.datasets] == [None, None]


def test_a_shard_that_broke_off_has_not_seen_all_rows_and_is_taken_all_the_same():
    broken = dealt(shard("3/3", status="interrupted"), dealt={})
    assert merged_header([*three()[:2], broken], "w").status == "interrupted"


def test_shards_of_different_commits_are_merged_with_a_note():
    found = merged_header(three(revision=""), "w")
    assert found.revision == ""
    assert "The shards were made from different commits: c0ffee, an unknown one." in found.notes


def test_the_gate_judges_the_whole():
    gate = Gate(min_pass_rate=0.5)
    runs = [
        replace(run, gate=gate, results=results("a", f"a{n}", start=n, passed=n == 0)) for n, run in enumerate(three())
    ]
    assert [apply_gate(summarise(run), run.gate).outcome for run in runs] == ["pass"] * 3
    one = replace(merged_header(runs, "w"), results=[result for run in runs for result in run.results])
    assert apply_gate(summarise(one), one.gate).outcome == "fail"


def test_a_report_over_shards_notices_a_lost_one_too():
    whole_run, part = merge_runs(three()), merge_runs(three()[:2])
    assert (whole_run.status, whole_run.shard) == ("complete", None)
    assert not any("Shard" in note or note.startswith(MISSING_PREFIX) for note in whole_run.notes)
    assert part.status == "interrupted"
    assert part.notes[-1] == "Missing: shard 3 of 3 is missing."
    assert [info.rows for info in part.datasets] == [None, None]
