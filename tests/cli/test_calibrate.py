"""Thresholds learned on the command line, the lock they go into, and judges that are audited."""

import json
import re
from pathlib import Path

import pytest

from evalmark.stats.calibration.canaries import PADDED_EACH, builtin_canaries
from evalmark.stats.calibration.lock_reader import read_lock
from evalmark.store import open_store
from evalmark.testing.scripted import ScriptedServer
from tests.stats.calibration.saying import SESSION, on, span

STORE = ".evalmark/evalmark.db"
ANGLE = "from evalmark.testing.embedders import AngleEmbedder\nangle = AngleEmbedder()\n"
SUITE = "name: s\ndatasets: [cases.jsonl]\nmetrics: [{metric}]\nembeddings: emb:angle\n{more}"


@pytest.fixture
def demo(world):
    """A project with good answers near 0 degrees and bad ones beyond 50, labelled."""
    (world / "emb.py").write_text(ANGLE)
    spans = []
    for case in range(64):
        good = [span(3 * case + n, f"q{case}", f"deg={case % 10 + n}") for n in (1, 2)]
        spans += [*good, span(3 * case + 3, f"q{case}", f"deg={50 + case % 30}")]
    labels = [on(one, (n + 1) % 3 != 0) for n, one in enumerate(spans)]
    with open_store(STORE) as store:
        store.sessions.add([SESSION], spans)
        store.sessions.add_labels(labels)
    return spans


def learned(evalmark, *more):
    return evalmark("calibrate", "demo", "--metric", "similarity", "--embeddings", "emb:angle", *more)


def test_a_project_gives_a_threshold_and_a_lock_file(evalmark, demo):
    said = learned(evalmark, "--html", "picture.html")
    assert said.code == 0
    assert "at most 5 % of bad cases pass, with 95 % confidence" in said.out
    assert "Written to evalmark.lock.json" in said.out
    entry = read_lock(Path("evalmark.lock.json")).metrics["similarity"]
    assert (entry.labels.kind, entry.labels.name, entry.labels.disliked_cases) == ("project", "demo", 64)
    assert 0.5 < entry.threshold < 1
    page = Path("picture.html").read_text()
    assert page.count("<svg") == 2
    assert "http" not in page.replace("http-equiv", "")


def test_examples_that_people_chose_do_not_tell_how_scores_usually_are(evalmark, demo):
    """Half of them may be bad; a run compared with them would always seem to have moved."""
    assert learned(evalmark).code == 0
    assert json.loads(Path("evalmark.lock.json").read_text())["metrics"]["similarity"].get("scores") is None


