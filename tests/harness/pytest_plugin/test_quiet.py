"""What a run without evals notices of the plugin, and what other reports are told of evals."""

import xml.etree.ElementTree as ElementTree

import pytest

WATCHING = """
import json, sys

HEAVY = ("numpy", "aiohttp", "apsw", "pydantic", "rich", "scipy", "evalmark.runs.execution", "evalmark.store")
if sys.version_info < (3, 14):  # from then on, pytest loads it with pdb
    HEAVY += ("asyncio",)
opened = []


def listen(event, args):
    if event.startswith("socket.") and event != "socket.gethostname":
        opened.append(event)


sys.addaudithook(listen)


def pytest_unconfigure(config):
    with open("watched.json", "w") as file:
        json.dump({"modules": [name for name in HEAVY if name in sys.modules], "sockets": opened}, file)
"""
PLAIN = """
import pytest

@pytest.mark.parametrize("number", range(3))
def test_plain(number):
    assert number < 3
"""


@pytest.mark.parametrize(
    "words",
    [
        pytest.param((), id="off"),
        pytest.param(("--evalmark",), id="on"),
        pytest.param(("-n", "2"), marks=pytest.mark.sweep, id="in two workers"),
    ],
)
def test_a_suite_without_evals_does_not_notice(suite, words):
    suite.write("conftest.py", WATCHING)
    suite.write("test_plain.py", PLAIN)
    before = {path.name for path in suite.folder.iterdir()}
    ended = suite.plain("-p", "no:cacheprovider", "-p", "no:anyio", "-p", "no:hypothesispytest", *words)
    assert (ended.counts, ended.code) == ({"passed": 3}, 0)
    watched = (suite.folder / "watched.json").read_text(encoding="utf-8")
    sockets = '"sockets": []' if "-n" not in words else '"sockets": ['
    assert '"modules": []' in watched
    assert sockets in watched
    assert {path.name for path in suite.folder.iterdir()} - before <= {"watched.json", "__pycache__"}
    said = [
        line for line in ended.text.splitlines() if "eval" in line and not line.startswith(("plugins: ", "rootdir: "))
    ]
    assert said == []


def test_the_plugin_can_be_left_out(suite):
    suite.write("test_plain.py", PLAIN)
    ended = suite.plain("-p", "no:evalmark", "-W", "error")
    assert (ended.counts, ended.code) == ({"passed": 3}, 0)
    assert "evalmark" not in ended.text.replace(str(suite.folder), "")


EVALS = """
import pytest

from evalmark import describe_eval, expect

def half(output):
    return 0.5

def unknown(output):
    return None

def equal(output):
    return None

describe_eval("evals", data=[{"id": "a", "input": "1"}], task=lambda text: text, scorers=[half, equal], threshold=0.4)
describe_eval("unknown", data=[{"id": "b", "input": "1"}], task=lambda text: text, scorers=[unknown])

def test_expecting():
    expect("1").to_eval("1", lambda text: text, half, threshold=0.4)
    expect("2").to_eval("2", lambda text: text, "equals")

@pytest.mark.evalmark
def test_marked(evalmark_case):
    evalmark_case.score("liked", 0.123456789, reason="somewhat")
"""


@pytest.mark.parametrize(
    "words",
    [pytest.param((), id="in one process"), pytest.param(("-n", "2"), marks=pytest.mark.sweep, id="in two workers")],
)
def test_junit_xml_has_the_scores(suite, words):
    suite.write("test_evals.py", EVALS)
    ended = suite.run("--junitxml=out.xml", "-o", "junit_family=xunit1", *words)
    written = ElementTree.parse(suite.folder / "out.xml").getroot()  # noqa: S314  pytest wrote it
    cases = {
        case.get("name"): {p.get("name"): p.get("value") for p in case.iter("property")}
        for case in written.iter("testcase")
    }
    assert cases == {
        "evals[a]": {"score.half": "0.5", "score.equal": "unscored"},
        "unknown[b]": {"score.unknown": "unscored"},
        "test_expecting": {"score.half": "0.5", "score.equals": "1.0"},
        "test_marked": {"score.liked": "0.123457"},
    }
    assert ended.counts == {"unscored": 2, "passed": 1, "failed": 1}


@pytest.mark.slow
def test_words_and_table_are_told_in_plain_letters_where_the_output_knows_no_others(suite):
    suite.write("test_evals.py", EVALS)
    ended = suite.run("-v", PYTHONIOENCODING="ascii")
    assert "test_evals.py::unknown[b] UNSCORED" in ended.text
    assert "1 failed, 1 passed, 2 unscored in" in ended.text
    assert "evals   1 case" in ended.text
    assert ended.text.isascii()


@pytest.mark.slow
def test_names_that_the_output_does_not_know_are_escaped_and_lines_stay_lines(suite):
    suite.write("test_evals.py", EVALS.replace('describe_eval("evals"', 'describe_eval("日"'))
    ended = suite.run(PYTHONIOENCODING="ascii")
    assert "\\u65e5   1 case" in ended.text
    assert "\\n" not in ended.text
