"""`cluster:` in a suite as a user types it: intervals, comparisons, reports and what `validate` says of equal rows."""

# ruff: noqa: RUF001  dashes as they are printed

import json

import pytest

from evalmark.reports.viewer.background import BackgroundFigures
from evalmark.reports.viewer.store_view import StoreView, pass_share
from evalmark.stats.summary.summarise import summarise
from evalmark.store import open_store

BOT = """
def answer(row):
    return "no" if row["document"] in ("d0", "d1", "d2", "d3") else "yes"

def worse(row):
    return "no" if row["document"] in ("d0", "d1", "d4", "d5", "d6", "d7") else "yes"
"""
SUITE = """
name: documents
cluster: document
datasets: cases.jsonl
target: bot:answer
metrics: equals
gate: {min_pass_rate: 0.5}
"""


def rows(documents=20, questions=10, copies=1):
    return [
        {"id": f"d{d}-q{q}-{copy}", "input": {"document": f"d{d}", "question": f"q{q}"}, "expected": "yes"}
        for d in range(documents)
        for q in range(questions)
        for copy in range(copies)
    ]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def suite(world):
    (world / "bot.py").write_text(BOT, encoding="utf-8")
    (world / "suite.yaml").write_text(SUITE, encoding="utf-8")
    write(world / "cases.jsonl", rows())
    return world / "suite.yaml"


def test_questions_on_one_document_count_as_one_in_every_report(evalmark, suite, world):
    done = evalmark("run", suite, "-o", "r.json", "-o", "r.md", "-o", "r.html")
    assert done.code == 0
    assert "160 of 200 passed, 80 % (58.4 – 91.9 %)" in done.out  # Wilson's interval of 16 in 20
    method = "Wilson, clustered by document"
    assert "95 % intervals are clustered by document." in done.out
    assert "58.4 – 91.9 %" in (world / "r.md").read_text("utf-8")
    assert "95 % intervals are clustered by document." in (world / "r.md").read_text("utf-8")
    assert method in (world / "r.html").read_text("utf-8")
    found = json.loads((world / "r.json").read_text("utf-8"))
    assert found["summary"]["total"]["pass_rate"]["interval"]["method"] == method
    assert [info["cluster"] for info in found["run"]["datasets"]] == ["document"]


def test_a_change_of_documents_is_tested_by_document(evalmark, suite, world):
    assert evalmark("run", suite, "-q").code == 0
    assert evalmark("run", suite, "--target", "bot:worse", "-q").code == 0
    done = evalmark("compare", "last", "last~1", "-o", "c.json")
    assert done.code == 3
    text = " ".join(done.out.split())
    assert "95 % intervals, paired by case, clustered by document (20 clusters)." in text
    assert "similar cases in other clusters to decide" in text
    difference = json.loads((world / "c.json").read_text("utf-8"))["targets"][0]["changes"][0]["difference"]
    assert (difference["n"], difference["clusters"], difference["outcome"]) == (200, 20, "cannot tell")
    assert difference["interval"]["method"] == "paired score, clustered by document"
    assert difference["p"] > 0.05


def test_a_dataset_has_a_field_of_its_own(evalmark, suite, world):
    text = SUITE.replace(
        "cluster: document\ndatasets: cases.jsonl", "datasets: [{path: cases.jsonl, cluster: document}]"
    )
    suite.write_text(text, encoding="utf-8")
    assert "58.4 – 91.9 %" in evalmark("run", suite).out


def test_a_field_that_no_row_has_is_refused_before_anything_runs(evalmark, suite):
    suite.write_text(SUITE.replace("cluster: document", "cluster: documnet"), encoding="utf-8")
    done = evalmark("run", suite)
    assert done.code == 2
    sentence = (
        "no row has `documnet`, the field that `cluster` names, in its metadata or its input; did you mean 'document'?"
    )
    assert sentence in " ".join(done.err.split())


def test_copies_of_every_row_change_no_interval_and_validate_names_them(evalmark, suite, world):
    suite.write_text(SUITE.replace("cluster: document", ""), encoding="utf-8")
    assert "160 of 200 passed, 80 % (73.9 – 85.0 %)" in evalmark("run", suite).out
    assert "in everything but the id" not in evalmark("validate", suite).text
    write(world / "cases.jsonl", rows(copies=3))
    assert "480 of 600 passed, 80 % (73.9 – 85.0 %)" in evalmark("run", suite).out
    done = evalmark("validate", suite)
    text = " ".join(done.text.split())
    assert done.code == 0
    assert "cases.jsonl: 400 rows equal earlier ones in everything but the id: 'd0-q0-1'" in text
    assert "and 397 more. Each of them is run, but in intervals and tests they count as one case" in text


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("repeat", [1, 2])
def test_the_list_of_runs_has_the_interval_of_the_report(evalmark, suite, world, copies, repeat):
    suite.write_text(SUITE.replace("cluster: document", f"repeat: {repeat}"), encoding="utf-8")
    write(world / "cases.jsonl", rows(questions=2, copies=copies))
    assert evalmark("run", suite, "-q").code == 0
    with open_store(world / ".evalmark" / "evalmark.db") as store:
        run = store.run("last")
        listed, reported = pass_share(store.verdict_counts(run)), summarise(run).total.pass_rate
    assert (listed.passed, listed.n) == (reported.passed, reported.n)
    assert listed.interval.ends == pytest.approx(reported.interval.ends, abs=1e-9)


@pytest.mark.parametrize("repeat", [1, 2])
def test_the_list_of_runs_has_the_interval_of_documents_too(evalmark, suite, world, repeat):
    assert evalmark("run", suite, "--repeat", str(repeat), "-q").code == 0
    with open_store(world / ".evalmark" / "evalmark.db") as store:
        run = store.run("last")
        listed, reported = StoreView(store, BackgroundFigures(1.0)).line(run).passed, summarise(run).total.pass_rate
    assert (listed.passed, listed.n) == (reported.passed, reported.n)
    assert listed.interval.ends == pytest.approx(reported.interval.ends, abs=1e-9)
    assert round(listed.interval.low, 3) == 0.584  # 16 of 20 documents
