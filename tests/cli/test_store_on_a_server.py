"""The commands, the viewer and pytest on a store on a server; the password in its address is never seen again."""

import json
import re
import shutil
import subprocess
import sys
import time

import pytest

from evalmark.reports.viewer.app import viewer_app
from evalmark.store import open_store
from tests.postgres import cluster
from tests.reports.viewer.conftest import POLICY, from_browser
from tests.storage.store.places import until

from .test_interrupt import CASES, asked, suite  # noqa: F401  a fixture

pytestmark = pytest.mark.slow

PASSWORD = "".join(["cAn", "ArY7"])  # the canary stands nowhere as it is


@pytest.fixture
def address(on_a_server):
    return on_a_server.replace("evalmark@", f"evalmark:{PASSWORD}@")


@pytest.fixture
def checks(world):
    (world / "app.py").write_text(
        "def answer(text):\n    return text.upper() if text != 'b' else 'no'\n", encoding="utf-8"
    )
    rows = [{"id": name, "input": name, "expected": name.upper()} for name in "abcde"]
    (world / "cases.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    found = {"datasets": ["cases.jsonl"], "target": "app:answer", "metrics": ["equals", "edit_similarity"]}
    (world / "suite.json").write_text(json.dumps(found), encoding="utf-8")
    return "suite.json"


def test_every_command_works_on_a_server_and_says_no_password(evalmark, checks, world, address, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    at = ("--store", address)
    said = [evalmark("doctor", *at), evalmark("plan", checks, *at)]
    assert "does not exist yet; the first run creates it" in " ".join(said[0].text.split())
    steps = [
        (1, "run", checks),
        (1, "run", checks, "-o", "out.json", "-o", "out.html", "-o", "out.md"),
        (1, "run", checks, "--resume"),
        (0, "list"),
        (0, "show", "last"),
        (0, "show", "last", "--case", "b"),
        (0, "report", "last", "-o", "page.html", "-o", "sheet.csv", "-o", "unit.junit.xml"),
        (0, "report", f"{address}@last", "-o", "again.jsonl"),
        (0, "compare", "last", "last~1"),
        (0, "compare", f"{address}@last", f"{address}@last~1"),
        (1, "rescore", "last", "--metric", "contains"),
        (0, "cache", "list"),
        (0, "list", "sessions"),
        (0, "export", "last", "--to", "openai-evals", "-o", "moved"),
        (1, "import", "openai-evals", "moved", "-o", "back"),
        (0, "doctor"),
        (2, "show", "nothing"),
        (2, "run", "nothing.json"),
        (2, "cache", "export", "none.jsonl"),
    ]
    for code, *words in steps:
        said.append(evalmark(*words, *at))
        assert said[-1].code in {code, 0} if words[0] == "import" else said[-1].code == code, (words, said[-1].text)
    assert "PostgreSQL" in said[-4].text
    place = evalmark("show", "last", *at).out
    assert "postgresql://127.0.0.1" in place
    monkeypatch.setenv("EVALMARK_STORE", address)
    run = re.search(r"20\d{6}-\d{6}-\w{4}", evalmark("list").out)[0]
    said += [evalmark("note", f"{run}:b", "--label", "down", "--by", "ann"), evalmark("calibrate", "--help")]
    assert not [text for text in (place, *(one.text for one in said)) if PASSWORD in text]
    assert not seen_in(world)


def seen_in(world) -> list[str]:
    """Files that the password stands in, or in whose names."""
    files = [file for file in world.rglob("*") if file.is_file()]
    return [str(file) for file in files if PASSWORD in str(file) or PASSWORD.encode() in file.read_bytes()]


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("postgresql://ann:{}#x@db/evals", id="a # that is not written as %23"),
        pytest.param("postgresql://ann:{}/x@db/evals", id="a slash"),
        pytest.param("postgresql://ann:12?{}@db/evals", id="a question mark"),
        pytest.param("postgresql://ann:{}@x@db/evals", id="two @"),
        pytest.param("postgresql://ann:{}", id="no host"),
        pytest.param("mysql://ann:{}@db/evals", id="another database"),
        pytest.param("postgresql+psycopg://ann:{}@db/evals", id="another library's form"),
        pytest.param("postgresql://ann:{}%ZZ@127.0.0.1:1/evals", id="a % that is none of an address"),
        pytest.param("postgresql://ann:{}@127.0.0.1:1/evals?pasword={}", id="an option that is misspelled"),
        pytest.param("postgresql://ann:{}@127.0.0.1:1/evals?schema=drop table", id="a schema that is no name"),
        pytest.param("postgresql://ann:{}@127.0.0.1:1/evals", id="nobody there"),
    ],
)
def test_an_address_that_does_not_work_ends_with_one_sentence_without_its_password(evalmark, checks, world, address):
    for words in (("run", checks), ("list",), ("doctor",), ("report", "last")):
        told = evalmark(*words, "--store", address.replace("{}", PASSWORD))
        assert told.code in {2, 1 if words == ("doctor",) else 2}, told.text
        assert PASSWORD not in told.text
        assert "Traceback" not in told.text
    assert not seen_in(world)
    assert not [file for file in world.iterdir() if "ann" in file.name or ":" in file.name]


