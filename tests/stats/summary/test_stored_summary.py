"""A summary that the store keeps is the summary that was calculated."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from evalmark import Run
from evalmark.reports.viewer.run_page import verdict_counts
from evalmark.stats.summary.summarise import summarise
from evalmark.stats.summary.totals import summary_from, summary_text
from tests.reports.text import agents, judged, sides
from tests.reports.text.example import RUN

RUNS = {
    "errors, unscored and skipped scores": RUN,
    "several judges and repeats": judged.RUN,
    "an agent": agents.RUN,
    "several targets": sides.RUN,
    "no results": Run(id="r", name="n", created="2026-11-21T00:00:00+00:00"),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_what_is_read_back_equals_what_was_calculated(run):
    found = summary_from(summary_text(summarise(run)))
    without = summarise(run, worst=0)
    groups = tuple(replace(g, metrics=tuple(replace(m, worst=()) for m in g.metrics)) for g in without.groups)
    assert found == replace(without, groups=groups)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data | {"status": "done"},
        lambda data: data | {"shape": "of a newer version"},
        lambda data: {key: value for key, value in data.items() if key != "total"},
        lambda data: data | {"total": data["total"] | {"trials": "4"}},
        lambda data: [],
    ],
    ids=["an unknown value", "other fields", "a missing field", "another type", "no object"],
)
def test_a_summary_of_another_version_is_calculated_anew(change):
    text = summary_text(summarise(RUN))
    assert summary_from(text) is not None
    assert summary_from(json.dumps(change(json.loads(text)))) is None


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_its_counts_are_those_of_the_results(run):
    assert +verdict_counts(summarise(run)) == Counter(result.verdict for result in run.results)


def test_damaged_text_is_calculated_anew():
    assert summary_from(summary_text(summarise(RUN))[:-5]) is None
