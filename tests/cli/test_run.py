"""`evalmark run` as a user types it: verdicts, exit codes, reports, and every kind of wrong call."""

import json
from importlib.metadata import version
from pathlib import Path

import pytest

BOT = """
import os, sys, time

def answer(text):
    return text.upper()

def picky(text):
    if text == "c":
        raise ValueError("no c today")
    return text.upper()

def thinks(text):
    time.sleep(0.3)
    return text.upper()

def leaves(text):
    sys.exit(3)

def wanders(text):
    os.chdir("/")
    return text.upper()
"""


@pytest.fixture
def suite(world):
    """A suite of four cases, of which `wrong` come out wrong."""

    def write(wrong=0, rows="abcd", target="bot:answer", **more):
        (world / "bot.py").write_text(BOT, encoding="utf-8")
        cases = [
            {"id": row, "input": row, "expected": "?" if number < wrong else row.upper()}
            for number, row in enumerate(rows)
        ]
        (world / "cases.jsonl").write_text("".join(json.dumps(c) + "\n" for c in cases), encoding="utf-8")
        found = {"name": "letters", "datasets": ["cases.jsonl"], "target": target, "metrics": ["equals"], **more}
        (world / "suite.json").write_text(json.dumps(found), encoding="utf-8")
        return "suite.json"

    return write


@pytest.mark.parametrize(
    ("shape", "code", "says"),
    [
        pytest.param({}, 0, "every one passed", id="all pass"),
        pytest.param({"wrong": 1}, 1, "1 of 4", id="one fails and there is no gate"),
        pytest.param(
            {"wrong": 1, "gate": {"min_pass_rate": 0.7}}, 0, "at least 70 %", id="one fails and the gate allows it"
        ),
        pytest.param({"wrong": 3, "gate": {"min_pass_rate": 0.7}}, 1, "less than 70 %", id="too many fail"),
        pytest.param({"rows": ""}, 2, "has no cases", id="no cases"),
        pytest.param({"target": "bot:picky"}, 3, "no c today", id="a target that raises"),
        pytest.param(
            {"target": "bot:picky", "gate": {"max_errors": 1}}, 0, "no c today", id="an error that is allowed"
        ),
        pytest.param({"target": "bot:picky", "wrong": 1}, 1, "no c today", id="a failure whatever the error would say"),
        pytest.param({"target": "bot:leaves"}, 3, "SystemExit: 3", id="a target that calls sys.exit"),
        pytest.param(
            {"gate": {"thresholds": {"equals": 0.9}}, "wrong": 1}, 1, "less than 0.9", id="a mean under its threshold"
        ),
    ],
)
def test_the_exit_code_is_the_verdict(evalmark, suite, shape, code, says):
    said = evalmark("run", suite(**shape))
    assert said.code == code, said.text
    assert says in said.text
    assert "Traceback" not in said.text


@pytest.mark.parametrize(
    ("shape", "words", "says"),
    [
        pytest.param({"metrics": ["equal"]}, (), ["suite.json", "'equal'", "equals"], id="an unknown metric"),
        pytest.param({"target": "bot:anwser"}, (), ["anwser"], id="an attribute that is not there"),
        pytest.param({"datasets": ["gone.csv"]}, (), ["gone.csv"], id="a dataset that is not there"),
        pytest.param({"repeats": 2}, (), ["repeats", "repeat"], id="an unknown key"),
        pytest.param({"metrics": ["metrics/correct.json"]}, (), ["correct.json"], id="a metric file"),
        pytest.param({}, ("--target", "nowhere:x"), ["nowhere"], id="a target that is not there"),
        pytest.param({}, ("-o", "out.pdf"), ["out.pdf", ".html"], id="a report of an unknown kind"),
        pytest.param({}, ("-j", "0"), ["0"], id="no jobs"),
        pytest.param({}, ("--timeout", "-1"), ["-1"], id="a time limit below zero"),
        pytest.param({}, ("--resume", "20200101-000000-aaaa"), ["20200101"], id="a run to resume that is not there"),
        pytest.param({}, ("--nonsense",), ["--nonsense"], id="an unknown flag"),
        pytest.param({}, ("--store", "suite.json"), ["suite.json"], id="a store that is another file"),
    ],
)
def test_a_call_that_cannot_work_is_refused_with_code_2(evalmark, suite, shape, words, says):
    evalmark("run", suite(), "--quiet")
    said = evalmark("run", suite(**shape), *words)
    assert said.code == 2, said.text
    assert all(part in said.text for part in says), said.text
    assert "Traceback" not in said.text


