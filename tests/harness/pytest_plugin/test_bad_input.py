"""What breaks ends in one clear line, and the other cases finish."""

import pytest

BROKEN = """
import asyncio
import sys
import time

from evalmark import describe_eval, expect

ROWS = [{"id": name, "input": {"do": name}} for name in ("good", "bad", "last")]


def fine(output):
    return output == "fine"


def broken(name, doing, **options):
    def chosen(given):
        return doing(given) if given["do"] == "bad" else "fine"

    described = {"scorers": [fine], "data": ROWS, "task": chosen, **options}
    describe_eval(name, **described)


def changing(given):
    given["do"] = "gone"
    given["more"] = 1
    return "fine"


async def hanging():
    await asyncio.sleep(60)


async def slow(given):
    if given["do"] == "bad":
        await asyncio.sleep(60)
    return "fine"


async def leaving(given):
    if given["do"] == "bad":
        sys.exit(3)
    return "fine"


async def interrupting(given):
    if given["do"] == "bad":
        raise KeyboardInterrupt
    return "fine"


def unchanged(input):
    return set(input) == {"do"} and input["do"] in ("good", "bad", "last")


broken("task raises", lambda given: 1 / 0)
broken("task hangs", lambda given: time.sleep(60), timeout=0.2)
broken("async task hangs", None, task=slow, timeout=0.2)
broken("task gives None", lambda given: None)
broken("task changes its input", changing, scorers=[fine, unchanged])
broken("task exits", lambda given: sys.exit(2))
broken("async task exits", None, task=leaving)
broken("async task raises what Ctrl-C does", None, task=interrupting)
broken("the same without a time limit", None, task=interrupting, timeout=None)
broken("task gives what is no JSON", lambda given: object())


def scorers(name, scorer, **options):
    def scoring(output, input):
        return scorer() if input["do"] == "bad" else True

    describe_eval(name, data=ROWS, task=lambda given: "fine", scorers=[scoring], **options)


def raising():
    raise KeyError("no such thing")


def leave():
    raise SystemExit("enough")


scorers("scorer raises", raising)
scorers("scorer gives NaN", lambda: float("nan"))
scorers("scorer gives 97", lambda: 97)
scorers("scorer gives a text", lambda: "very good")
scorers("scorer gives nothing", lambda: None)
scorers("scorer exits", leave)
scorers("scorer hangs", lambda: time.sleep(60), timeout=0.2)


def halfway():
    yield ROWS[0]
    yield ROWS[2]
    raise OSError("the line went dead")


async def halfway_async():
    yield ROWS[0]
    raise OSError("the line went dead")


def data(name, rows):
    describe_eval(name, data=rows, task=lambda given: "fine", scorers=[fine])


data("no data", [])
data("no data from a function", lambda: iter(()))
data("ids twice", [{"id": "a", "input": 1}, {"id": "b", "input": 2}, {"id": "a", "input": 3}])
data("inputs twice", ["same", "same", "other"])
data("breaks off", halfway)
data("breaks off async", halfway_async)
data("a number", 7)
data("gives a number", lambda: 7)
data("gives nothing", lambda: None)
data("raises", lambda: 1 / 0)
data("exits", lambda: sys.exit(1))
data("no file", "nowhere.jsonl")
data("a row is no case", [{"id": "a", "input": 1}, 7, {"id": "c", "input": 3}])
data("a row without input", [{"id": "a", "input": 1}, {"colour": "red"}])


def nested(given):
    expect("x").to_eval("fine", lambda text: "fine", fine)
    return "fine"


async def nested_async(given):
    expect("x").to_eval("fine", lambda text: "fine", fine)
    await expect("x").to_eval_async("fine", lambda text: "fine", fine)
    return "fine"


def nested_failing(given):
    expect("x").to_eval("fine", lambda text: "wrong", fine)
    return "fine"


broken("expects inside", nested)
broken("expects inside async", None, task=nested_async)
broken("expects inside in vain", nested_failing)


async def in_a_loop(given):
    run = describe_eval("inner", data=["x"], task=lambda text: "fine", scorers=[fine]).run(store=None)
    return "fine" if run.results[0].verdict == "pass" else "bad"


describe_eval("runs one inside", data=ROWS, task=in_a_loop, scorers=[fine])


def test_other():
    pass
"""


@pytest.fixture(scope="module")
def ended(suites):
    suite = suites()
    suite.write("test_broken.py", BROKEN)
    return suite.run()


