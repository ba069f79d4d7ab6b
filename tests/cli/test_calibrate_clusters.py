"""`evalmark calibrate` where labelled cases depend on each other: documents, conversations and recorded sessions."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from evalmark.stats.calibration.lock_reader import read_lock
from evalmark.store import open_store
from tests.stats.calibration.saying import SESSION, on, span

STORE = ".evalmark/evalmark.db"
BOT = "def answer(row):\n    return row['question']\n"
SUITE = "name: s\ncluster: document\ndatasets: [cases.jsonl]\ntarget: bot:answer\nmetrics: [quality:tone]\n"
METRIC = """
def tone(output):
    return float(output)
"""


def rows(documents, questions=4):
    """Labelled answers: the score is the answer, and half of the questions of every document are answered badly."""
    for d in range(documents):
        for q in range(questions):
            good = q >= questions // 2
            score = round((0.6 if good else 0.1) + 0.003 * d + 0.01 * q, 4)
            yield {
                "id": f"d{d}-q{q}",
                "input": {"question": str(score), "n": f"{d}/{q}"},
                "document": f"d{d}",
                "answer": str(score),
                "label": "up" if good else "down",
            }


def write(documents):
    Path("quality.py").write_text(METRIC, encoding="utf-8")
    Path("bot.py").write_text(BOT, encoding="utf-8")
    Path("s.yaml").write_text(SUITE, encoding="utf-8")
    Path("cases.jsonl").write_text("\n".join(map(json.dumps, rows(documents))), encoding="utf-8")


def one_line(text):
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param(["--metric", "quality:tone", "--cluster", "document"], id="by a flag"),
        pytest.param(["--suite", "s.yaml"], id="by the suite"),
    ],
)
def test_labels_on_one_document_count_as_one(evalmark, world, flags):
    write(30)
    few = evalmark("calibrate", "cases.jsonl", *flags)
    text = one_line(few.out)
    assert few.code == 3
    assert "59 documents with a case labelled bad are needed, none of which passes, and there are 30" in text
    assert "29 further documents with a case labelled bad, none of which may pass" in text
    write(60)
    enough = evalmark("calibrate", "cases.jsonl", *flags)
    assert enough.code == 0
    assert "in at most 5 % of documents with a bad case does one pass, with 95 % confidence" in one_line(enough.out)
    assert "120 good (60 documents) and 120 bad (60 documents)" in one_line(enough.out)
    labels = read_lock(Path("evalmark.lock.json")).metrics["tone"].labels
    assert (labels.disliked, labels.disliked_cases, labels.cluster) == (120, 60, "document")


def test_without_a_field_every_labelled_case_counts(evalmark, world):
    write(30)
    done = evalmark("calibrate", "cases.jsonl", "--metric", "quality:tone")
    assert done.code == 0
    assert "at most 5 % of bad cases pass" in one_line(done.out)
    assert '"cluster"' not in Path("evalmark.lock.json").read_text("utf-8")


def test_a_field_that_no_case_has_is_refused(evalmark, world):
    write(30)
    wrong = evalmark("calibrate", "cases.jsonl", "--metric", "quality:tone", "--cluster", "doc")
    assert wrong.code == 2
    assert "cases.jsonl: no row has `doc`, the field that --cluster names" in one_line(wrong.err)


def test_labels_on_a_run_count_by_the_clusters_of_the_run_or_of_the_flag(evalmark, world):
    write(30)
    assert evalmark("run", "s.yaml", "-q").code == 0
    with open_store(STORE) as store:
        run = store.run("last")
        asked = list(run.results)
    for result in asked:
        thumb = "up" if float(result.output.value) >= 0.6 else "down"
        assert evalmark("note", run.id, "--case", result.trial.case.id, "--label", thumb).code == 0
    text = one_line(evalmark("calibrate", "last").out)
    assert "59 documents with a case labelled bad are needed" in text
    audited = one_line(evalmark("audit", "last", "--threshold", "0.6").out)
    assert (
        "clustered by document: intervals and numbers of labelled cases count the outputs of one document as one case"
        in audited
    )
    assert evalmark("calibrate", "last", "--cluster", "n").code == 0
    assert "no case has `doc`" in one_line(evalmark("calibrate", "last", "--cluster", "doc").err)


def recorded(sessions, each=3):
    """Labelled answers of so many users, with other questions each: most good, the last one of each user bad."""
    users = [replace(SESSION, id=f"{user:016x}") for user in range(sessions)]
    spans = [
        replace(span(each * user + n, f"q{user}-{n}", str(0.6 + n / 100 if n else 0.1)), session=f"{user:016x}")
        for user in range(sessions)
        for n in range(each)
    ]
    with open_store(STORE) as store:
        store.sessions.add(users, spans)
        store.sessions.add_labels([on(one, float(one.output) >= 0.6) for one in spans])


def test_answers_of_one_recorded_session_count_as_one(evalmark, world):
    write(1)
    recorded(30)
    text = one_line(evalmark("calibrate", "demo", "--metric", "quality:tone").out)
    assert "59 sessions with a case labelled bad are needed, none of which passes, and there are 30" in text
    refused = evalmark("calibrate", "demo", "--metric", "quality:tone", "--cluster", "plan")
    assert refused.code == 2
    assert "answers of a recorded project are clustered by session" in one_line(refused.err)


def test_one_session_for_a_whole_project_is_no_cluster(evalmark, world):
    """A script that records all its questions in one session still gets a promise, over inputs."""
    write(1)
    with open_store(STORE) as store:
        spans = [span(n, f"q{n}", str(0.1 + n / 1000 if n < 70 else 0.6 + n / 1000)) for n in range(140)]
        store.sessions.add([SESSION], spans)
        store.sessions.add_labels([on(one, float(one.output) >= 0.6) for one in spans])
    done = evalmark("calibrate", "demo", "--metric", "quality:tone")
    assert done.code == 0
    assert "at most 5 % of bad cases pass" in one_line(done.out)


SESSIONS = "name: replayed\ndatasets: [sessions:demo]\ntarget: same:answer\nmetrics: [same:is_number]\n"
SAME = """
def answer(question):
    return "no" if question[1] in "0123" and question[2] == "-" else "1"

def is_number(output):
    return output == "1"
"""


def test_cases_of_recorded_sessions_are_clustered_by_session(evalmark, world):
    recorded(20, each=5)
    Path("same.py").write_text(SAME, encoding="utf-8")
    Path("s.yaml").write_text(SESSIONS, encoding="utf-8")
    assert evalmark("validate", "s.yaml").code == 0
    done = evalmark("run", "s.yaml")
    assert "80 of 100 passed, 80 % (58.4 – 91.9 %)" in done.out  # noqa: RUF001  Wilson's interval of 16 in 20
    assert "95 % intervals are clustered by session." in done.out


def test_a_project_of_one_session_has_independent_cases(evalmark, world):
    recorded(1, each=20)
    Path("same.py").write_text(SAME, encoding="utf-8")
    Path("s.yaml").write_text(SESSIONS, encoding="utf-8")
    assert evalmark("validate", "s.yaml").code == 0
    done = evalmark("run", "s.yaml", "--repeat", "2")
    assert "session" not in done.out.replace("sessions:demo", "")
    assert "clustered by case" in done.out