def test_all_faults_of_a_suite_come_at_once(evalmark, suite):
    path = suite(metrics=["equal", {"similarity": {"positiv": 1}}], target="bot:nothing")
    said = evalmark("run", path)
    assert said.code == 2
    assert all(part in said.text for part in ("'equal'", "positiv", "suite.json:1: target 'bot:nothing'")), said.text


def test_reports_are_written_by_their_ending(evalmark, suite, world):
    names = ["out.json", "out.jsonl", "out.csv", "out.md", "out.html", "out.junit.xml"]
    said = evalmark("run", suite(wrong=1), *(word for name in names for word in ("-o", name)))
    assert said.code == 1
    assert all((world / name).stat().st_size > 100 for name in names)
    assert json.loads((world / "out.json").read_text(encoding="utf-8"))["format"] == "evalmark-run"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_report_that_cannot_be_written_keeps_the_older_file(evalmark, suite, world):
    (world / "full.html").symlink_to("/dev/full")
    said = evalmark("run", suite(), "-o", "full.html")
    assert (said.code, "Traceback" in said.text) == (2, False), said.text
    assert "full.html" in said.text


def test_quiet_prints_nothing_and_keeps_the_exit_code(evalmark, suite):
    said = evalmark("run", suite(wrong=1), "--quiet")
    assert (said.code, said.text) == (1, "")


def test_flags_win_over_environment_and_project(evalmark, suite, world, monkeypatch):
    (world / "pyproject.toml").write_text('[tool.evalmark]\nstore = "project.db"\n', encoding="utf-8")
    evalmark("run", suite())
    assert (world / "project.db").exists()
    monkeypatch.setenv("EVALMARK_STORE", "environment.db")
    evalmark("run", suite())
    assert (world / "environment.db").exists()
    evalmark("run", suite(), "--store", "flag.db")
    assert (world / "flag.db").exists()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        pytest.param((), 3, "no answer within 0.05 s", id="the suite's time limit wins over the environment's"),
        pytest.param(("--timeout", "30"), 0, "every one passed", id="the flag wins over the suite's"),
    ],
)
def test_a_suite_is_louder_than_the_environment_and_a_flag_louder_than_both(
    evalmark, suite, monkeypatch, words, code, says
):
    monkeypatch.setenv("EVALMARK_TIMEOUT", "20")
    said = evalmark("run", suite(target="bot:thinks", timeout=0.05), *words)
    assert (said.code, says in said.out) == (code, True), said.text


def test_a_target_that_changes_the_working_directory_changes_nothing_else(evalmark, suite, world):
    suite(target="bot:wanders")
    more = json.loads((world / "suite.json").read_text())
    (world / "more.jsonl").write_text('{"id": "z", "input": "z", "expected": "Z"}')
    (world / "suite.json").write_text(json.dumps(more | {"datasets": ["cases.jsonl", "more.jsonl"]}))
    said = evalmark("run", "suite.json", "-o", "out.md")
    assert said.code == 0, said.text
    assert (world / "out.md").is_file()


