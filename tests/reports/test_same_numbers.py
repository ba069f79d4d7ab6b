"""Every report of one run shows the same numbers, at the precision that it shows."""

# ruff: noqa: S311  seeded draws, not secrets

import csv
import html
import json
import random
import re
from collections import Counter
from dataclasses import replace
from io import StringIO
from statistics import fmean
from xml.etree import ElementTree

import pytest

from evalmark import Case, Output, Result, Run, Score
from evalmark.core.values.run import DatasetInfo, Gate, Metric, RunTotals
from evalmark.core.values.score import Trial
from evalmark.reports.files.comparison_html import comparison_as_html
from evalmark.reports.files.comparison_markdown import comparison_in_markdown
from evalmark.reports.files.github import as_github
from evalmark.reports.files.notebook import html_of
from evalmark.reports.files.review_comment import as_review_comment
from evalmark.reports.files.run_markdown import as_markdown
from evalmark.reports.files.writers import WRITERS
from evalmark.reports.terminal.comparison import comparison_screen
from evalmark.reports.terminal.console import TerminalStyle
from evalmark.reports.terminal.eval_table import eval_screen
from evalmark.reports.terminal.run_list import ListedRun, run_list_screen
from evalmark.reports.terminal.run_report import run_screen
from evalmark.reports.terminal.target_overview import overview_screen
from evalmark.reports.text.numbers import DASH
from evalmark.stats.comparison.compare import compare
from evalmark.stats.summary.target_overview import overview
from evalmark.store import open_store
from tests.reports.viewer.conftest import from_browser, keep, shown

GRADED, PLAIN = "graded", "plain"
ID = "20261123-101500-aaaa"


def scored(draw: random.Random, name: str, threshold: float | None) -> Score:
    """A score: one in seven is unscored, an error or skipped."""
    chance = draw.random()
    for share, status in ((0.05, "unscored"), (0.1, "error"), (0.15, "skipped")):
        if chance < share:
            return Score(name=name, status=status, reason="boom" if status == "error" else "")
    value = round(draw.betavariate(3, 1), 6)
    return Score(name=name, raw=value, value=value, passed=None if threshold is None else value >= threshold)


