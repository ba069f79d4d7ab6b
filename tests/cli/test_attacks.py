"""Bad luck and bad will, through the command line: one clear sentence, the right exit code, nothing lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evalmark.core.values.plain_data import MAX_ITEMS, plain

pytestmark = pytest.mark.slow

HOSTILE = """
import asyncio, os, sys, threading, time
from evalmark import Score

def answer(text): return text.upper()

async def breaks(text): raise BaseException("not even an Exception")
async def stubborn(text):
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass
def closes(text):
    sys.stdout.close()
    return text.upper()
def closes_the_file(text):
    if text == "a":
        os.close(1)
    return text.upper()
def takes_stdout(text):
    sys.stdout = None
    return text.upper()
def leaves_a_thread(text):
    threading.Thread(target=time.sleep, args=(3600,)).start()
    return text.upper()
def breaks_a_pipe(text):
    reading, writing = os.pipe()
    os.close(reading)
    os.write(writing, b"nobody reads this")
def endless(text):
    class Endless:
        def __iter__(self):
            while True:
                yield 1
    return Endless() if text == "a" else text.upper()

def hangs(output): time.sleep(3600)
def base(output): raise BaseException("not even an Exception")
def changes(case, output):
    case.metadata.clear()
    output.value.append("changed")
    return True
