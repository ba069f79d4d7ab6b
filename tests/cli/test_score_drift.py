"""Scores that move after a threshold was learned: a warning in every report, and no other exit code."""

import json
import random
from pathlib import Path

import pytest

from evalmark.stats.calibration.lock_reader import read_lock
from evalmark.store import open_store

STORE = ".evalmark/evalmark.db"
LEVEL = "def level(output):\n    return float(output)\n"


def rows(seed: int, n: int, shift: float = 0.0):
    """Answers that are their own score: good ones high, bad ones low."""
    source = random.Random(seed)  # noqa: S311  no secret
    found = []
    for number in range(n):
        is_good = number % 2 == 0
        score = min(1.0, max(0.0, source.gauss(0.7 if is_good else 0.3, 0.08) + shift))
        found.append(
            {"id": f"c{seed}-{number}", "input": f"{seed} {number}", "answer": f"{score:.4f}", "tags": [str(is_good)]}
        )
    return found


def write(name: str, found) -> None:
    Path(name).write_text("\n".join(map(json.dumps, found)))


@pytest.fixture
def calibrated(evalmark, world):
    """A lock file whose threshold was learned from 160 labelled outputs of a run."""
    (world / "app.py").write_text(LEVEL)
    write("rows.jsonl", rows(1, 160))
    Path("s.yaml").write_text("datasets: [rows.jsonl]\nmetrics: ['app:level']\n")
    evalmark("run", "s.yaml")
    with open_store(STORE) as store:
        run = store.run("last")
        labels = [
            {"id": f"output:{run.id}/{one.trial.id}", "label": "up" if one.trial.case.tags == ("True",) else "down"}
            for one in run.results
        ]
    write("labels.jsonl", labels)
    evalmark("note", "--file", "labels.jsonl", "--by", "ann")
    assert evalmark("calibrate", "last", "--max-false-pass", "0.1").code == 0
    Path("s.yaml").write_text("datasets: [rows.jsonl]\nmetrics: ['app:level']\nlock: evalmark.lock.json\n")


def ran(evalmark, seed: int, shift: float = 0.0, *flags):
    write("rows.jsonl", rows(seed, 200, shift))
    said = evalmark("run", "s.yaml", "-q", *flags)
    with open_store(STORE) as store:
        return said, store.run("last")


def moved(run) -> list[str]:
    return [note for note in run.notes if "have moved since its threshold was learned" in note]


def test_the_lock_file_has_the_scores_of_the_whole_run(evalmark, calibrated):
    text = Path("evalmark.lock.json").read_text()
    entry = read_lock(Path("evalmark.lock.json")).metrics["level"]
    assert (entry.scores.n, entry.scores.effective, entry.scores.is_exact) == (160, 160.0, False)
    older = json.loads(text)
    del older["metrics"]["level"]["scores"]
    Path("older.json").write_text(json.dumps(older))
    assert read_lock(Path("older.json")).metrics["level"].scores is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param({"points": [0.2, 0.1]}, "`metrics.level.scores.points` does not ascend", id="points that fall"),
        pytest.param({"counts": [-1]}, "not a list of whole numbers", id="a negative count"),
        pytest.param({"effective": 0}, "not a number above 0", id="nothing"),
        pytest.param({"extra": 1}, "is no field of a lock file", id="another field"),
    ],
)
def test_a_distribution_that_cannot_be_is_named_with_its_place(evalmark, calibrated, change, said):
    lock = json.loads(Path("evalmark.lock.json").read_text())
    lock["metrics"]["level"]["scores"] |= change
    Path("evalmark.lock.json").write_text(json.dumps(lock))
    found = evalmark("run", "s.yaml")
    assert (found.code, said in found.err) == (2, True)


def test_a_shift_of_all_scores_is_in_every_report_and_changes_no_exit_code(evalmark, calibrated):
    usual, before = ran(evalmark, 2)
    found, run = ran(evalmark, 3, 0.11)
    (note,) = moved(run)
    assert note.startswith("Warning: evalmark.lock.json: the scores of level have moved")
    assert "evalmark label" in note
    assert " of pairs have a higher later score; probability without a change: less than 0.1 %" in note
    assert moved(before) == []
    assert found.code == usual.code == 1
    for ending in ("md", "html", "json"):
        evalmark("report", "last", "-o", f"report.{ending}")
        assert "have moved since its threshold was learned" in Path(f"report.{ending}").read_text()
    assert "have moved since" in " ".join(evalmark("show", "last").out.split())
    write("rows.jsonl", rows(3, 200))
    compared = evalmark("compare", "last", before.id)
    assert "The run: Warning: evalmark.lock.json" in " ".join(compared.text.split())


def test_part_of_the_cases_is_not_compared(evalmark, calibrated):
    _, run = ran(evalmark, 3, 0.11, "--limit", "150")
    assert moved(run) == []
    assert run.is_part


def test_a_resumed_run_says_it_once(evalmark, calibrated):
    _, run = ran(evalmark, 3, 0.11)
    evalmark("run", "s.yaml", "--resume", run.id)
    with open_store(STORE) as store:
        assert len(moved(store.run(run.id))) == 1


def test_scores_of_one_document_count_together(evalmark, calibrated):
    found = rows(3, 200)
    for number, row in enumerate(found):  # one document is easy, all others are as before
        row["metadata"] = {"document": "easy" if number % 4 == 0 else str(number)}
        row["answer"] = "0.9" if number % 4 == 0 else row["answer"]
    write("rows.jsonl", found)
    evalmark("run", "s.yaml", "-q")
    Path("s.yaml").write_text(Path("s.yaml").read_text() + "cluster: document\n")
    evalmark("run", "s.yaml", "-q")
    with open_store(STORE) as store:
        assert [len(moved(store.run(name))) for name in ("last~1", "last")] == [1, 0]