@pytest.mark.parametrize(
    ("name", "word", "said"),
    [
        (
            "task raises",
            "eval errors",
            'Error: ZeroDivisionError: division by zero (test_broken.py:55)\n  input:    {"do": "bad"}\n',
        ),
        ("task hangs", "eval errors", "Error: no answer within 0.2 s\n"),
        ("async task hangs", "eval errors", "Error: no answer within 0.2 s\n"),
        ("task gives None", "eval errors", "Error: the task returned None; return a text"),
        ("task changes its input", "passed", ""),
        ("task exits", "eval errors", "Error: SystemExit: 2 (test_broken.py:"),
        ("async task exits", "eval errors", "Error: SystemExit: 3 (test_broken.py:41)\n"),
        ("async task raises what Ctrl-C does", "eval errors", "Error: KeyboardInterrupt (test_broken.py:47)\n"),
        ("the same without a time limit", "eval errors", "Error: KeyboardInterrupt (test_broken.py:47)\n"),
        ("task gives what is no JSON", "failed", "Failed: fine\n"),
        ("scorer raises", "eval errors", "Error: the scorer scoring failed with an error.\n"),
        ("scorer gives NaN", "unscored", "Unscored: scoring returned no score, so the trial does not pass.\n"),
        ("scorer gives 97", "unscored", "Unscored: scoring returned no score"),
        ("scorer gives a text", "unscored", "Unscored: scoring returned no score"),
        ("scorer gives nothing", "unscored", "Unscored: scoring returned no score"),
        ("scorer exits", "eval errors", "SystemExit: enough"),
        ("scorer hangs", "eval errors", "no score within 0.2 s"),
        ("expects inside", "passed", ""),
        ("expects inside async", "passed", ""),
        ("expects inside in vain", "eval errors", "Error: EvalFailedError: Failed: fine"),
        ("runs one inside", "passed", ""),
    ],
)
def test_one_case_ends_in_its_own_word_and_the_others_pass(ended, name, word, said):
    words = {case: ended.words[f"test_broken.py::{name}[{case}]"] for case in ("good", "bad", "last")}
    assert words == {"good": "passed", "bad": word, "last": "passed"}
    assert said in ended.why[f"{name}[bad]"]
    verdict = {"passed": "pass", "failed": "fail", "unscored": "unscored", "eval errors": "error"}[word]
    kept = ended.results(name)
    assert {case: kept[case].verdict for case in kept} == {"good": "pass", "bad": verdict, "last": "pass"}
    assert [kept[case].trial.case.input for case in kept] == [{"do": case} for case in kept]


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("no data", {"data": "eval errors"}, "its data is empty; an eval needs at least one case."),
        ("no data from a function", {"data": "eval errors"}, "its data is empty"),
        ("ids twice", {"a": "passed", "b": "passed", "item 3": "eval errors"}, "'a'"),
        ("inputs twice", {"same": "passed", "same-2": "passed", "other": "passed"}, ""),
        (
            "breaks off",
            {"good": "passed", "last": "passed", "data": "eval errors"},
            "its data ended with an error after 2 cases: OSError: the line went dead",
        ),
        ("breaks off async", {"good": "passed", "data": "eval errors"}, "OSError: the line went dead"),
        ("a number", {"data": "eval errors"}, "its data is 7, which is no"),
        ("gives a number", {"data": "eval errors"}, "its data is 7, which is no"),
        ("gives nothing", {"data": "eval errors"}, "its data is None, which is no"),
        ("raises", {"data": "eval errors"}, "ZeroDivisionError: division by zero"),
        ("exits", {"data": "eval errors"}, "SystemExit: 1"),
        ("no file", {"data": "eval errors"}, "nowhere.jsonl"),
        ("a row is no case", {"a": "passed", "item 2": "eval errors", "c": "passed"}, "not int."),
        ("a row without input", {"a": "passed", "item 2": "eval errors"}, "input"),
    ],
)
def test_data_that_breaks_is_an_error_in_its_place(ended, name, words, said):
    prefix = f"test_broken.py::{name}["
    found = {node.removeprefix(prefix)[:-1]: word for node, word in ended.words.items() if node.startswith(prefix)}
    assert found == words
    [bad] = [case for case, word in words.items() if word != "passed"] or [None]
    if bad is not None:
        why = ended.why[f"{name}[{bad}]"]
        assert why.startswith("Error: test_broken.py:")
        assert said in why.splitlines()[0]
    kept = [r for r in ended.run().results if r.trial.dataset == name]
    assert sorted(r.verdict for r in kept) == sorted("pass" if word == "passed" else "error" for word in words.values())


def test_a_broken_suite_fails_and_says_what_was_not_judged(ended):
    assert ended.code == 1
    assert ended.words["test_broken.py::test_other"] == "passed"
    assert ended.run().status == "complete"
    assert "not judged: test_broken.py::scorer gives NaN[bad]" in ended.text
    assert "Traceback" not in ended.text
