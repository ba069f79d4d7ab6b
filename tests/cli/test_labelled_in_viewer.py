"""What is labelled in the viewer is a test case and calibration data at once: from a recording to a threshold."""

import json
import re
from pathlib import Path

import evalmark as library
from evalmark.recording import flush
from evalmark.stats.calibration.lock_reader import read_lock
from evalmark.store import open_store
from evalmark.unit_tests import UnitTest
from tests.reports.viewer.conftest import POLICY, TOKEN, asked, sent, shown

STORE = ".evalmark/evalmark.db"
ANGLE = "from evalmark.testing.embedders import AngleEmbedder\nangle = AngleEmbedder()\n"


@library.record("shop")
def answer(question):
    return f"{question} deg={len(question)}"


def labelled(viewer, things, by="ann"):
    """Each thing labelled by a form of the viewer: the fields that name it, and the thumb."""
    for fields, liked in things:
        assert sent(viewer, {**fields, "liked": "up" if liked else "down", "by": by}).status == 303


def test_a_recorded_answer_that_is_labelled_in_the_viewer_is_a_test_case(evalmark, world):
    for question in ("Is it open?", "Where?", "Why?"):
        answer(question)
    assert flush()
    with open_store(STORE) as store:
        spans = store.sessions.answers("shop")
        labelled(shown(store), [({"span": spans[0].id}, True), ({"span": spans[1].id}, False)])
    found = {case.inputs: case for case in UnitTest("x").for_project_sessions("shop").get_all_test_cases()}
    assert found.keys() == {"Is it open?", "Where?"}
    assert evalmark("export", "sessions:shop", "-o", "cases.jsonl").code == 0
    rows = [json.loads(line) for line in Path("cases.jsonl").read_text().splitlines()]
    assert [row["input"] for row in rows] == ["Is it open?", "Where?"]
    (world / "app.py").write_text("def answer(question):\n    return f'{question} deg={len(question)}'\n")
    (world / "emb.py").write_text(ANGLE)
    (world / "s.yaml").write_text(
        "datasets: [sessions:shop]\ntarget: app:answer\nmetrics: [{similarity: {threshold: 0.9}}]\nembeddings: emb:angle\n"
    )
    run = evalmark("run", "s.yaml")
    assert run.code == 1  # what was disliked is answered as before
    with open_store(STORE) as store:
        verdicts = {result.trial.case.input: result.verdict for result in store.run("last").results}
    assert verdicts == {"Is it open?": "pass", "Where?": "fail"}


def test_recorded_answers_that_are_labelled_in_the_viewer_calibrate_a_metric(evalmark, world):
    (world / "emb.py").write_text(ANGLE)
    for case in range(60):
        for angle in (case % 10, case % 10 + 1, 50 + case % 30):
            with library.record("bot") as session, session.answer(f"q{case}") as span:
                span.output = f"deg={angle}"
    assert flush()
    words = ("calibrate", "bot", "--metric", "similarity", "--embeddings", "emb:angle")
    assert evalmark(*words).code == 3
    with open_store(STORE) as store:
        said = [({"span": span.id}, int(str(span.output)[4:]) < 50) for span in store.sessions.answers("bot")]
        labelled(shown(store), said)
    assert evalmark(*words).code == 0
    labels = read_lock(Path("evalmark.lock.json")).metrics["similarity"].labels
    assert (labels.kind, labels.name, labels.liked, labels.disliked) == ("project", "bot", 120, 60)


def test_outputs_of_a_run_that_are_labelled_in_the_queue_calibrate_its_metrics(evalmark, world):
    rows = [
        {"id": f"c{n}", "input": f"q{n}", "expected": "deg=0", "answer": f"deg={n % 20 if n < 20 else 60 + n % 20}"}
        for n in range(85)
    ]
    Path("cases.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (world / "emb.py").write_text(ANGLE)
    (world / "s.yaml").write_text("datasets: [cases.jsonl]\nmetrics: [similarity]\nembeddings: emb:angle\n")
    evalmark("run", "s.yaml")
    assert evalmark("calibrate", "last", "--metric", "similarity").code == 3
    with open_store(STORE) as store:
        viewer, address = shown(store), f"/label/queue?what=run:{store.run('last').id}"
        begun = sent(viewer, {"what": address.partition("what=")[2], "by": "ann"}, "/label/start")
        cookie = f"{POLICY.cookie}={TOKEN}; " + begun.headers["set-cookie"].partition(";")[0]
        headers = [("host", "127.0.0.1:7878"), ("cookie", cookie)]
        while "All 85 labelled" not in (page := asked(viewer, address, headers=headers).text):
            form = re.search(r'<form class="label judging".*?</form>', page, re.DOTALL)[0]
            fields = dict(re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', form))
            angle = int(re.search(r"deg=(\d+)</div>", page)[1])
            assert sent(viewer, {**fields, "liked": "up" if angle < 30 else "down"}, cookie=cookie).status == 303
    found = evalmark("calibrate", "last", "--metric", "similarity")
    assert found.code == 0
    entry = read_lock(Path("evalmark.lock.json")).metrics["similarity"]
    assert (entry.labels.kind, entry.labels.liked, entry.labels.disliked) == ("run", 20, 65)
    assert evalmark("audit", "last", "--threshold", "0.9").code == 0
