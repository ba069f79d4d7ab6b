"""Results that PromptPex's authors have published, read as runs: their figures, and what checks without a model say of their judge."""

import csv
import json
import math
import re
import time
from collections import Counter

import pytest

from evalmark.interop.promptpex.importer import read_promptpex
from evalmark.stats.summary.target_overview import overview

WORDS = {"ok": True, "err": False, "": None}
FOLDERS = ("elements", "extract-names", "speech-tag", "text-to-p")


@pytest.fixture(scope="module")
def runs(shared):
    folders = [shared / "data" / "promptpex" / "v7" / name for name in FOLDERS]
    if not all(folder.is_dir() for folder in folders):
        pytest.skip("the published results are not here")
    return {folder.name: (folder, read_promptpex(folder)) for folder in folders}


def rounded(part: int, whole: int) -> str:
    """A percentage as the original writes it: JavaScript's Math.round takes halves up."""
    return f"{math.floor(100 * part / whole + 0.5)}%"


def published_row(standing) -> dict[str, str]:
    """A row of the original's overview, in which what could not be judged counts against a model."""
    tests, baseline, valid = standing.tests, standing.baseline, standing.valid
    row = {
        "model": standing.target,
        "tests": tests.trials,
        "tests compliant": rounded(tests.compliant.passed, tests.trials),
        "baseline compliant": rounded(baseline.compliant.passed, baseline.trials),
        "tests positive": standing.positive.trials,
        "tests positive compliant": standing.positive.compliant.passed,
        "tests negative": standing.negative.trials,
        "tests negative compliant": standing.negative.compliant.passed,
        "baseline": baseline.trials,
        "tests valid": valid.trials,
        "tests valid compliant": valid.compliant.passed,
    }
    return {name: str(value) for name, value in row.items()}


def test_every_row_of_the_published_overviews_comes_out_of_the_results(runs):
    compared = 0
    for folder, run in runs.values():
        with (folder / "overview.csv").open(newline="", encoding="utf-8") as file:
            published = {row["model"]: row for row in csv.DictReader(file)}
        assert {s.target: published_row(s) for s in overview(run).standings} == published
        compared += len(published)
    assert compared == 16


def test_every_row_of_the_results_is_a_trial_with_its_verdict(runs):
    for folder, run in runs.values():
        with (folder / "test_results.csv").open(newline="", encoding="utf-8") as file:
            rows = [
                (row["model"], row["input"], row["output"], WORDS[row["compliance"]], row["complianceText"])
                for row in csv.DictReader(file)
            ]
        found = [
            (r.trial.target, r.trial.case.input, r.output.value, r.scores[0].passed, r.scores[0].reason)
            for r in run.results
        ]
        assert Counter(found) == Counter(rows)


def test_the_one_verdict_that_is_neither_ok_nor_err_is_unscored(runs):
    (unknown,) = [r for _, run in runs.values() for r in run.results if r.scores[0].passed is None]
    assert (unknown.trial.case.id, unknown.trial.target) == ("b00fdc4-16", "qwen2.5:3b")
    assert unknown.scores[0].status == "unscored"
    assert unknown.scores[0].reason.startswith("The chatbot output should list entities")


def test_every_test_of_a_rule_has_what_was_said_of_it(runs):
    for _, run in runs.values():
        for case in {r.trial.case.id: r.trial.case for r in run.results}.values():
            if case.metadata["baseline"]:
                assert case.tags == ("baseline",)
                continue
            assert len(case.tags) == 1
            assert {"testid", "expectedoutput", "reasoning", "valid", "agreement"} <= set(case.metadata)
            assert case.metadata["valid"] in (True, False)
            assert re.search(r"tests\.csv:\d+$", case.place)


def test_rows_that_are_not_as_their_header_says_are_told_by_line(runs):
    said = {name: [note.rpartition("/")[2] for note in run.notes[1:]] for name, (_, run) in runs.items()}
    assert said == {
        "elements": ["tests.csv: 15 blank lines left out."],
        "extract-names": [],
        "speech-tag": ["tests.csv:42: 6 cells under a header of 5; the additional cells are empty."],
        "text-to-p": [],
    }


def test_four_folders_are_read_within_a_second(runs):
    started = time.process_time()
    for folder, _ in runs.values():
        read_promptpex(folder)
    assert time.process_time() - started <= 1


# What a machine can check needs no judge; where both are there, one shows how far the other can be trusted.


def agreement(run, check) -> Counter:
    """How often `(the check holds, the judge passed it)`."""
    return Counter((check(r.output.value), r.scores[0].passed) for r in run.results)


def test_the_judge_agrees_with_the_list_of_tags_on_329_of_336_outputs(runs):
    folder, run = runs["speech-tag"]
    prompt = json.loads((folder / "report.json").read_text(encoding="utf-8"))["prompt"]
    tags = set(re.findall(r"\b([A-Z]{2,4}\$?):", prompt)) | {"Unknown", "CantAnswer"}
    assert len(tags) == 38
    found = agreement(run, lambda output: output.strip() in tags)
    assert found == {(True, True): 243, (False, False): 86, (False, True): 7}


def test_the_judge_passes_114_of_270_outputs_without_the_elements_that_were_asked_for(runs):
    def is_marked_up(output: str) -> bool:
        """At least three paragraphs, each with one <strong> and several <em>."""
        parts = re.findall(r"<p\b[^>]*>(.*?)</p>", output, re.DOTALL)
        return len(parts) >= 3 and all(
            len(re.findall("<strong", part)) == 1 and len(re.findall("<em", part)) > 1 for part in parts
        )

    found = agreement(runs["text-to-p"][1], is_marked_up)
    assert found == {(True, True): 36, (True, False): 6, (False, False): 156, (False, True): 114}