def test_the_setting_of_a_project_names_a_server(evalmark, checks, world, address):
    (world / "pyproject.toml").write_text(f'[tool.evalmark]\nstore = "{address}"\n', encoding="utf-8")
    (world / "below").mkdir()
    assert evalmark("run", checks).code == 1
    with open_store(address, read_only=True) as store:
        assert len(store.run("last").results) == 5


def test_pages_of_the_viewer_are_made_of_a_store_on_a_server(evalmark, checks, address):
    assert [evalmark("run", checks, "--store", address).code for _ in range(2)] == [1, 1]
    with open_store(address) as store:
        app = viewer_app(store, POLICY, patience=60)
        run = store.run("last").id
        (failed,) = [r.trial.case.id for r in store.run(run).results if r.verdict == "fail"]
        for page in ("/", f"/runs/{run}", f"/runs/{run}?verdict=fail", f"/runs/{run}?q=no&sort=score:equals"):
            answer = from_browser(app, page)
            assert answer.status == 200, page
            assert PASSWORD not in answer.text
        page = from_browser(app, f"/runs/{run}?verdict=fail").text
        assert failed in page
        (case,) = set(re.findall(rf'href="(/runs/{run}/results/[0-9]+)\?', page))
        assert "In other runs" in from_browser(app, case).text


EVALS = """
from evalmark import describe_eval

describe_eval("shouting", data=lambda: [{"input": "a", "expected": "A"}], task=str.upper, scorers=["equals"])
"""


def test_pytest_keeps_its_run_on_a_server(world, address):
    (world / "test_evals.py").write_text(EVALS, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--evalmark",
        "--evalmark-store",
        address,
    ]
    done = subprocess.run(command, cwd=world, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    with open_store(address, read_only=True) as store:
        assert [(run.name, len(run.results)) for run in store.runs()] == [("pytest", 1)]


def test_a_server_that_is_stopped_ends_the_run_with_one_sentence_and_it_goes_on_once_it_is_back(
    process,
    suite,  # noqa: F811  the fixture
    world,
):
    with cluster() as server:
        at = ("--store", f"{server.address}?schema=stopped")
        running = process("run", suite, "-j", "2", *at)
        seen = 0
        give_up = time.monotonic() + 60
        while seen < 4:
            assert running.poll() is None, running.communicate()
            assert time.monotonic() < give_up
            seen = results_at(at[1])
        server.stop()
        _, err = running.communicate(timeout=60)
        assert running.returncode == 2, err
        told = [line for line in err.splitlines() if "server cannot be reached" in line]
        assert len(told) == 1, err
        assert "Traceback" not in err
        server.start()
        before = results_at(at[1])
        assert seen <= before < CASES
        so_far = len(asked(world))
        again = process("run", suite, "--resume", *at)
        out, err = again.communicate(timeout=60)
        assert again.returncode == 0, out + err
        assert f"{before} results are stored" in err
        assert results_at(at[1]) == CASES
        assert len(asked(world)) == so_far + CASES - before, (
            "what was not acknowledged is asked again, and nothing else"
        )


def test_a_run_that_broke_off_on_another_machine_says_that_nobody_knows_what_was_under_way(
    process,
    suite,  # noqa: F811  the fixture
    address,
    evalmark,
):
    running = process("run", suite, "-j", "1", "--store", address)
    until(lambda: results_at(address))
    running.kill()
    running.communicate()
    until(lambda: "interrupted" in evalmark("list", "--store", address).out)
    shutil.rmtree(".evalmark")  # another machine has another folder
    again = evalmark("run", suite, "--resume", "-j", "20", "--store", address)
    assert again.code == 0, again.text
    assert "an unknown number of in-flight model calls" in " ".join(again.text.split())


def results_at(address: str) -> int:
    from evalmark.storage.store.location import store_exists

    if not store_exists(address):
        return 0
    with open_store(address, read_only=True) as store:
        runs = store.runs(1)
        return len(runs[0].results) if runs else 0
