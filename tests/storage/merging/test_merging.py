"""Runs that went side by side, as one."""

from dataclasses import replace
from time import perf_counter

import pytest

from evalmark import Case, Gate, Output, Result, Run, Score
from evalmark.core.values.run import DatasetInfo, Metric, metrics_for
from evalmark.core.values.score import Trial
from evalmark.core.values.spending import Spending
from evalmark.stats.summary.gate import apply_gate
from evalmark.stats.summary.summarise import summarise
from evalmark.storage.merging.merged_run import merge_runs


def results(dataset, *ids, start=0, passed=True, **fields):
    score = Score(name="m", raw=float(passed), value=float(passed), passed=passed)
    return [
        Result(
            trial=Trial(case=Case(id=name, input=name), dataset=dataset, target="t", position=start + place, **fields),
            output=Output(value="said"),
            scores=(score,),
        )
        for place, name in enumerate(ids)
    ]


def run(name, *parts, **fields):
    found = [result for part in parts for result in part]
    infos = tuple(
        DatasetInfo(name=d, rows=sum(r.trial.dataset == d for r in found))
        for d in dict.fromkeys(r.trial.dataset for r in found)
    )
    known = {"datasets": infos, "metrics": (Metric(name="m"),), "finished": "2026-11-21T10:20:00Z"} | fields
    return Run(id=name, name="bot", created="2026-11-21T10:15:00Z", target="t", results=found, **known)


def told(whole):
    """Dataset, case, position and repeat of every result."""
    return [(r.trial.dataset, r.trial.case.id, r.trial.position, r.trial.repeat) for r in whole.results]


def test_one_run_is_itself():
    only = run("r", results("a", "a0"))
    assert merge_runs([only]) is only


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        pytest.param(
            [run("x", results("a", "a0", "a1")), run("y", results("b", "b0"))],
            [("a", "a0", 0, 0), ("a", "a1", 1, 0), ("b", "b0", 0, 0)],
            id="datasets apart",
        ),
        pytest.param(
            [run("x", results("a", "a0", start=0), results("b", "b0")), run("y", results("a", "a1", start=1), results("b", "b1", start=1))],
            [("a", "a0", 0, 0), ("a", "a1", 1, 0), ("b", "b0", 0, 0), ("b", "b1", 1, 0)],
            id="parts of the same datasets stand together",
        ),
        pytest.param(
            [run("x", results("a", "a0", "a1")), run("y", results("a", "a2"))],
            [("a", "a0", 0, 0), ("a", "a1", 1, 0), ("a", "a2", 2, 0)],
            id="two cases that were counted from 0 each get a place of their own",
        ),
        pytest.param(
            [run("x", results("a", "a0", "a1")), run("y", results("a", "a1", "a2", start=1))],
            [("a", "a0", 0, 0), ("a", "a1", 1, 0), ("a", "a2", 2, 0)],
            id="a trial in both counts once",
        ),
        pytest.param(
            [run("x", results("a", "a0", repeat=0)), run("y", results("a", "a0", repeat=1, start=7))],
            [("a", "a0", 0, 0), ("a", "a0", 0, 1)],
            id="a repeat elsewhere is a repeat of the same case",
        ),
        pytest.param(
            [run("x", results("a", "a0"), results("c", "c0")), run("y", results("b", "b0"), results("c", "c1", start=1))],
            [("a", "a0", 0, 0), ("b", "b0", 0, 0), ("c", "c0", 0, 0), ("c", "c1", 1, 0)],
            id="a dataset between two others",
        ),
        pytest.param(
            [run("x", results("a", "a0"), results("b", "b0")), run("y", results("b", "b1", start=1), results("a", "a1", start=1))],
            [("a", "a0", 0, 0), ("a", "a1", 1, 0), ("b", "b0", 0, 0), ("b", "b1", 1, 0)],
            id="datasets in other orders",
        ),
        pytest.param(
            [run("x", results("a", "a0"), results("b", "b0"), results("a", "a1", start=1)), run("y", results("a", "a2", start=2))],
            [("a", "a0", 0, 0), ("a", "a1", 1, 0), ("a", "a2", 2, 0), ("b", "b0", 0, 0)],
            id="a dataset in two pieces",
        ),
        pytest.param([run("x"), run("y", results("a", "a0"))], [("a", "a0", 0, 0)], id="an empty run"),
        pytest.param([run("x"), run("y")], [], id="nothing at all"),
    ],
)  # fmt: skip
def test_results_come_once_each_and_by_dataset(runs, expected):
    whole = merge_runs(runs)
    assert told(whole) == expected
    assert told(whole) == expected, "they can be read again"
    assert len(whole.results) == len(expected)
    assert all(result in whole.results for result in whole.results)