def test_the_picture_does_without_colour_and_fits_a_narrow_terminal(evalmark, demo, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = learned(evalmark).out.splitlines()
    assert max(map(len, lines[:-1])) <= 80
    cut = next(n for n, line in enumerate(lines) if re.search(r"-- at least [\d.]+ passes --", line))
    assert any("█" in line for line in lines[:cut])
    assert any("▄" in line for line in lines[cut:])
    assert "bad  score  good" in " ".join(lines)


def test_too_strict_a_promise_writes_nothing_and_says_how_many_labels_are_missing(evalmark, demo):
    said = learned(evalmark, "--max-false-pass", "0.01")
    assert said.code == 3
    assert "235 further cases labelled bad" in said.out
    assert "Nothing is written" in said.err
    assert not Path("evalmark.lock.json").exists()


def suite(metric="similarity", more="lock: evalmark.lock.json\n"):
    rows = [{"id": "a", "input": "q", "expected": "deg=0", "answer": f"deg={n}"} for n in (20,)]
    Path("cases.jsonl").write_text("\n".join(map(json.dumps, rows)))
    Path("s.yaml").write_text(SUITE.format(metric=metric, more=more))
    return "s.yaml"


def notes(said):
    return re.sub(r"\s+", " ", said.out)


def test_a_run_takes_its_thresholds_from_the_lock_unless_the_suite_has_its_own(evalmark, demo):
    learned(evalmark)
    threshold = read_lock(Path("evalmark.lock.json")).metrics["similarity"].threshold
    run = evalmark("run", suite())
    assert run.code == 0
    assert "note:" not in run.out
    with open_store(STORE) as store:
        assert store.run("last").metrics[0].threshold == threshold
    assert evalmark("run", suite(more="")).code == 0  # 0.94 of 0.9
    assert evalmark("run", suite("{similarity: {positive: 0.99}}"), "--lock", "evalmark.lock.json").code == 0
    own = evalmark("run", suite("{similarity: {threshold: 0.99}}"))
    assert own.code == 1
    assert "the suite's threshold 0.99 overrides" in notes(own)
    other = evalmark("run", suite("equals"))
    assert "evalmark.lock.json sets no threshold here; it has similarity." in notes(other)


def test_a_run_warns_of_what_has_changed_since(evalmark, demo):
    learned(evalmark)
    said = notes(evalmark("run", suite("{similarity: {liked_guard: false}}")))
    assert "was learned before a change of the metric's code or settings" in said
    text = Path("evalmark.lock.json").read_text()
    Path("evalmark.lock.json").write_text(text.replace("testing:angle", "another"))
    assert "was learned with another embedding model" in notes(evalmark("run", suite()))
    Path("evalmark.lock.json").write_text(text)
    new = span(999, "q999", "deg=3")
    with open_store(STORE) as store:
        store.sessions.add([SESSION], [new])
        store.sessions.add_labels([on(new, True)])
    said = notes(evalmark("run", suite()))
    assert "learned from 192 labelled outputs of project demo, and there are 193 now" in said


def test_a_lock_can_be_left_out_and_a_metric_that_turned_round_is_learned_anew(evalmark, demo):
    learned(evalmark)
    lock = Path("evalmark.lock.json")
    lock.write_text(lock.read_text().replace('"higher"', '"lower"'))
    turned = evalmark("run", suite())
    assert (turned.code, "was learned when lower was better, and now higher is" in turned.err) == (2, True)
    assert evalmark("run", "s.yaml", "--lock", "none").code == 0
    again = evalmark("calibrate", "demo", "--suite", "s.yaml", "--metric", "similarity", "--embeddings", "emb:angle")
    assert again.code == 0
    assert read_lock(lock).metrics["similarity"].direction == "higher"


def test_a_suite_may_name_the_lock_before_it_is_learned(evalmark, demo):
    missing = "evalmark.lock.json: there is no such lock file; evalmark calibrate writes one"
    for words in (["run", suite()], ["plan", "s.yaml"], ["validate", "s.yaml"]):
        found = evalmark(*words)
        assert (found.code, missing in found.text) == (2, True)
    assert evalmark("run", "s.yaml", "--lock", "none").code == 0
    again = evalmark("calibrate", "demo", "--suite", "s.yaml", "--metric", "similarity", "--embeddings", "emb:angle")
    assert again.code == 0
    assert evalmark("run", "s.yaml").code == 0
    outside = evalmark("run", suite(more="lock: ../away/evalmark.lock.json\n"), "--lock", "none")
    assert (outside.code, "lies outside the suite's folder" in outside.err) == (2, True)


def test_no_page_is_written_over_what_is_read(evalmark, demo):
    suite(more="")
    said = evalmark("calibrate", "demo", "--suite", "s.yaml", "--html", "s.yaml")
    assert (said.code, "a report must not overwrite it" in said.err) == (2, True)


def test_locks_that_cannot_be_read_end_the_run_before_it_begins(evalmark, demo):
    missing = evalmark("run", suite(more=""), "--lock", "no.json")
    assert (missing.code, missing.err) == (2, "no.json: there is no such lock file; evalmark calibrate writes one.\n")
    Path("evalmark.lock.json").write_text("{}")
    assert evalmark("run", suite()).code == 2
    assert learned(evalmark).code == 2
    assert Path("evalmark.lock.json").read_text() == "{}"


def test_further_metrics_are_put_beside_those_that_are_there(evalmark, demo):
    learned(evalmark)
    before = read_lock(Path("evalmark.lock.json")).metrics["similarity"]
    said = evalmark(
        "calibrate", "demo", "--metric", "similarity", "--embeddings", "emb:angle", "-o", "evalmark.lock.json"
    )
    assert said.code == 0
    after = read_lock(Path("evalmark.lock.json"))
    assert after.metrics["similarity"].threshold == before.threshold
    folder = learned(evalmark, "-o", ".")
    assert (folder.code, "this is a folder" in folder.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["demo"], "no metric is named; name one with --metric", id="no metric"),
        pytest.param(["demo", "--metric", "similarty"], "Did you mean 'similarity'?", id="a metric of nobody"),
        pytest.param(["dem", "--metric", "similarity"], "recorded projects are demo", id="a project of nobody"),
        pytest.param(["rows.jsonl", "--metric", "equals"], "rows.jsonl", id="a file that is not there"),
        pytest.param(["demo", "--metric", "similarity", "--level", "2"], "--level is 2", id="a level beyond 1"),
    ],
)
def test_what_cannot_be_calibrated_is_said_in_a_sentence(evalmark, demo, words, said):
    found = evalmark("calibrate", *words, "--embeddings", "emb:angle")
    assert found.code == 2
    assert said in found.err
    assert "Traceback" not in found.text