def unchanged(case, output): return case.metadata == {"kind": "x"} and output.value == ["kept"]
def sideways(output): return Score(name="sideways", value=0.5, direction="up")
def perhaps(output): return Score(name="perhaps", value=0.5, passed="yes")
def settled(output): return True
def kept(text): return ["kept"]
"""


@pytest.fixture
def suite(world):
    """A suite of three cases whose target and scorers are hostile."""

    def write(target="answer", scorers=("equals",), metadata=None, **more):
        (world / "hostile.py").write_text(HOSTILE, encoding="utf-8")
        rows = [{"id": n, "input": n, "expected": n.upper(), "metadata": metadata or {}} for n in "abc"]
        (world / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        metrics = [name if name == "equals" else f"hostile:{name}" for name in scorers]
        found = {"datasets": ["cases.jsonl"], "target": f"hostile:{target}", "metrics": metrics, **more}
        (world / "suite.json").write_text(json.dumps(found), encoding="utf-8")
        return "suite.json"

    return write


def ended(process, *words, **more):
    running = process(*words, **more)
    out, err = running.communicate(timeout=60)
    assert "Traceback" not in out + err, out + err
    return running.returncode, out, err


@pytest.mark.parametrize(
    ("target", "code", "says"),
    [
        pytest.param("breaks", 3, "BaseException: not even an Exception", id="raises what is no Exception"),
        pytest.param("stubborn", 3, "no answer within 0.2 s", id="does not let itself be cancelled"),
        pytest.param("closes", 3, "every one passed", id="closes the standard output"),
        pytest.param("closes_the_file", 3, "every one passed", id="closes the file of the standard output"),
        pytest.param("takes_stdout", 3, "every one passed", id="takes the standard output away"),
        pytest.param("leaves_a_thread", 0, "every one passed", id="leaves a thread that never ends"),
        pytest.param("breaks_a_pipe", 3, "BrokenPipeError", id="writes to a pipe that nobody reads"),
    ],
)
def test_a_hostile_target_costs_its_case_and_nothing_else(process, suite, world, target, code, says):
    left, out, err = ended(process, "run", suite(target), "--timeout", "0.2", "-o", "out.json")
    assert left == code, out + err
    assert says in out + err
    assert len(json.loads((world / "out.json").read_text(encoding="utf-8"))["results"]) == 3


def test_an_output_without_end_is_cut_off(evalmark, suite):
    said = evalmark("run", suite("endless", scorers=["settled"]), "-o", "out.jsonl")
    assert (said.code, "3 of 3 passed" in said.out) == (0, True), said.text


def test_a_small_value_that_holds_one_part_a_billion_times_is_cut_off():
    bomb = ["x"]
    for _ in range(60):
        bomb = [bomb, bomb]
    assert str(plain(bomb)).count("x") == pytest.approx(MAX_ITEMS / 3, rel=0.01)


@pytest.mark.parametrize(
    ("scorer", "says"),
    [
        pytest.param("hangs", "no score within 0.2 s", id="hangs"),
        pytest.param("base", "BaseException: not even", id="raises what is no Exception"),
        pytest.param("sideways", "whose `direction` is 'up'", id="gives a direction that there is not"),
        pytest.param("perhaps", "whose `passed` is 'yes'", id="gives a verdict that there is not"),
    ],
)
def test_a_hostile_scorer_is_an_error_and_the_run_can_be_read_again(evalmark, suite, scorer, says):
    said = evalmark("run", suite(scorers=["equals", scorer]), "--timeout", "0.2")
    assert (said.code, "Traceback" in said.text) == (3, False), said.text
    again = evalmark("show", "last", "--failed")
    assert len([line for line in again.out.splitlines() if "error" in line and says[:24] in line]) == 3, again.text


def test_what_one_scorer_changes_no_other_scorer_and_no_report_sees(evalmark, suite, world):
    path = suite("kept", scorers=["changes", "unchanged"], metadata={"kind": "x"})
    said = evalmark("run", path, "-o", "out.jsonl")
    assert said.code == 0, said.text
    assert "changed" not in (world / "out.jsonl").read_text(encoding="utf-8").replace('"unchanged"', "").replace(
        '"changes"', ""
    )


@pytest.mark.parametrize("name", ["cases.jsonl", "suite.json", "./cases.jsonl"])
def test_a_report_is_never_written_over_what_the_run_reads(evalmark, suite, world, name):
    path = suite()
    before = (world / name).read_text(encoding="utf-8")
    said = evalmark("run", path, "-o", name)
    assert (said.code, "the run reads this file" in said.err) == (2, True), said.text
    assert (world / name).read_text(encoding="utf-8") == before


def test_reports_are_there_though_nobody_reads_the_output(suite, world):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "evalmark", "run", suite(), "-o", "out.json"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")
    assert (world / "out.json").is_file()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize(("words", "output"), [(("run", "suite.json"), "target hostile"), (("list",), "✓ passed")])
def test_an_output_on_a_full_disk_is_said(suite, words, output):
    suite()
    subprocess.run([sys.executable, "-m", "evalmark", "run", "suite.json", "-q"], check=True)
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "evalmark", *words]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr
    assert output in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_program_started_without_its_streams_works(suite, world, closed):
    command = f"exec {sys.executable} -m evalmark run {suite()} -o out.json {closed}"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert (world / "out.json").is_file()


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("tool = 5", "no errors"),
        ("[tool]\nevalmark = 5", "tool.evalmark is 5, not a table"),
        ("[[tool.evalmark]]\njobs = 1", "not a table"),
        ("[tool.evalmark]\njobs = 3.7", "3.7 is not a whole number from 1 to 10,000"),
        ("[tool.evalmark]\njobs = 999999999999999999999", "is not a whole number from 1 to 10,000"),
    ],
)
def test_settings_of_any_shape_are_read_or_refused(evalmark, suite, world, table, says):
    (world / "pyproject.toml").write_text(table, encoding="utf-8")
    said = evalmark("validate", suite())
    assert (said.code, "Traceback" in said.text) == (0 if says == "no errors" else 2, False), said.text
    assert says in said.text


@pytest.mark.parametrize("words", [("-n", "9" * 30), ("-j", "9" * 12), ("--repeat", "9" * 30), ("--worst", "9" * 30)])
def test_a_number_that_no_machine_can_count_to_is_refused(evalmark, suite, words):
    said = evalmark("run", suite(), *words)
    assert (said.code, "Traceback" in said.text) == (2, False), said.text


@pytest.mark.parametrize("how", ["sys.exit(0)", "raise RuntimeError('\\x1b[31mred')", "import no_such_part"])
def test_a_target_whose_module_cannot_be_imported_is_refused(evalmark, suite, world, how):
    (world / "ends.py").write_text(f"import sys\n{how}\n", encoding="utf-8")
    said = evalmark("run", suite(), "--target", "ends:answer")
    assert (said.code, "\x1b" in said.err) == (2, False), said.text
    assert "'ends:answer'" in said.err


@pytest.mark.parametrize(
    ("does", "says"),
    [
        pytest.param("raise SystemExit(3)", "The embedder", id="exits"),
        pytest.param("raise BaseException('odd')", "The embedder", id="raises what is no Exception"),
        pytest.param("raise KeyboardInterrupt", "The embedder", id="raises what only a keyboard should"),
        pytest.param("import time; time.sleep(3600)", "no score within 0.3 s", id="hangs"),
    ],
)
def test_a_hostile_embedder_leaves_its_cases_with_an_error_and_the_command_ends(process, suite, world, does, says):
    (world / "vectors.py").write_text(f"def embed(texts):\n    {does}\n", encoding="utf-8")
    suite(embeddings="vectors:embed")
    found = json.loads((world / "suite.json").read_text(encoding="utf-8")) | {"metrics": ["similarity"]}
    (world / "suite.json").write_text(json.dumps(found), encoding="utf-8")
    left, out, _ = ended(process, "run", "suite.json", "--timeout", "0.3")
    assert (left, out.count(says)) == (3, 3), out


FRAGILE = """
from pathlib import Path