def test_a_trial_in_several_runs_counts_once_as_in_the_first_and_a_note_says_so():
    whole = merge_runs([run("x", results("a", "a0", passed=False)), run("y", results("a", "a0", "a1"))])
    assert [result.verdict for result in whole.results] == ["fail", "pass"]
    assert whole.notes == (
        "Merged from 2 runs: x, y.",
        "1 trial occurs in several runs; the first occurrence counts.",
    )


def test_a_case_of_the_same_id_and_another_content_is_another_case():
    first, second = results("a", "a0"), results("a", "a0")
    second[0] = replace(second[0], trial=replace(second[0].trial, case=Case(id="a0", input="another question")))
    assert told(merge_runs([run("x", first), run("y", second)])) == [("a", "a0", 0, 0), ("a", "a0", 1, 0)]


def test_cases_of_several_runs_are_not_taken_for_repeats_of_one():
    whole = summarise(merge_runs([run("x", results("a", "a0")), run("y", results("a", "a1", passed=False))]))
    assert (whole.total.cases, whole.total.flips) == (2, None)


def test_results_stay_where_they_are_until_they_are_asked_for():
    read = []

    class Kept(list):
        def __iter__(self):
            for result in super().__iter__():
                read.append(result.trial.case.id)
                yield result

    whole = merge_runs([replace(run("x"), results=Kept(results("a", "a0", "a1"))), run("y", results("b", "b0"))])
    read.clear()
    first = next(iter(whole.results))
    assert (first.trial.case.id, read) == ("a0", ["a0"])


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        (("complete", "complete"), "complete"),
        (("complete", "interrupted"), "interrupted"),
        (("stopped", "complete"), "stopped"),
        (("complete", "running"), "running"),
    ],
    ids=["all complete", "one interrupted", "one stopped", "one still running"],
)
def test_the_whole_is_complete_when_every_part_is(statuses, status):
    ends = {"complete": "2026-11-21T10:20:00Z"}
    whole = merge_runs(
        [run(d, results(d, f"{d}0"), status=s, finished=ends.get(s)) for d, s in zip("ab", statuses, strict=True)]
    )
    assert whole.status == status
    assert (whole.finished is None) is (status != "complete")
    verdict = apply_gate(summarise(whole), None)
    assert verdict.outcome == ("pass" if status == "complete" else "cannot tell")


def test_which_parts_are_not_complete_is_said():
    whole = merge_runs([run("x", results("a", "a0")), run("y", results("b", "b0"), status="interrupted")])
    assert whole.notes == ("Merged from 2 runs: x, y (interrupted).",)


def test_what_did_not_run_is_known_only_where_no_dataset_is_shared():
    half = DatasetInfo(name="b", rows=4)
    apart = [run("x", results("a", "a0")), run("y", results("b", "b0"), status="interrupted", datasets=(half,))]
    assert summarise(merge_runs(apart)).missing == 3
    shared = [run("x", results("b", "b0")), run("y", results("b", "b1"), status="interrupted", datasets=(half,))]
    assert summarise(merge_runs(shared)).missing is None
    other = [apart[0], replace(apart[1], repeat=2)]
    assert summarise(merge_runs(other)).missing is None


def test_what_is_alike_is_kept_and_what_differs_is_named_or_left_out():
    first = run(
        "x", results("a", "a0"), suite="s.yaml", plan="p", gate=Gate(min_score=0.5), versions={"python": "3.11"}
    )
    second = run(
        "y", results("a", "a1"), suite="s.yaml", plan="q", gate=Gate(min_score=0.5), versions={"python": "3.12"}
    )
    whole = merge_runs([first, replace(second, name="another bot", created="2026-11-21T10:00:00Z", notes=("n",))])
    assert (whole.id, whole.name, whole.target) == ("x+y", "bot, another bot", "t")
    assert (whole.suite, whole.plan, whole.gate) == ("s.yaml", "", Gate(min_score=0.5))
    assert whole.versions == {"python": "3.11, 3.12"}
    assert whole.created == "2026-11-21T10:00:00Z"
    assert whole.notes == ("n", "Merged from 2 runs: x, y.")
    assert whole.datasets == (DatasetInfo(name="a", rows=2),)


