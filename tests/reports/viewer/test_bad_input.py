"""What no page was made for: texts and lists without end, runs that are gone, stores that may only be read."""

import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from evalmark import Score, ToolCall
from evalmark.reports.viewer.urls.paths import run_path
from evalmark.store import open_store

from .conftest import a_run, from_browser, keep, result, sent, shown
from .test_pages import page, words

pytestmark = pytest.mark.slow


RUN = "20261121-101500-3f9a"
PAGE = run_path(RUN)
CASE = f"{PAGE}/results/1"
CALLS = tuple(ToolCall(name=f"tool {n}", arguments={"n": n}, result=n) for n in range(100_000))
MANY = [
    pytest.param(
        {"value": "x" * 10_000_000 + " end"}, "The first 64,000 of 10,000,004 characters", 1, id="10 MB of text"
    ),
    pytest.param({"value": "so it is\n" * 1_200_000}, "The first 63,998 of 10,800,000 characters", 1, id="lines"),
    pytest.param({"tool_calls": CALLS}, "The first 500 of 100,000 steps", 3, id="a hundred thousand tool calls"),
    pytest.param({"transcript": CALLS}, "The first 500 of 100,000 steps", 3, id="a transcript of as many"),
]
"""What an answer has too much of, what its page says of it, and how many seconds of a processor it may take."""


@pytest.mark.parametrize(("fields", "said", "seconds"), MANY)
def test_what_is_too_much_is_cut_in_good_time_and_the_download_has_all_of_it(store, fields, said, seconds):
    keep(store, a_run(), [result(1, **fields)])
    app = shown(store)
    from_browser(app, "/")  # reads the templates
    began = time.process_time()
    text = page(app, CASE)
    assert time.process_time() - began < seconds
    assert said in words(text)
    assert len(text) < 300_000
    for address in ("/", PAGE, f"{PAGE}?text=end", f"{PAGE}?sort=-score:similarity"):
        assert len(page(app, address)) < 50_000
    whole = json.loads(from_browser(app, f"{CASE}/whole.json").body)["output"]
    (name,) = fields
    assert len(whole[name]) == len(fields[name])


def test_scores_without_end_are_cut_and_counted(store):
    scores = tuple(Score(name=f"metric {n}", value=0.5) for n in range(10_000))
    keep(store, a_run(metrics=()), [replace(result(1), scores=scores)])
    text = page(shown(store), CASE)
    assert "The first 200 of 10,000 scores; the download has all of them." in text
    assert len(text) < 500_000


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("text=%ED%A0%80", id="half a surrogate pair"),
        pytest.param("text=%00%1B%5B2J", id="control characters"),
        pytest.param("text=%FF%FE&tag=%80", id="bytes that are no text"),
        pytest.param("text=" + "x" * 5_000, id="a very long text"),
        pytest.param("sort=score:%00&metric=%ED%A0%80", id="an odd metric"),
        pytest.param("low=nan&high=1e999&page=99999999999999999999&size=-1", id="odd numbers"),
        pytest.param("&".join(f"{n}={'9' * 5_000}" for n in ("page", "size", "n", "at")), id="numbers without end"),
        pytest.param("page=%D9%A1&at=%C2%B2", id="digits of other scripts"),
        pytest.param("&".join(f"verdict={n}" for n in range(500)), id="a field many times"),
        pytest.param(
            "q=metric.%00<1e999 OR -seconds>nan %22%ED%A0%80 cost<-0 flipped:x label:%FF".replace(" ", "+"),
            id="an odd query",
        ),
        pytest.param("q=" + "OR+" * 200, id="a query of nothing but OR"),
    ],
)
def test_an_address_may_ask_for_anything(app, query):
    for path in (
        "/",
        PAGE,
        CASE,
        "/sessions",
        "/compare",
        "/label",
        "/label/queue",
        "/trends",
        f"{PAGE}/charts",
        "/go",
    ):
        page(app, f"{path}?{query}")
    for path in (f"/grid?run={RUN}&", f"{PAGE}/rows/1?", f"{PAGE}/export/cases.csv?", f"{PAGE}/export/dataset.jsonl?"):
        assert from_browser(app, path + query).status < 500


@pytest.mark.parametrize("number", ["9" * 19, "9" * 30, "9" * 5_000, "-1", "x", "%C2%B2", "0x1", "%00"])
@pytest.mark.parametrize("path", ["{}", "{}/whole.json"])
def test_a_number_that_no_result_has_leads_nowhere(app, number, path):
    assert from_browser(app, f"{PAGE}/results/{path.format(number)}").status == 404


def test_a_run_that_is_deleted_while_its_page_is_open_takes_no_label_and_says_why(store, own):
    page(own, CASE)
    store.forget(RUN)
    answer = sent(own, {"run": RUN, "number": "1", "liked": "up", "by": "ann", "back": CASE})
    assert answer.status == 409
    assert "There are no runs" in answer.text
    assert store.sessions.all_labels() == []
    assert from_browser(own, f"{CASE}/whole.json").status == 404


def test_a_store_that_is_opened_for_reading_shows_no_form_and_takes_none(store, tmp_path):
    keep(store, a_run(), [result(1)])
    with open_store(tmp_path / "evalmark.db", read_only=True) as kept:
        app = shown(kept)
        for address in (PAGE, CASE):
            assert 'method="post"' not in page(app, address)
        answer = sent(app, {"run": RUN, "number": "1", "liked": "up", "by": "ann"})
    assert answer.status == 409
    assert "reading only" in answer.text
    assert store.sessions.all_labels() == []


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder that other users can reach."""
    folder = Path(tempfile.mkdtemp(prefix="evalmark-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@contextmanager
def viewer(store: Path) -> Iterator[tuple[str, str]]:
    """`evalmark view` as a user to whom modes apply; gives host and token."""
    command = [sys.executable, "-m", "evalmark", "view", "--no-open", "--port", "0", "--store", str(store)]
    if os.geteuid() == 0:
        command = [shutil.which("setpriv") or pytest.skip("needs setpriv"), "--bounding-set=-dac_override", *command]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/") as run:
        found = re.match(r"http://([\d.:]+)/\?token=(\S+)", run.stdout.readline())
        assert found, run.communicate(timeout=30)
        yield found[1], found[2]
        run.terminate()
        run.communicate(timeout=30)


def looked_at(host: str, token: str, path: str) -> tuple[int, str]:
    """The status and the text of a page."""
    connection = http.client.HTTPConnection(host, timeout=30)
    with closing(connection):
        connection.request("GET", path, headers={"Cookie": f"evalmark-{host.rpartition(':')[2]}={token}"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
@pytest.mark.parametrize("folder", [0o755, 0o555], ids=["in a folder that takes files", "in one that takes none"])
def test_a_file_that_may_only_be_read_is_viewed_without_forms(outside, folder):
    with open_store(outside / "evalmark.db") as store:
        keep(store, a_run(), [result(1)])
    (outside / "evalmark.db").chmod(0o444)
    outside.chmod(folder)
    with viewer(outside / "evalmark.db") as (host, token):
        status, text = looked_at(host, token, CASE)
    assert status == 200, text
    assert "case-001" in text
    assert 'method="post"' not in text
    if folder == 0o555:
        assert [file.name for file in outside.iterdir()] == ["evalmark.db"]
