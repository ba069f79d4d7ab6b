"""Outputs that are drawn to be labelled, and audits that know whether somebody chose them."""

import csv
import json
import random
import re
from pathlib import Path

import pytest

from evalmark.store import open_store

STORE = ".evalmark/evalmark.db"


@pytest.fixture
def judged(evalmark, world):
    """A run of 300 outputs of which the metric passes two thirds; 20 of the passed ones are bad, 30 of the failed ones good."""
    rows = [{"id": f"c{n}", "input": n, "answer": "a" if n < 200 else "b", "expected": "a"} for n in range(300)]
    random.Random(1).shuffle(rows)  # noqa: S311  no secret
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    Path("s.yaml").write_text("datasets: [rows.jsonl]\nmetrics: [equals]\n")
    evalmark("run", "s.yaml")
    with open_store(STORE) as store:
        return store.run("last")


def is_good(case: str) -> bool:
    n = int(case[1:])
    return n >= 20 if n < 200 else n >= 270


def label(evalmark, run, results) -> None:
    rows = [
        {"id": f"output:{run.id}/{one.trial.id}", "label": "up" if is_good(one.trial.case.id) else "down"}
        for one in results
    ]
    Path("labels.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert evalmark("note", "--file", "labels.jsonl", "--by", "ann").code == 0


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def of(run, *, passed: bool):
    return [result for result in run.results if result.scores[0].passed is passed]


def test_labels_on_failed_outputs_only_give_a_bound_and_no_number(evalmark, judged):
    label(evalmark, judged, of(judged, passed=False)[:80])
    said = evalmark("audit")
    text = words(said.out)
    assert said.code == 3
    assert "labelled: 0 of 200 that the judge passed and 80 of 100 that the judge failed" in text
    assert "a random choice among all outputs is so uneven with a probability of less than 0.1 %" in text
    found = re.search(r"corrected +from ([\d.]+) to ([\d.]+) %, no estimate: no output that the", text)
    assert float(found[1]) < 30 < 70 < float(found[2])
    assert "PPI++: refused, labels were not drawn at random among all outputs" in text
    assert "Rogan and Gladen: refused, labels were not drawn at random among all outputs" in text
    assert "betting" not in text
    assert f"next evalmark label {judged.id} --sample 80 --by-verdict equals" in text
    assert said.err == f"Draw outputs to label: evalmark label {judged.id} --sample 80\n"


def test_labels_of_both_verdicts_are_weighted_by_verdict_and_the_assumption_is_printed(evalmark, judged):
    label(evalmark, judged, [*of(judged, passed=False)[:80], *of(judged, passed=True)[:30]])
    said = evalmark("audit")
    text = words(said.out)
    assert said.code == 0
    found = re.search(r"corrected +([\d.]+) % \(([\d.]+) . ([\d.]+) %\)", text)
    assert float(found[2]) < 70 < float(found[3])
    assert "refused, labels were not drawn at random" in text
    assert "assumes labels were chosen at random within each verdict next" in text
    assert "of all outputs; " in text


def test_what_evalmark_drew_is_known_and_other_labels_are_set_aside(evalmark, judged):
    label(evalmark, judged, of(judged, passed=False)[:80])
    drawn = evalmark("label", "last", "--sample", "60", "-o", "sheet.csv")
    assert drawn.code == 0
    assert f"Sample 1 of run {judged.id}: 60 of 300 outputs, drawn at random." in drawn.out
    assert "Labelled already: " in drawn.out
    assert f"evalmark view {judged.id} --sample 1" in drawn.out
    with Path("sheet.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    trials = {result.trial.id: result.trial.case for result in judged.results}
    cases = [trials[row["id"].partition("/")[2]] for row in rows]
    assert [(row["input"], row["output"]) for row in rows] == [
        (str(case.input), "a" if int(case.id[1:]) < 200 else "b") for case in cases
    ]
    assert evalmark("audit").code == 3  # nothing is labelled that the judge passed
    for row, case in zip(rows[:50], cases, strict=False):
        row["label"] = "up" if is_good(case.id) else "down"
    with Path("sheet.csv").open("w", newline="") as file:
        csv.DictWriter(file, rows[0]).writeheader()
        csv.DictWriter(file, rows[0]).writerows(rows)
    stored = evalmark("note", "--file", "sheet.csv", "--by", "bob")
    assert "50 labels stored" in stored.out
    said = evalmark("audit")
    text = words(said.out)
    assert said.code == 0
    assert "on outputs that evalmark drew at random among all outputs" in text
    assert re.search(r"\d\d labelled but not drawn by evalmark \(--all-labels uses them\)", text)
    assert "PPI++: refused" not in text
    every = words(evalmark("audit", "--all-labels").out)
    assert "assumes labels were chosen at random within each verdict" in every
    assert "PPI++: refused" in every


def test_calibrate_asks_for_the_labels_of_a_sample_first_and_for_a_larger_sample_afterwards(evalmark, judged):
    evalmark("label", "last", "--sample", "100")
    with open_store(STORE) as store:
        (sample,) = store.sessions.label_samples(judged.id).values()
    drawn = [result for result in judged.results if result.trial.id in sample.trials]
    label(evalmark, judged, drawn[:90])
    assert f"next evalmark label {judged.id} --sample 100 draws" in words(evalmark("calibrate", "last").out)
    label(evalmark, judged, drawn)
    assert f"next evalmark label {judged.id} --sample 180 draws" in words(evalmark("calibrate", "last").out)
    label(evalmark, judged, judged.results)
    assert "next evalmark label" not in words(evalmark("calibrate", "last").out)


def test_a_sample_by_verdict_is_even_and_gives_no_number_for_all_outputs_drawn_together(evalmark, judged):
    drawn = evalmark("label", "last", "--sample", "40", "--by-verdict", "equals")
    assert "40 of 300 outputs, drawn by verdict of equals." in drawn.out
    assert evalmark("label", "last", "--sample", "40", "--by-verdict", "equals").out == drawn.out
    with open_store(STORE) as store:
        (sample,) = store.sessions.label_samples(judged.id).values()
    results = [result for result in judged.results if result.trial.id in sample.trials]
    assert (len(sample.trials), sum(result.scores[0].passed for result in results)) == (40, 20)
    label(evalmark, judged, results)
    text = words(evalmark("audit").out)
    assert "40 labels on outputs that evalmark drew at random by verdict" in text
    assert "assumes" not in text
    assert "PPI++: refused, labels were not drawn at random among all outputs" in text


def test_of_a_verdict_with_few_outputs_all_are_drawn_and_a_larger_sample_has_the_smaller_one(evalmark, judged):
    evalmark("label", "last", "--sample", "250", "--by-verdict", "equals")
    for n in (30, 60):
        evalmark("label", "last", "--sample", n)
    with open_store(STORE) as store:
        whole, few, more = store.sessions.label_samples(judged.id).values()
    failed = {result.trial.id for result in of(judged, passed=False)}
    assert (len(whole.trials), failed <= set(whole.trials)) == (250, True)
    assert more.trials[:30] == few.trials


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        pytest.param(["--by-verdict", "equal"], "did you mean 'equals'?", id="a metric of nobody"),
        pytest.param(["--sample", "20000"], "it has to be from 1 to 10,000", id="too many"),
        pytest.param(["-o", "sheet.xlsx"], "has to end in .csv or .jsonl", id="another format"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_a_sentence(evalmark, judged, flags, said):
    found = evalmark("label", "last", *flags)
    assert (found.code, said in found.err) == (2, True)
    with open_store(STORE) as store:
        assert store.sessions.label_samples(judged.id) == {}


def test_the_viewer_opens_only_samples_of_the_run(evalmark, judged):
    assert "name the run" in evalmark("view", "--sample", "1").err
    assert "has samples none" in evalmark("view", "last", "--sample", "1").err


def test_scores_that_people_gave_are_held_against_those_of_a_graded_metric(evalmark, world):
    (world / "app.py").write_text("def level(output):\n    return float(output)\n")
    rows = [{"id": f"c{n}", "input": n, "answer": f"{0.2 + (n * 7 % 100) / 160:.4f}"} for n in range(100)]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    Path("s.yaml").write_text("datasets: [rows.jsonl]\nmetrics: ['app:level']\n")
    evalmark("run", "s.yaml")
    nothing = evalmark("audit")
    assert (nothing.code, "give it a --threshold" in nothing.err) == (2, True)
    with open_store(STORE) as store:
        run = store.run("last")
    labels = [
        {"id": f"output:{run.id}/{one.trial.id}", "score": float(one.output.value) - 0.1, "label": "up"}
        for one in list(run.results)[::2]
    ]
    Path("labels.jsonl").write_text("\n".join(map(json.dumps, labels)))
    evalmark("note", "--file", "labels.jsonl", "--by", "ann")
    said = evalmark("audit")
    text = words(said.out)
    assert said.code == 0
    assert "level against scores of people" in text
    assert "the judge scores +0.100" in text
    assert re.search(r"\+0\.100 \(\+0\.\d{3} to \+0\.\d{3}\) from people", text)
    assert re.search("corrected +0.4", text)
    both = words(evalmark("audit", "--threshold", "0.5").out)
    assert "level against people" in both
    assert "level against scores of people" in both


def test_the_ceiling_counts_outputs_on_which_two_people_disagree(evalmark, judged):
    rows = [
        {"id": f"output:{judged.id}/{one.trial.id}", "label": "down" if by == "bob" and n < 5 else "up", "by": by}
        for n, one in enumerate(list(judged.results)[:20])
        for by in ("ann", "bob")
    ]
    Path("labels.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert evalmark("note", "--file", "labels.jsonl").code == 0
    text = words(evalmark("audit").out)
    assert re.search(r"people agree with each other on 75 % \(53.1 . 88.8 %\) of 20 outputs", text)
    assert "5 contested" in text


BOT = """
def answer(row):
    return str(row % 97 / 97)

def judge(output):
    return float(output)
"""


def test_labels_that_were_drawn_in_shards_are_not_taken_for_a_sample_of_the_merged_run(evalmark, world):
    Path("bot.py").write_text(BOT)
    Path("rows.jsonl").write_text("\n".join(json.dumps({"id": f"c{n}", "input": n}) for n in range(200)))
    Path("s.yaml").write_text("target: bot:answer\ndatasets: [rows.jsonl]\nmetrics: ['bot:judge']\n")
    for shard, drawn in ((1, 60), (2, 12)):
        store = ("--store", f"{shard}.db")
        assert evalmark("run", "s.yaml", "--shard", f"{shard}/2", *store).code == 0
        assert evalmark("label", "last", "--sample", str(drawn), "-o", f"{shard}.csv", *store).code == 0
        with Path(f"{shard}.csv").open(newline="") as file:
            rows = [row | {"label": "up" if shard == 1 else "down"} for row in csv.DictReader(file)]
        Path(f"{shard}.jsonl").write_text("\n".join(json.dumps({k: row[k] for k in ("id", "label")}) for row in rows))
        assert evalmark("note", "--file", f"{shard}.jsonl", "--by", "ann", *store).code == 0
    evalmark("merge", "1.db", "2.db", "-o", "merged.db")
    assert "drawn at random by evalmark" in words(evalmark("audit", "last", "--store", "1.db").out)
    audit = words(evalmark("audit", "last", "--store", "merged.db").out)
    assert "drawn at random by evalmark" not in audit
    assert "assumes labels were chosen at random within each range of scores" in audit
    learned = evalmark("calibrate", "last", "--max-false-pass", "0.5", "--store", "merged.db")
    assert "assumes labels were chosen at random" in words(learned.out)
