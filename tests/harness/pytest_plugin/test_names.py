"""The names of tests: made of any text, none twice, and each selects its test."""

import json
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalmark import Case
from evalmark.harness.pytest_plugin.marker import case_name, marked_rows
from evalmark.harness.pytest_plugin.skips import node_name
from evalmark.inputs.datasets.options import BadRow

texts = (
    st.text(max_size=80) | st.text("a-:[]2 \\n", max_size=8) | st.sampled_from(["data", "case", "a", "a-2", "a-2-2"])
)
rows = st.lists(
    st.builds(lambda text: Case(id=text or "x"), texts)
    | st.builds(lambda number: BadRow(place=f"f.py:1: item {number}", message=""), st.integers(1, 3))
    | st.just(BadRow(place="f.py:1", message="", last=True)),
    max_size=12,
)


def is_safe(name):
    return "::" not in name and not set("[]\n") & set(name) and name.isascii() and name.isprintable()


@given(texts)
def test_a_name_has_nothing_that_cuts_an_id_apart(text):
    assert is_safe(node_name(text))


@given(rows)
@example([Case(id=name) for name in ("a", "a", "a-2", "a-3", "a")])
def test_no_two_cases_are_called_the_same(several):
    names = Counter()
    called = [case_name(row, names) for row in several]
    assert len(set(called)) == len(called)
    assert all(name and is_safe(name) for name in called)


@given(rows, st.integers(1, 3))
def test_no_two_turns_of_a_marked_test_are_called_the_same(several, repeats):
    called = [turn.name for turn in marked_rows(several, repeats)]
    assert len(set(called)) == len(called)
    assert all(is_safe(name) for name in called)


NASTY = [
    "a",
    "a-2",
    "a::b",
    "a:b",
    "[x]",
    "(x)",
    "x]",
    "[",
    "::",
    " spaces  and\ttabs\nand lines ",
    "é ü 漢字 \U0001f600",
    "\x1b[31mred\x1b[0m",
    "\x00null",
    "\ud800 lone",
    "back\\slash",
    "quo'te\"s",
    "../../etc/passwd",
    "%s {0} $HOME",
    "-k or not",
    "x" * 300,
    "x" * 299 + "y",
    "test_plain",
    "@file",
    "=1",
    "#",
    "",
    " ",
]
SELECTING = """
import contextlib, io, json, sys

import pytest


class Collected:
    def pytest_collection_finish(self, session):
        self.ids = [item.nodeid for item in session.items]


def collected(*words):
    told = Collected()
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main(["--evalmark", "--collect-only", "-q", "-p", "no:cacheprovider", *words], plugins=[told])
    return told.ids


ids = collected("test_named.py")
print(json.dumps({"ids": ids, "alone": [collected(one) for one in ids]}))
"""


@pytest.mark.sweep
def test_every_id_selects_its_test_and_no_other(suite):
    suite.write("names.json", json.dumps(NASTY))
    suite.write(
        "test_named.py",
        """
        import json
        from pathlib import Path

        import pytest
        from evalmark import describe_eval
        from evalmark import Case

        NASTY = json.loads((Path(__file__).parent / "names.json").read_text(encoding="utf-8"))
        ROWS = [{"input": name} for name in NASTY if name.strip()]

        def seen(output):
            return True

        describe_eval("inputs", data=ROWS, task=lambda text: text, scorers=[seen])
        describe_eval("ids", data=[Case(id=name or "x", input=1) for name in NASTY], task=lambda text: text, scorers=[seen])
        for name in ("a::b", "[x]", "é", "-k", "#"):
            describe_eval(name, data=["x"], task=lambda text: text, scorers=[seen], repeat=2)

        @pytest.mark.evalmark(data=ROWS, repeat=2)
        def test_marked(evalmark_case):
            pass
        """,
    )
    suite.write("selecting.py", SELECTING)
    process = suite.start_python("selecting.py")
    text, _ = process.communicate(timeout=240)
    found = json.loads(text.splitlines()[-1])
    assert len(set(found["ids"])) == len(found["ids"]) == 25 + 27 + 10 + 50
    assert [name for name, alone in zip(found["ids"], found["alone"], strict=True) if alone != [name]] == []


def test_evals_whose_tests_would_be_called_the_same_are_refused(suite):
    alike = [("a::b", "a:b"), ("[x]", "(x)"), ("x" * 300, "x" * 301), ("same", "same")]
    for number, names in enumerate(alike):
        text = "from evalmark import describe_eval\n"
        for name in names:
            text += f'describe_eval({name!r}, data=["x"], task=lambda text: text, scorers=[lambda output: True])\n'
        suite.write(f"test_evals_{number}.py", text)
    ended = suite.run()
    assert (ended.counts, ended.code) == ({"error": len(alike)}, 2)
    assert ended.text.count("give each its own name") == len(alike)
