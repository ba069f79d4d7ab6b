"""What a test run says of its evals at its end."""

from dataclasses import replace

import pytest

from evalmark import Case, Output, Result, Run, Score
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Trial
from evalmark.core.values.spending import Spending
from evalmark.reports.terminal.console import TerminalStyle
from evalmark.reports.terminal.eval_table import eval_screen
from evalmark.stats.summary.gate import GateVerdict

WIDE = TerminalStyle(width=100)
METRICS = (Metric(name="factuality", threshold=0.6, judge="openai/m"), Metric(name="equals"))


def result(name, value, *, dataset="capitals", position=0, repeat=0, question="What?"):
    passed = value >= 0.6
    scores = (
        Score(name="factuality", raw=value, value=value, passed=passed),
        Score(name="equals", raw=passed, value=float(passed), passed=passed),
    )
    trial = Trial(case=Case(id=name, input=question), dataset=dataset, position=position, repeat=repeat)
    return Result(trial=trial, output=Output(value="x"), scores=scores)


def run(results, run_id="20261122-000000-aaaa"):
    return Run(id=run_id, name="pytest", created="2026-11-22T00:00:00Z", metrics=METRICS, results=results)


THREE = run([result("a", 1.0), result("b", 0.4, position=1), result("c", 0.6, position=2)])


def test_each_eval_says_cases_rate_means_and_cost():
    text = eval_screen(THREE, {"capitals": [Spending(model="openai/m", calls=3, cost=0.0012)]}, WIDE)
    for said in (
        "capitals   3 cases",
        "$0.0012",
        "2 of 3 passed, 66.7 %",
        "factuality    0.667",
        "equals       66.7 %",
    ):
        assert said in text


def test_evals_of_one_file_with_different_targets_are_told_apart():
    def on(target, name):
        found = result(name, 1.0)
        return replace(found, trial=replace(found.trial, target=target))

    text = eval_screen(run([on("shop:answer", "a"), on("shop:search", "b")]), {}, WIDE)
    assert "capitals on shop:answer   1 case" in text
    assert "capitals on shop:search   1 case" in text


def test_without_calls_nothing_is_said_of_money():
    assert "$" not in eval_screen(THREE, {}, WIDE)


def test_the_gate_gives_every_reason():
    verdict = GateVerdict(outcome="fail", reasons=("Too few.", "Too low."))
    text = eval_screen(THREE, {}, WIDE, verdict=verdict)
    assert "Gate failed: Too few.\n" in text
    assert "               Too low." in text


@pytest.mark.parametrize(
    ("before", "said"),
    [
        pytest.param(
            [result("a", 1.0), result("b", 0.4), result("c", 1.0)],
            "0 regressed, 0 improved, 3 unchanged: nothing changed",
            id="same",
        ),
        pytest.param(
            [result("a", 0.1), result("b", 1.0)], "1 regressed, 1 improved, 0 unchanged, 1 not compared", id="both ways"
        ),
    ],
)
def test_a_baseline_says_which_cases_changed(before, said):
    text = eval_screen(THREE, {}, WIDE, baseline=run(before, "20261121-000000-bbbb"))
    assert f"against 20261121-000000-bbbb: {said}" in text
    assert ("regressed: b" in text) == ("1 regressed" in said)


def test_a_case_without_a_name_of_its_own_goes_by_its_input():
    mine = run([result("0123456789ab", 0.1, question="Where is\nPeru?")])
    text = eval_screen(mine, {}, WIDE, baseline=run([result("0123456789ab", 1.0, question="Where is\nPeru?")], "b"))
    assert "regressed: Where is Peru?" in text


def test_repeats_are_told_from_cases_and_hostile_names_do_nothing():
    results = [result("a", 1.0, dataset="\x1b[31mred\x1b[0m", repeat=repeat) for repeat in range(3)]
    text = eval_screen(run(results), {}, WIDE)
    assert "red   1 case x 3" in text
    assert "\x1b" not in text


def test_nothing_is_wider_than_the_terminal():
    long = [result("c" * 90, 0.1, dataset="d" * 150)]
    text = eval_screen(
        run(long), {}, TerminalStyle(width=60), baseline=run([result("c" * 90, 1.0, dataset="d" * 150)], "b" * 30)
    )
    assert max(map(len, text.splitlines())) <= 60


def test_a_long_reason_of_the_gate_stays_in_its_column():
    reasons = ("The mean of edit_similarity in test_route.py on shop:route is 0.2857, less than 0.5.", "Too low.")
    text = eval_screen(THREE, {}, TerminalStyle(width=60), verdict=GateVerdict(outcome="fail", reasons=reasons))
    *_, first, second, third = text.splitlines()
    assert first.startswith("  Gate failed: The mean of")
    assert second.startswith(" " * 15)
    assert third == " " * 15 + "Too low."


def test_it_says_why_a_metric_has_no_interval():
    text = eval_screen(run([result("a", 7.0)]), {}, WIDE)
    assert "No interval: one value shows no spread." in text