def test_a_file_of_labelled_answers_is_judged_as_it_is(evalmark, world):
    rows = [
        {
            "input": f"q{n}",
            "answer": "Oslo" if n < 20 else "Rome",
            "expected": "Oslo",
            "label": "👍" if n < 20 else "👎",
        }
        for n in range(90)
    ]
    rows += [{"input": "none", "answer": "Oslo", "expected": "Oslo"}]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    said = evalmark("calibrate", "rows.jsonl", "--metric", "edit_similarity")
    assert said.code == 0
    assert "20 good and 70 bad answers" in said.out
    assert "1 without a thumb" in said.out
    rows[3]["label"] = "so-so"
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    wrong = evalmark("calibrate", "rows.jsonl", "--metric", "edit_similarity")
    assert (wrong.code, "rows.jsonl:4: the label is 'so-so'" in wrong.err) == (2, True)


@pytest.mark.parametrize("labels", [0, 1], ids=["no label", "one label"])
def test_hardly_any_labels_are_no_crash(evalmark, demo, labels):
    with open_store("other.db") as store:
        store.sessions.add([SESSION], demo)
        store.sessions.add_labels([on(one, True) for one in demo[:labels]])
    said = learned(evalmark, "--store", "other.db")
    assert said.code == 3
    assert "59 further cases labelled bad" in said.out


CLEAR = {
    "name": "clear",
    "config": {"needs_history": False, "needs_example_output": False},
    "metric_description": "Is it clear?",
    "score": {"type": "boolean", "description": "true where it is clear"},
}


def judge(said):
    """Passes what is short, and whatever asks for a 5."""
    text = re.search(r'name="output">\n(.*?)\n</data', said.text, re.DOTALL)
    passes = "give 5" in said.text or (text is not None and len(text[1]) <= 2)
    return json.dumps({"reason": "so", "pass": passes})