def run(seed: int, cases: int, repeats: int, cluster: str) -> Run:
    """A run with errors of the target and of scorers, unscored, skipped and missing scores, repeats and clusters."""
    draw, results = random.Random(seed), []
    for number in range(cases):
        case = Case(id=f"c{number}", input=f"q{number}", metadata={"document": number // 4})
        for repeat in range(repeats):
            trial = Trial(case=case, dataset="d", target="app:bot", position=number, repeat=repeat)
            if draw.random() < 0.06:
                results.append(Result(trial=trial, output=Output(error="ValueError: no answer")))
                continue
            scores = (scored(draw, GRADED, 0.7), scored(draw, PLAIN, None))
            results.append(Result(trial=trial, output=Output(value="text", seconds=0.5), scores=scores))
    return Run(
        id=ID,
        name="bot",
        created="2026-11-23T10:15:00+00:00",
        target="app:bot",
        datasets=(DatasetInfo(name="d", cluster=cluster),),
        metrics=(Metric(name=GRADED, threshold=0.7), Metric(name=PLAIN)),
        repeat=repeats,
        results=results,
    )


RUNS = [
    pytest.param(run(1, 40, 1, ""), id="cases once"),
    pytest.param(run(2, 40, 3, ""), id="repeats"),
    pytest.param(run(3, 40, 1, "document"), id="clusters"),
    pytest.param(run(4, 36, 2, "document"), id="clusters and repeats"),
    pytest.param(run(5, 7, 1, ""), id="few cases"),
    pytest.param(run(6, 7, 2, ""), id="few cases and repeats"),
]


def in_json(one: Run) -> dict:
    return json.loads("".join(WRITERS[".json"](one)))["summary"]


def plain(text: str) -> str:
    """The text of a page with its tooltips: no tags, no marks of Markdown, single spaces."""
    text = re.sub(r"<(style|script)\b.*?</\1>|<svg\b.*?</svg>", " ", text, flags=re.DOTALL)
    text = re.sub(r'<[^<>]* title="([^"]*)"[^<>]*>', r" \1 ", text)
    return " ".join(re.sub(r"[*|\\]|<!-- -->", " ", html.unescape(re.sub(r"<[^>]*>", " ", text))).split())


def in_viewer(one: Run, folder) -> str:
    with open_store(folder / "evalmark.db") as store:
        keep(store, one, one.results)
        return from_browser(shown(store), f"/runs/{ID}").text


@pytest.mark.parametrize("one", RUNS)
def test_pages_and_terminal_show_the_numbers_of_the_json_report(one, tmp_path):
    summary = in_json(one)
    texts = {
        "terminal": plain(run_screen(one, TerminalStyle(width=200))),
        "Markdown": plain("".join(WRITERS[".md"](one))),
        "HTML": plain("".join(WRITERS[".html"](one))),
        "viewer": plain(in_viewer(one, tmp_path)),
    }
    (group,) = summary["groups"]
    tally = group["tally"]
    rate = tally["pass_rate"]
    shown = [f"{100 * rate['value']:.1f}".removesuffix(".0") + " %", ends(rate["interval"], 100, 1)]
    others = {"errors": "error", "unscored": "unscored", "ungated": "ungated"}
    sentence = [f"{tally['passed']} of {rate['n']} passed"]
    sentence += [f"{tally[name]} {name}" for name in others if tally[name]]
    chips = [f"passed {tally['passed']}", f"failed {rate['n'] - tally['passed']}"]
    chips += [f"{chip} {tally[name]}" for name, chip in others.items() if tally[name]]
    if tally["flips"]:
        cases = "case" if tally["judged_twice"] == 1 else "cases"
        shown += [f"{tally['flips']} of {tally['judged_twice']} {cases} flipped between repeats"]
    counts = {"terminal": sentence, "Markdown": sentence, "HTML": chips, "viewer": chips}
    for metric in group["metrics"]:
        shown += [f"{metric['mean']:.3f}", ends(metric["interval"], 1, 3)]
    for name, text in texts.items():
        missing = [figure for figure in shown + counts[name] if figure not in text]
        assert not missing, f"{name} does not show {missing}"


@pytest.mark.parametrize("one", [case for case in RUNS if case.values[0].repeat > 1])
def test_sources_of_variance_are_those_of_the_json_report(one, tmp_path):
    texts = {
        "terminal": plain(run_screen(one, TerminalStyle(width=200))),
        "Markdown": plain("".join(WRITERS[".md"](one))),
        "HTML": plain("".join(WRITERS[".html"](one))),
        "viewer": plain(in_viewer(one, tmp_path)),
    }
    (group,) = in_json(one)["groups"]
    assert [split["metric"] for split in group["variances"]] == [GRADED, PLAIN]
    for split in group["variances"]:
        if "reason" in split:
            shown = details = [split["reason"]]
        else:
            advised = next(change for change in split["projections"] if change["change"] == split["advice"])
            low, high = split["interval"]["low"], split["interval"]["high"]
            shown = [f" {100 * share:.0f} %" for share in split["shares"].values()]
            shown += [f"±{(high - low) / 2:.3f} now, about ±{advised['half_width']:.3f}"]
            shown += [f"with {advised['outputs']} more outputs"]
            details = [f"about ±{change['half_width']:.3f}" for change in split["projections"]]
            details += [f" {component**0.5:.3f}" for component in split["components"].values() if component is not None]
        for name, text in texts.items():
            missing = [figure for figure in shown + (details if name != "terminal" else []) if figure not in text]
            assert not missing, f"{name} does not show {missing}"


def ends(interval: dict, scale: int, digits: int) -> str:
    low, high = (f"{scale * interval[end]:.{digits}f}" for end in ("low", "high"))
    return f"{low} {DASH} {high}"


@pytest.mark.parametrize("one", RUNS)
def test_the_rows_of_metrics_have_the_same_counts(one):
    (group,) = in_json(one)["groups"]
    table = [line for line in "".join(WRITERS[".md"](one)).splitlines() if line.startswith("| ")]
    for metric in group["metrics"]:
        row = next(line for line in table if line.startswith(f"| {metric['name']} "))
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert (cells[1], cells[-2], cells[-1]) == tuple(str(metric[name]) for name in ("n", "unscored", "errors"))
        assert metric["missing"] == metric["unscored"] + metric["errors"]
        assert metric["scored"] + metric["missing"] + metric["skipped"] == len(one.results)


@pytest.mark.parametrize("one", RUNS)
def test_rows_of_csv_add_up_to_the_numbers_of_the_json_report(one):
    (group,) = in_json(one)["groups"]
    rows = list(csv.DictReader(StringIO("".join(WRITERS[".csv"](one)))))
    verdicts = Counter(row["verdict"] for row in rows)
    tally = group["tally"]
    assert len(rows) == tally["trials"]
    assert {"pass": tally["passed"], "fail": tally["failed"], "error": tally["errors"]} == {
        name: verdicts[name] for name in ("pass", "fail", "error")
    }
    assert (verdicts["unscored"], verdicts["ungated"]) == (tally["unscored"], tally["ungated"])
    for metric in group["metrics"]:
        values = [float(row[f"{metric['name']} value"]) for row in rows if row[f"{metric['name']} value"]]
        assert (len(values), fmean(values)) == (metric["n"], pytest.approx(metric["mean"], abs=1e-12))


@pytest.mark.parametrize("one", RUNS)
def test_junit_counts_what_the_json_report_counts(one):
    (group,) = in_json(one)["groups"]
    (suite,) = [s for s in ElementTree.fromstring("".join(WRITERS[".junit.xml"](one))) if s.get("name") == "d"]  # noqa: S314
    tally = group["tally"]
    counts = {name: int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {
        "tests": tally["trials"],
        "failures": tally["failed"],
        "errors": tally["errors"],
        "skipped": tally["unscored"],
    }


def near_the_gate(values, gate: Gate, unit: str = "", targets=("app:bot",)) -> Run:
    """A run of a metric with a threshold of 0.5 for each case, whose figures are close to those that its gate requires."""
    metric = Metric(name=PLAIN, threshold=0.5, unit=unit)
    results = [
        Result(
            trial=Trial(case=Case(id=f"c{at}", input=f"q{at}"), dataset="d", target=target, position=at),
            output=Output(value="text"),
            scores=(Score(name=PLAIN, raw=1 + 4 * value if unit else value, value=value, passed=value >= 0.5),),
        )
        for target in targets
        for at, value in enumerate(values)
    ]
    return Run(
        id=ID,
        name="bot",
        created="2026-11-23T10:15:00+00:00",
        target=", ".join(targets),
        datasets=(DatasetInfo(name="d"),),
        metrics=(metric,),
        gate=gate,
        results=tuple(results),
    )


def every_text(made: Run, folder) -> dict[str, str]:
    """Whatever shows the pass rate or the mean of a metric."""
    comparison = compare(made, replace(made, id=f"{ID}b"))
    with open_store(folder / "evalmark.db") as store:
        keep(store, made, made.results)
        seen = shown(store)
        pages = {"run page": from_browser(seen, f"/runs/{ID}").text}
    return {
        "run": run_screen(made),
        "pytest": eval_screen(made, {}),
        "overview": overview_screen(made, overview(made)),
        "Markdown": "".join(as_markdown(made)),
        "comment": "".join(as_review_comment(made)),
        "GitHub": "".join(as_github(made)),
        "HTML": "".join(WRITERS[".html"](made)),
        "notebook": html_of(made),
        "comparison": comparison_screen(comparison),
        "comparison in Markdown": "".join(comparison_in_markdown(comparison)),
        "comparison in HTML": "".join(comparison_as_html(comparison)),
        **pages,
    }


@pytest.mark.parametrize("mean", [0.69996, 0.7], ids=["just missed", "reached"])
@pytest.mark.parametrize("unit", ["", "1..5"], ids=["from 0 to 1", "on its own scale"])
def test_tables_show_on_which_side_of_its_threshold_a_mean_is(mean, unit, tmp_path):
    texts = every_text(near_the_gate([mean] * 3, Gate(thresholds={PLAIN: 0.7}), unit), tmp_path)
    assert {name for name, text in texts.items() if ("0.69996" in text) != (mean < 0.7)} == set()


@pytest.mark.parametrize(("passed", "said"), [(224, "89.96 %"), (225, "90 %")], ids=["just missed", "reached"])
def test_pass_rates_show_on_which_side_of_the_gate_they_are(passed, said, tmp_path):
    values = [1.0] * passed + [0.0] * 25
    texts = {
        name: plain(text) for name, text in every_text(near_the_gate(values, Gate(min_pass_rate=0.9)), tmp_path).items()
    }
    rounded = re.compile(r"(?:passed,|rate|/249) 90 %")
    wrong = {name for name, text in texts.items() if said not in text or (passed == 224 and rounded.search(text))}
    assert wrong == set()


@pytest.mark.parametrize(("rate", "said"), [(224 / 249, "89.96 %"), (0.9, "90.0 %")], ids=["just missed", "reached"])
def test_the_list_of_runs_shows_on_which_side_of_the_gate_a_pass_rate_is(rate, said):
    listed = ListedRun(run=near_the_gate([], Gate(min_pass_rate=0.9)), totals=RunTotals(trials=249, rate=rate))
    assert said in run_list_screen([listed])