def test_several_suites_give_the_worst_code(evalmark, suite, world):
    suite()
    (world / "good.json").write_text((world / "suite.json").read_text())
    bad = json.loads((world / "suite.json").read_text()) | {"target": "bot:picky"}
    (world / "bad.json").write_text(json.dumps(bad))
    assert evalmark("run", "good.json", "bad.json").code == 3
    assert evalmark("run", "good.json", "good.json").code == 0


def test_one_run_is_not_taken_up_by_several_suites(evalmark, suite, world):
    suite()
    (world / "other.json").write_text((world / "suite.json").read_text())
    said = evalmark("run", "suite.json", "other.json", "--resume", "20261121-143205-k3f9")
    assert (said.code, "one run" in said.err) == (2, True), said.text
    assert evalmark("run", "suite.json", "other.json", "--resume").code == 0


def test_a_run_is_listed_and_shown(evalmark, suite):
    evalmark("run", suite(wrong=1))
    evalmark("run", suite())
    listed = evalmark("list")
    assert listed.code == 0
    assert listed.out.count("letters") == 2
    assert "every one passed" in evalmark("show").out
    failed = evalmark("show", "last~1", "--failed")
    assert "equals" in failed.out
    assert "b" in evalmark("show", "last", "--case", "b").out


def test_a_case_is_shown_by_the_start_of_its_id(evalmark, world):
    rows = [{"id": name, "input": name, "answer": name, "expected": name} for name in ("north", "north-1", "south")]
    (world / "cases.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (world / "suite.json").write_text('{"datasets": ["cases.jsonl"], "metrics": ["equals"]}', encoding="utf-8")
    evalmark("run", "suite.json")
    assert "✓ south" in evalmark("show", "--case", "so").out
    whole = evalmark("show", "--case", "north").out
    assert "✓ north\n" in whole
    assert "north-1" not in whole
    several = evalmark("show", "--case", "nor")
    assert (several.code, "2 cases that start with 'nor', such as 'north', 'north-1'" in several.err) == (2, True)
    near = evalmark("show", "--case", "soth")
    assert (near.code, "has no case 'soth'; did you mean 'south'" in near.err) == (2, True), near.text


def test_cases_without_ids_are_known_by_their_words(evalmark, world):
    rows = [{"input": f"What is the {name} of Peru?", "answer": "x", "expected": "y"} for name in ("capital", "flag")]
    (world / "cases.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (world / "suite.json").write_text('{"datasets": ["cases.jsonl"], "metrics": ["equals"]}', encoding="utf-8")
    said = evalmark("run", "suite.json", "--filter", "capital", "-o", "run.md")
    assert "0 of 1 passed" in said.out, said.text
    assert "<summary>What is the capital of Peru? (fail)" in (world / "run.md").read_text(encoding="utf-8")
    assert "✗ What is the capital of Peru?\n" in evalmark("show", "--case", "What is the cap").out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param(("--case", "zz"), "has no case 'zz'; list all cases with: evalmark report", id="no such case"),
        pytest.param(("--case", "a", "--failed"), "has no case 'a' that did not pass", id="a case that passed"),
    ],
)
def test_a_case_that_is_not_there_is_a_wrong_call(evalmark, suite, words, says):
    evalmark("run", suite())
    said = evalmark("show", "last", *words)
    assert (said.code, said.out) == (2, "")
    assert says in said.err


def test_columns_of_other_names_are_named_on_the_command_line(evalmark, world):
    (world / "qa.csv").write_text("Frage,Quelle,Soll,Ist\nq,a,a,a\n", encoding="utf-8")
    (world / "mine.py").write_text("def embed(texts):\n    return [[1.0, 0.0] for _ in texts]\n", encoding="utf-8")
    columns = ("question=Frage", "contexts=Quelle", "reference=Soll", "answer=Ist")
    words = [word for column in columns for word in ("--column", column)]
    said = evalmark("rag", "--dataset", "qa.csv", "--model", "mine:embed", *words, "-o", "out.csv")
    assert (said.code, "1 ungated" in said.out) == (0, True), said.text
    refused = evalmark("rag", "--dataset", "qa.csv", "--model", "mine:embed")
    assert refused.code == 2
    assert refused.err.count("no input among Frage, Quelle, Soll, Ist") == 1
    assert "`--column input=NAME`" in refused.err