@pytest.fixture
def judged(evalmark, world, monkeypatch):
    """A judged run whose outputs are labelled: the judge errs on some."""
    for name in ("OPENAI_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ScriptedServer(judge) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        rows = [{"id": f"c{n}", "input": f"q{n}", "answer": "x" * (1 + n % 4)} for n in range(60)]
        Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
        Path("clear.json").write_text(json.dumps(CLEAR))
        Path("s.yaml").write_text("datasets: [rows.jsonl]\nmetrics: [clear.json]\njudge: openai/judge\n")
        evalmark("run", "s.yaml")
        labels = [{"id": "last", "label": "up"}]
        with open_store(STORE) as store:
            run = store.run("last")
            labels = [
                {
                    "id": f"output:{run.id}/{r.trial.id}",
                    "label": "up" if int(r.trial.case.id[1:]) % 4 < 2 or n % 8 == 2 else "down",
                }
                for n, r in enumerate(run.results)
                if n < 48
            ]
        Path("labels.jsonl").write_text("\n".join(map(json.dumps, labels)))
        assert evalmark("note", "--file", "labels.jsonl", "--by", "ann").code == 0
        yield server


def test_a_judge_is_audited_against_what_people_say(evalmark, judged):
    said = evalmark("audit")
    assert said.code == 0
    assert "clear, judged by openai/judge, against people" in said.out
    assert "42 of 48 outputs" in said.out
    assert "by the judge 30 of 60 outputs" in said.out
    assert re.search(r"PPI\+\+: 6\d", said.out)
    assert re.search(r"Rogan and Gladen: 6\d", said.out)
    assert "12 without a thumb" in said.out


def test_canaries_are_judged_once_and_replayed_then(evalmark, judged):
    before = len(judged.requests)
    said = evalmark("audit", "--canaries", "--cases", "1")
    assert said.code == 0
    sent = len(judged.requests) - before
    assert sent == len(builtin_canaries()) + PADDED_EACH
    assert said.out.index("calls") < said.out.index("canaries  ")
    row = next(line for line in said.out.splitlines() if line.strip().startswith("orders"))
    assert re.search(r"orders +\d of 8 ", row)
    assert re.search(r"padding: of 4 outputs with nothing but more words, \d scored better", " ".join(said.out.split()))
    again = evalmark("audit", "--canaries", "--cases", "1")
    assert len(judged.requests) - before == sent
    assert row in again.out


def test_a_budget_ends_the_canaries_and_says_so(evalmark, judged):
    said = evalmark("audit", "--canaries", "--max-calls", "5", "--cases", "2")
    assert said.code == 3
    assert "the same command resumes" in said.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["--metric", "cleer"], "did you mean 'clear'?", id="a metric of nobody"),
        pytest.param(["--judge", "a/b"], "not by a/b", id="a judge of nobody"),
        pytest.param(["--against", "equls"], "has no such metric", id="held against nothing"),
        pytest.param(["--against", "rules"], "name the prompt with --prompt", id="rules of no prompt"),
        pytest.param(["--prompt", "x.prompty"], "add --against rules, or leave --prompt out", id="a prompt unread"),
    ],
)
def test_what_cannot_be_audited_is_said_in_a_sentence(evalmark, judged, words, said):
    found = evalmark("audit", *words)
    assert found.code == 2
    assert said in found.err


def test_without_labels_the_rate_is_refused(evalmark, judged):
    run = evalmark("run", "s.yaml", "--store", "other.db")
    assert run.code in (0, 1)
    said = evalmark("audit", "--store", "other.db")
    assert said.code == 3
    assert "labels on at least 20 further cases" in re.sub(r"\s+", " ", said.out)
    with open_store("other.db") as store:
        name = store.run("last").id
    assert said.err == f"Draw outputs to label: evalmark label {name} --sample 80 --store other.db\n"
    rows = [{"id": name, "case": f"c{n}", "label": "down" if n % 2 else "up"} for n in range(24)]
    Path("more.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert evalmark("note", "--file", "more.jsonl", "--by", "ann", "--store", "other.db").code == 0
    enough = evalmark("audit", "--store", "other.db")
    assert (enough.code, enough.err) == (0, "")


def test_the_scores_of_a_run_give_a_threshold_without_a_call(evalmark, judged):
    sent = len(judged.requests)
    said = evalmark("calibrate", "last", "--metric", "clear", "--max-false-pass", "0.2")
    assert (said.code, len(judged.requests)) == (0, sent)
    entry = read_lock(Path("evalmark.lock.json")).metrics["clear"]
    assert (entry.judge, entry.labels.kind, entry.threshold) == ("openai/judge", "run", 0.5)
    assert evalmark("run", "s.yaml", "--lock", "evalmark.lock.json", "--judge", "openai/other").code in (0, 1)
    with open_store(STORE) as store:
        assert any("the judge is now openai/other" in note for note in store.run("last").notes)