def answer(text):
    if text == "d" and not Path("mended").exists():
        import os, time
        time.sleep(0.5)  # by now the first three are saved
        os._exit(9)
    with open("asked.txt", "a") as asked:
        asked.write(text)
    return text.upper()
"""


@pytest.fixture
def broken_off(process, world):
    """A run of six cases that broke off at the fourth; gives a call that takes it up with other words."""
    (world / "fragile.py").write_text(FRAGILE, encoding="utf-8")
    rows = [{"id": n, "input": n, "expected": n.upper() if n != "a" else "?"} for n in "abcdef"]
    (world / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    suite = {"datasets": ["cases.jsonl"], "target": "fragile:answer", "metrics": ["equals"]}
    (world / "suite.json").write_text(json.dumps(suite), encoding="utf-8")
    left, _, _ = ended(process, "run", "suite.json", "-j", "1")
    assert left == 3
    (world / "mended").touch()

    def go_on(*words, **more):
        (world / "suite.json").write_text(json.dumps(suite | more), encoding="utf-8")
        return ended(process, "run", "suite.json", "--resume", "-o", "out.jsonl", *words)

    return go_on


def test_a_run_taken_up_again_is_held_to_the_gate_of_now(broken_off):
    left, out, err = broken_off(gate={"min_pass_rate": 0.5})
    assert (left, "at least 50 %" in out) == (0, True), out + err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param(("-n", "1"), "all cases, and now the first 1 of each dataset (--limit)", id="a limit"),
        pytest.param(("--filter", "id=a"), "all cases, and now some (--filter)", id="conditions"),
    ],
)
def test_flags_that_leave_cases_out_of_a_run_taken_up_again_are_refused(broken_off, world, words, says):
    left, out, err = broken_off(*words)
    assert (left, out, says in err) == (2, "", True), err
    assert len(err.splitlines()) == 1
    assert broken_off()[0] == 1, "all there was is still there, and the rest is asked"
    found = [json.loads(line) for line in (world / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sum("output" in row for row in found) == 6


def test_a_file_name_does_not_act_on_the_terminal_of_who_validates(evalmark, world):
    said = evalmark("validate", "\x1b[2Jgone.json", "\x1b[2Jgone.yaml")
    assert said.code == 2
    assert "\x1b" not in said.text


@pytest.mark.parametrize("words", [["list"], ["run", "suite.json"], ["cache", "list"]], ids=" ".join)
def test_a_working_directory_that_is_gone_is_said(evalmark, world, monkeypatch, words):
    gone = world / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    said = evalmark(*words)
    assert (said.code, said.out) == (2, "")
    assert said.err == (
        "The working directory cannot be used (No such file or directory); change to one that exists.\n"
    )