def test_the_reports_are_named_and_may_be_read_like_any_new_file(evalmark, suite, world):
    (world / "any").touch()
    said = evalmark("run", suite(), "-o", "out.md", "-o", "sub/out.csv")
    assert f"Reports in out.md, {Path('sub/out.csv')}\n" in said.out
    assert (world / "out.md").stat().st_mode == (world / "any").stat().st_mode


def test_reports_of_a_kept_run_equal_those_of_the_run_itself(evalmark, suite, world):
    evalmark("run", suite(wrong=1), "-o", "now.json")
    assert evalmark("report", "last", "-o", "later.json").code == 0
    assert (world / "later.json").read_text() == (world / "now.json").read_text()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        pytest.param(("list",), 2, "no store", id="list without a store"),
        pytest.param(("show", "last"), 2, "no store", id="show without a store"),
        pytest.param(("validate", "gone.json"), 2, "gone.json", id="validate a file that is not there"),
        pytest.param(("report",), 2, "", id="report without a file"),
        pytest.param(("--help",), 0, "doctor", id="help names the verbs"),
        pytest.param(("--version",), 0, f"evalmark {version('evalmark')}, Python 3.", id="the version"),
        pytest.param(("run", "--help"), 0, "--resume", id="help of a verb names its flags"),
    ],
)
def test_small_calls(evalmark, words, code, says):
    said = evalmark(*words)
    assert said.code == code, said.text
    assert says in said.text


def test_validate_names_every_fault_of_a_dataset(evalmark, world):
    rows = ['{"id": "a", "input": 1}', "{broken", '{"id": "a", "input": 2}', '{"id": "b", "input": 1e400}']
    (world / "cases.jsonl").write_text("\n".join(rows), encoding="utf-8")
    said = evalmark("validate", "cases.jsonl")
    assert said.code == 2
    assert all(f"cases.jsonl:{line}" in said.out for line in (2, 3, 4)), said.out


def test_validate_says_when_nothing_is_wrong(evalmark, suite):
    said = evalmark("validate", suite(), "cases.jsonl")
    assert (said.code, said.out.count("no errors")) == (0, 2), said.text


def test_the_doctor_says_what_is_there(evalmark, suite):
    evalmark("run", suite())
    said = evalmark("doctor")
    assert said.code == 0, said.text
    shown = " ".join(said.out.split())
    assert all(part in shown for part in ("python", "apsw", "1 run, 4 results", "Everything works."))


def test_a_bad_row_after_the_checked_ones_is_an_error_with_its_place(evalmark, suite, world):
    suite()
    rows = [json.dumps({"id": f"r{n}", "input": "a", "expected": "A"}) for n in range(1_100)]
    rows[1_050] = "{broken"
    (world / "cases.jsonl").write_text("\n".join(rows), encoding="utf-8")
    said = evalmark("run", "suite.json")
    assert said.code == 3, said.text
    assert "cases.jsonl:1051" in said.out


def test_a_module_beside_the_suite_goes_before_one_of_its_name_in_the_working_directory(evalmark, world):
    beside = world / "suites"
    beside.mkdir()
    for folder in (world, beside):
        (folder / "twice_named.py").write_text(f"def answer(text):\n    return {folder.name!r}\n", encoding="utf-8")
    (beside / "cases.jsonl").write_text('{"input": "where?", "expected": "suites"}\n', encoding="utf-8")
    suite = {"datasets": ["cases.jsonl"], "target": "twice_named:answer", "metrics": ["equals"]}
    (beside / "suite.json").write_text(json.dumps(suite), encoding="utf-8")
    assert evalmark("run", "suites/suite.json", "-q").code == 0
