"""Evals as files describe them: what becomes a test, what it is called, what is kept of it."""

import pytest

from .conftest import lines

FORMS = '''
import asyncio
from pathlib import Path

import pytest

from evalmark import describe_eval
from evalmark import Case, Output

HERE = Path(__file__).parent
ROWS = [{"input": "France?", "expected": "Paris"}, {"input": "Italy?", "expected": "Rome"}]
ANSWERS = {"France?": "Paris", "Italy?": "Rome"}


def answer(question):
    with open(HERE / "asked.txt", "a") as file:
        file.write(f"{question}\\n")
    return ANSWERS[question]


async def answer_later(question):
    await asyncio.sleep(0)
    return answer(question)


def right(output, expected):
    return output == expected


def rows():
    return ROWS


def generated():
    yield from ROWS


async def fetched():
    await asyncio.sleep(0)
    return ROWS


async def streamed():
    for row in ROWS:
        await asyncio.sleep(0)
        yield row


class Scored:
    """As autoevals has it."""

    score, metadata = 0.75, {"rationale": "three of four"}


def autoeval(output, expected, **kwargs):
    return Scored()


describe_eval("list", data=ROWS, task=answer, scorers=[right])
describe_eval("iterator", data=iter(ROWS), task=answer, scorers=[right])
describe_eval("generator", data=(row for row in ROWS), task=answer, scorers=[right])
describe_eval("function", data=rows, task=answer, scorer=right)
describe_eval("lambda", data=lambda: ROWS, task=answer, scorers=(right,))
describe_eval("generator function", data=generated, task=answer, scorers=right)
describe_eval("async function", data=fetched, task=answer_later, scorers=[right])
describe_eval("async generator", data=streamed, task=answer_later, scorers=[right])
describe_eval("file", data=HERE / "rows.jsonl", task=answer, scorers=[right])
describe_eval("name of a file", data=str(HERE / "rows.jsonl"), task=answer, scorers=[right])
describe_eval("values", data=[Case(id="one", input="France?", expected="Paris")], task=answer, scorers=[right])
describe_eval("texts", data=["France?"], task=answer, scorers=[lambda output: 0.1], threshold=None)
describe_eval("JSON", data=[{"id": "j", "input": {"a": [1]}}], task=lambda given: given, scorers=[lambda output: output == {"a": [1]}])
describe_eval(
    "Output", data=[{"id": "o", "input": "x"}], task=lambda given: Output(value="y"), scorers=[lambda output: output == "y"]
)
describe_eval("repeated", data=ROWS, task=answer, scorers=[right], repeat=3)
describe_eval("left out", data=lambda: 1 / 0, task=answer, scorers=[right], skip_if=True)
describe_eval("autoevals", data=[{"id": "a", "input": "France?"}], task=answer, scorers=[autoeval], threshold=0.7)


def helped(name):
    describe_eval(name, data=ROWS, task=answer, scorers=[right])


helped("helped 1")
helped("helped 2")


def test_plain():
    pass
'''


@pytest.fixture(scope="module")
def forms(suites):
    suite = suites()
    suite.write("rows.jsonl", '{"input": "France?", "expected": "Paris"}\n{"input": "Italy?", "expected": "Rome"}\n')
    suite.write("test_forms.py", FORMS)
    return suite.run()


TWO = ("France?", "Italy?")


@pytest.mark.parametrize(
    ("name", "cases"),
    [
        ("list", TWO),
        ("iterator", TWO),
        ("generator", TWO),
        ("function", TWO),
        ("lambda", TWO),
        ("generator function", TWO),
        ("async function", TWO),
        ("async generator", TWO),
        ("file", TWO),
        ("name of a file", TWO),
        ("values", ("one",)),
        ("texts", ("France?",)),
        ("JSON", ("j",)),
        ("Output", ("o",)),
        ("repeated", tuple(f"{case}-{repeat}" for repeat in (1, 2, 3) for case in TWO)),
        ("autoevals", ("a",)),
        ("helped 1", TWO),
        ("helped 2", TWO),
    ],
)
def test_there_is_a_test_for_each_case_and_repeat(forms, name, cases):
    prefix = f"test_forms.py::{name}["
    found = [(node, word) for node, word in forms.words.items() if node.startswith(prefix)]
    assert found == [(f"{prefix}{case}]", "passed") for case in cases]
    kept = [r for r in forms.run().results if r.trial.dataset == name]
    assert [r.verdict for r in kept] == ["ungated" if name == "texts" else "pass"] * len(cases)


def test_an_eval_that_is_left_out_says_so_and_reads_no_data(forms):
    assert forms.words["test_forms.py::left out"] == "skipped"
    assert "skip_if is true" in forms.why["left out"]


def test_everything_passes_and_is_one_run(forms):
    assert (forms.counts, forms.code) == ({"passed": 36, "skipped": 1}, 0)
    run = forms.run()
    assert (run.status, run.name, run.repeat, len(run.results)) == ("complete", "pytest", 3, 35)
    assert {info.name: info.rows for info in run.datasets}["repeated"] == 2
    assert {info.path for info in run.datasets if info.name.startswith("helped")} == {
        "test_forms.py:84",
        "test_forms.py:85",
    }


def test_the_task_runs_once_for_each_case_and_repeat(forms):
    asked = (forms.folder / "asked.txt").read_text(encoding="utf-8").splitlines()
    assert len(asked) == 35 - 2  # JSON and Output have tasks of their own


def test_a_table_shows_each_eval_without_s(forms):
    assert lines(forms, "repeated") == ["repeated   2 cases x 3"]
    assert lines(forms, "autoeval   0.750")
    assert len(lines(forms, "2 of 2 passed, 100 %")) == 12
