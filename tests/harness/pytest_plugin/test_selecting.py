"""Which evals run: with `--evalmark`, from which files, by which of pytest's own options."""

from textwrap import dedent

import pytest

pytestmark = pytest.mark.slow

EVAL = """
from evalmark import describe_eval, expect


def answer(question):
    with open("asked.txt", "a") as file:
        file.write(f"{question}\\n")
    return question


def even(output):
    return int(output) % 2 == 0


describe_eval("numbers", data=["1", "2", "3", "4"], task=answer, scorers=[even])
describe_eval("others", data=["6", "8"], task=answer, scorers=[even])


def test_expecting():
    expect("10").to_eval(None, answer, even)


def test_plain():
    pass
"""
FILE = "test_evals.py::"


@pytest.fixture
def evals(suite):
    suite.write("test_evals.py", EVAL)
    return suite


def asked(suite):
    """What the task was asked, and forgets it."""
    path = suite.folder / "asked.txt"
    found = path.read_text(encoding="utf-8").split() if path.exists() else []
    path.unlink(missing_ok=True)
    return found


def test_without_the_option_evals_are_skipped_and_say_so_once(evals):
    ended = evals.plain()
    assert (ended.counts, ended.code) == ({"passed": 1, "skipped": 3}, 0)
    said = "3 evals skipped: evals may cost money; run them with --evalmark, or `evalmark_run = true` in the configuration."
    assert ended.text.count("evalmark_run") == 1
    assert said in ended.text.splitlines()
    assert asked(evals) == []
    assert not ended.store.parent.exists()


def test_the_configuration_can_have_evals_run(evals):
    evals.write("pytest.ini", "[pytest]\nevalmark_run = true\n")
    ended = evals.plain()
    assert (ended.counts, ended.code) == ({"passed": 6, "failed": 2}, 1)
    assert sorted(asked(evals), key=int) == ["1", "2", "3", "4", "6", "8", "10"]


def test_pytest_selects_by_name_and_by_what_failed_last(evals):
    first = evals.run("-k", "numbers and not 3")
    assert first.words == {f"{FILE}numbers[1]": "failed", f"{FILE}numbers[2]": "passed", f"{FILE}numbers[4]": "passed"}
    assert sorted(asked(evals)) == ["1", "2", "4"]
    again = evals.run("--lf")
    assert (again.words, again.code) == ({f"{FILE}numbers[1]": "failed"}, 1)
    assert asked(evals) == ["1"]
    assert [r.trial.position for r in again.run().results] == [0]
    one = evals.run(f"{FILE}numbers[4]")
    assert (one.words, one.code, asked(evals)) == ({f"{FILE}numbers[4]": "passed"}, 0, ["4"])
    assert [r.trial.position for r in one.run().results] == [3]


@pytest.mark.parametrize(
    ("words", "wanted", "told"),
    [
        pytest.param(["-x"], ["1"], {"failed": 1}, id="-x"),
        pytest.param(
            ["--maxfail=2"], ["1", "2", "3"], {"failed": 2, "passed": 1}, marks=pytest.mark.sweep, id="--maxfail"
        ),
        pytest.param(["--stepwise"], ["1"], {"failed": 1}, marks=pytest.mark.sweep, id="--stepwise"),
    ],
)
def test_after_the_failure_that_ends_a_run_nothing_is_asked(evals, words, wanted, told):
    ended = evals.run(*words)
    assert asked(evals) == wanted
    assert (ended.counts, ended.code) == (told, 2 if "--stepwise" in words else 1)
    assert (ended.run().status, len(ended.run().results)) == ("interrupted", len(wanted))
    assert f"with: --evalmark-resume {ended.run().id}" in ended.text


def test_collecting_runs_nothing_and_keeps_nothing(evals):
    ended = evals.run("--collect-only", "-q")
    assert ended.code == 0
    assert [line for line in ended.text.splitlines() if line.startswith(FILE)] == [
        *(f"{FILE}numbers[{n}]" for n in (1, 2, 3, 4)),
        *(f"{FILE}others[{n}]" for n in (6, 8)),
        f"{FILE}test_expecting",
        f"{FILE}test_plain",
    ]
    assert asked(evals) == []
    assert not ended.store.exists()
    assert "evals ===" not in ended.text