def test_different_gates_judge_nothing():
    whole = merge_runs([run("x", results("a", "a0"), gate=Gate(min_score=0.5)), run("y", results("b", "b0"))])
    assert whole.gate is None
    assert "The runs had different gates, so no gate is applied." in whole.notes


def test_vectors_of_different_modes_are_said_to_differ_in_kind():
    parts = [run("x", results("a", "a0"), embedder="local:a"), run("y", results("b", "b0"), embedder="local:a:int8")]
    said = "The runs used different embedding models or modes, so their similarities are not comparable."
    assert said in merge_runs(parts).notes
    assert merge_runs(parts).embedder == ""
    assert said not in merge_runs([parts[0], run("y", results("b", "b0"))]).notes


def test_spending_is_summed_by_model_and_unknown_stays_unknown():
    known = Spending(model="m", calls=2, input_tokens=10, output_tokens=3, cost=0.25)
    unknown = Spending(model="m", calls=1, unknown_usage=1, unknown_cost=1)
    whole = merge_runs(
        [
            run("x", spending=(known, replace(unknown, model="u"))),
            run("y", spending=(unknown, replace(unknown, model="u"))),
        ]
    )
    assert whole.spending == (
        Spending(model="m", calls=3, input_tokens=10, output_tokens=3, unknown_usage=1, cost=0.25, unknown_cost=1),
        Spending(model="u", calls=2, unknown_usage=2, unknown_cost=2),
    )


STRICT, LOOSE = Metric(name="m", threshold=0.9), Metric(name="m", threshold=0.1)


@pytest.mark.parametrize(
    ("metrics", "datasets", "expected", "noted"),
    [
        pytest.param([(STRICT,), (STRICT,)], "ab", (STRICT,), False, id="the same metric once"),
        pytest.param(
            [(STRICT,), (LOOSE,)], "ab", (replace(STRICT, dataset="a"), replace(LOOSE, dataset="b")), False,
            id="metrics of one name go with the datasets of their run",
        ),
        pytest.param([(STRICT,), (LOOSE,)], "aa", (STRICT,), True, id="a dataset that is shared is held to the first"),
        pytest.param([(STRICT,), (Metric(name="n"),)], "ab", (STRICT, Metric(name="n")), False, id="others beside it"),
        pytest.param(
            [(replace(STRICT, dataset="a"),), (replace(LOOSE, dataset="b"),)], "ab",
            (replace(STRICT, dataset="a"), replace(LOOSE, dataset="b")), False, id="those of a dataset stay its own",
        ),
    ],
)  # fmt: skip
def test_metrics_are_united(metrics, datasets, expected, noted):
    whole = merge_runs(
        [run(f"r{n}", results(d, f"{d}{n}"), metrics=m) for n, (m, d) in enumerate(zip(metrics, datasets, strict=True))]
    )
    assert whole.metrics == expected
    said = "The runs describe m differently; the description of the first run is shown."
    assert (said in whole.notes) is noted


def test_a_dataset_with_a_metric_of_its_own_keeps_that_one_beside_the_one_for_all():
    own = replace(STRICT, dataset="b")
    first = run("x", results("a", "a0"), results("b", "b0"), metrics=(LOOSE, own))
    second = run("y", results("b", "b1"), results("c", "c0"), metrics=(STRICT,))
    whole = merge_runs([first, second])
    assert {d: metrics_for(whole.metrics, d)["m"].threshold for d in "abc"} == {"a": 0.1, "b": 0.9, "c": 0.9}
    assert len(whole.metrics) == 3
    assert whole.notes == ("Merged from 2 runs: x, y.",)


def test_a_run_without_cases_still_brings_its_metrics():
    whole = merge_runs([run("x", metrics=(STRICT,)), run("y", metrics=(Metric(name="n"),))])
    assert whole.metrics == (STRICT, Metric(name="n"))


def test_many_cases_that_were_all_counted_from_0_are_placed_in_no_time():
    parts = [run(str(n), results("a", *(f"{n}.{place}" for place in range(3_000)))) for n in range(2)]
    began = perf_counter()
    whole = merge_runs(parts)
    assert sorted(place for _, _, place, _ in told(whole)) == list(range(6_000))
    assert perf_counter() - began < 5
