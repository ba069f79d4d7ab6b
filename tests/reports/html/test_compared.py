"""A comparison as every page shows it."""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from evalmark import Case, Output, Result, Run, Score, compare
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Trial
from evalmark.reports.html.assets import stylesheet
from evalmark.reports.html.jinja import template_environment
from evalmark.reports.html.sparklines import draw_differences
from evalmark.reports.text import changed_cases, comparison


def run(name, values, **fields):
    results = [
        Result(
            trial=Trial(case=Case(id=f"c{n}", input=f"question {n}", tags=("even",) if n % 2 else ()), dataset="d"),
            output=Output(value=f"{value}"),
            scores=(
                Score(name="sim", raw=value, value=value, passed=value >= 0.5),
                Score(name="edits", raw=100 * value, direction="lower"),
            ),
        )
        for n, value in enumerate(values)
    ]
    return Run(
        id=name, name="bot", created="2026-11-22T10:00:00Z", metrics=(Metric(name="sim"),), results=results, **fields
    )


WORSE = compare(run("now", [0.1] * 10 + [0.9] * 10 + [1.0] * 10), run("then", [1.0] * 20 + [0.8] * 10, repeat=2))


def page(found, call="whole(found)"):
    offered = template_environment(Path(), {})
    text = f"{{% import 'comparison.html' as drawn %}}<div>{{{{ drawn.{call} }}}}</div>"
    return offered.from_string(text).render(found=found, change=found.targets[0] if found.targets else None)


def cells(text):
    rows = ElementTree.fromstring(text).findall(".//table[@class='changes']/tbody/tr")  # noqa: S314  a page of ours
    return [[" ".join("".join(cell.itertext()).split()) for cell in row] for row in rows]


def test_the_table_has_what_the_command_line_says():
    rows = comparison.change_rows(WORSE.targets[0])
    assert len(rows) == 3
    assert [(row[0], row[1], row[2], row[3], row[7]) for row in cells(page(WORSE))] == [
        (row.metric, row.n, row.before, row.now, row.p) for row in rows
    ]
    assert [row[8][2:] for row in cells(page(WORSE))] == [f"{row.verdict}p {row.p}" for row in rows]


def test_the_verdict_and_what_else_changed_stand_before_the_table():
    text = page(WORSE)
    said = [text.index(part) for part in (WORSE.warnings[0], comparison.verdict_sentence(WORSE), 'class="changes"')]
    assert said == sorted(said)
    assert "▼" in page(WORSE, "outcome(found)")
    assert "Tags: 1 tag tested" in text
    assert "<summary>Flips: 10 regressed, 0 improved, 20 unchanged</summary>" in text


def test_nothing_in_common_is_said_and_not_drawn():
    empty = compare(run("now", []), run("then", [1.0]))
    text = page(empty)
    assert "There is no result to compare in the run." in text
    assert "<table" not in text


def test_names_are_texts():
    bad = replace(WORSE, warnings=("<script>alert(1)</script> \x1b[31m",))
    assert "<script>" not in page(bad)
    assert "&lt;script&gt;" in page(bad)


def bars(change, kind):
    found = re.findall(
        rf'class="{kind}" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', draw_differences(change)
    )
    return [tuple(map(float, bar)) for bar in found]


def test_a_picture_has_worse_cases_below_the_line_and_better_ones_above():
    sim = next(change for change in WORSE.targets[0].changes if change.name == "sim")
    assert sim.ordered[0] == pytest.approx(-0.9)
    assert sim.ordered[-1] == pytest.approx(0.2)
    (worst, less), (best,) = bars(sim, "loss"), bars(sim, "gain")
    assert worst[1] == less[1] == 36  # from the line down
    assert worst[3] == pytest.approx(34)  # the largest difference takes all the room
    assert less[3] == pytest.approx(34 * 0.1 / 0.9, abs=0.1)
    assert best[1] + best[3] == pytest.approx(36)
    assert best[0] + best[2] == pytest.approx(288, abs=1.1)
    ElementTree.fromstring(draw_differences(sim))  # noqa: S314


def test_of_many_cases_a_picture_keeps_the_ends():
    many = compare(run("now", [0.0] + [0.5] * 999), run("then", [1.0] + [0.5] * 999))
    change = many.targets[0].changes[1]
    assert len(change.ordered) == 240
    assert change.ordered[0] == -1.0
    assert set(change.ordered[1:]) == {0.0}
    assert bars(change, "loss")[0][2] >= 1


def test_without_a_case_there_is_no_picture():
    nothing = compare(run("now", [0.5]), run("then", []))
    assert not nothing.targets
    change = replace(WORSE.targets[0].overall, ordered=())
    assert draw_differences(change) == ""


def test_the_table_beside_a_picture_has_its_numbers():
    named = dict(changed_cases.case_counts(WORSE.targets[0]))
    assert named["pass rate"] == [("regressed", "10", "100 points"), ("unchanged", "20", ""), ("improved", "0", "")]
    assert named["sim"][2] == ("improved", "10", "0.200")
    assert named["edits"][0] == ("regressed", "10", "20")


def test_every_page_has_its_style():
    assert ".changes" in stylesheet()
