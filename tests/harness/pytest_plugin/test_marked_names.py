"""Marked tests with data are named as those of describe_eval; what cannot be used is told with its place."""

import pytest

DATA = """
import pytest

ROWS = [{"input": "Where is Oslo?"}, {"id": "south", "input": "Where is Rome?"}, {"input": "Where is Oslo?", "expected": "?"}]

@pytest.mark.evalmark(data=ROWS, repeat=REPEAT)
def test_where(evalmark_case):
    evalmark_case.log("in Europe")
    evalmark_case.score("right", True)
"""


@pytest.mark.parametrize(
    ("repeat", "names"),
    [
        pytest.param(1, ["Where is Oslo?", "south", "Where is Oslo?-2"], marks=pytest.mark.slow),
        (2, [f"{name}-{n}" for n in (1, 2) for name in ("Where is Oslo?", "south", "Where is Oslo?-2")]),
    ],
    ids=["once", "twice"],
)
def test_a_case_without_an_id_goes_by_its_input(suite, repeat, names):
    suite.write("test_where.py", DATA.replace("REPEAT", str(repeat)))
    ended = suite.run()
    assert list(ended.words) == [f"test_where.py::test_where[{name}]" for name in names]
    assert set(ended.counts) == {"passed"}


@pytest.mark.parametrize(
    ("task", "scorer", "said"),
    [
        ("str", "'equals'", "target 'builtins:str' is a class"),
        ("len", "'equalz'", "scorers: there is no scorer 'equalz'"),
    ],
    ids=["a task that is none", "a scorer that is not there"],
)
def test_what_cannot_be_used_is_told_with_its_place(suite, task, scorer, said):
    text = f"from evalmark import describe_eval\n\ndescribe_eval('bad', data=['a'], task={task}, scorers=[{scorer}])\n"
    suite.write("test_bad.py", text)
    ended = suite.run()
    assert ended.code == 2
    assert f"test_bad.py:3: {said}" in ended.text