def test_files_called_eval_are_collected_with_the_option_alone(suite):
    suite.write("evals/eval_more.py", EVAL)
    suite.write("test_plain.py", "def test_plain(): pass\n")
    assert suite.plain().words == {"test_plain.py::test_plain": "passed"}
    ended = suite.run()
    assert ended.counts == {"passed": 7, "failed": 2}
    assert [node for node, word in ended.words.items() if word == "failed"] == [
        "evals/eval_more.py::numbers[1]",
        "evals/eval_more.py::numbers[3]",
    ]


@pytest.mark.sweep
def test_a_file_that_is_named_is_collected_once(suite):
    suite.write("eval_more.py", EVAL)
    assert suite.run("eval_more.py", "-k", "others").counts == {"passed": 2}


def test_evals_of_one_name_stay_apart(suite):
    for name in ("test_a.py", "test_b.py"):
        suite.write(name, EVAL)
    ended = suite.run("-k", "others or expecting")
    assert (ended.counts, ended.code) == ({"passed": 6}, 0)
    kept = {(r.trial.dataset, r.trial.case.input) for r in ended.run().results}
    assert kept == {
        ("others", "6"),
        ("others", "8"),
        ("others (test_b.py)", "6"),
        ("others (test_b.py)", "8"),
        ("test_a.py", "10"),
        ("test_b.py", "10"),
    }


def test_two_evals_of_one_name_in_a_file_are_refused(suite):
    suite.write("test_evals.py", EVAL + EVAL[EVAL.index('describe_eval("others"') : EVAL.index("def test_exp")])
    ended = suite.run()
    assert (ended.counts, ended.code) == ({"error": 1}, 2)
    assert "test_evals.py:16: 2 evals of this file have the name 'others'; give each its own name." in ended.text
    assert asked(suite) == []


def test_marks_of_the_module_and_fixtures_hold_for_evals(suite):
    suite.write(
        "conftest.py",
        """
        import pytest

        active = []

        @pytest.fixture
        def around(request):
            active.append(request.node.name)
            yield
            active.pop()

        @pytest.fixture(scope="module")
        def once():
            active.append("module")
            yield
            active.pop()
        """,
    )
    task = dedent("""
        import pytest
        from conftest import active
        from evalmark import describe_eval

        describe_eval(
            "fixtures",
            data=[{"id": "a", "input": 1}, {"id": "b", "input": 2}, {"id": "c", "input": 3}],
            task=lambda number: list(active),
            scorers=[lambda output: True],
        )
    """)
    suite.write("test_skipped.py", task + "pytestmark = pytest.mark.skip(reason='not today')\n")
    suite.write("test_function.py", task + "pytestmark = pytest.mark.usefixtures('around')\n")
    suite.write(
        "test_autouse.py",
        f"{task}\n@pytest.fixture(autouse=True)\ndef its_own(request):\n"
        "    active.append(request.node.name)\n    yield\n    active.pop()\n",
    )
    suite.write("test_module.py", task + "pytestmark = pytest.mark.usefixtures('once')\n")
    suite.write("test_xfail.py", task + "pytestmark = pytest.mark.xfail(run=False)\n")
    ended = suite.run()
    assert (ended.counts, ended.code) == ({"passed": 9, "skipped": 3, "xfailed": 3}, 0)
    found = {(r.trial.dataset, r.trial.case.id): r.output.value for r in ended.run().results}
    assert found == {
        ("fixtures", "a"): ["fixtures[a]"],
        ("fixtures", "b"): ["fixtures[b]"],
        ("fixtures", "c"): ["fixtures[c]"],
        ("fixtures (test_function.py)", "a"): ["fixtures[a]"],
        ("fixtures (test_function.py)", "b"): ["fixtures[b]"],
        ("fixtures (test_function.py)", "c"): ["fixtures[c]"],
        ("fixtures (test_module.py)", "a"): ["module"],
        ("fixtures (test_module.py)", "b"): ["module"],
        ("fixtures (test_module.py)", "c"): ["module"],
    }
