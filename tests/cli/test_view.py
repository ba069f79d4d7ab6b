"""`evalmark view`: what it prints, and what it says where it cannot begin."""

import asyncio
import gc
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from urllib.parse import urlencode, urlsplit

import apsw
import pytest

from evalmark import Case, Output, Result, Run
from evalmark.cli.commands import view
from evalmark.core.values.score import Trial
from evalmark.errors import ConfigError
from evalmark.store import open_store

pytestmark = pytest.mark.slow


def viewed(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evalmark", "view", "--no-open", *words]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60, env={**os.environ, **variables}
    )


@pytest.fixture
def kept(world):
    """A store with one run, where the command looks for it."""
    (world / ".evalmark").mkdir()
    run = Run(id="20261121-101500-3f9a", name="n", created="2026-11-21T10:15:00+00:00", status="running")
    with open_store(world / ".evalmark" / "evalmark.db") as store:
        store.start(run)
        asyncio.run(store.sink(run.id).write([Result(trial=Trial(case=Case(id="a")), output=Output(value="b"))]))
        store.finish(run)
    return world


@pytest.mark.parametrize(
    ("named", "query"),
    [
        pytest.param("last", r"\?", id="a run"),
        pytest.param(
            "http://10.0.0.7:7979/runs/20261121-101500-3f9a?q=verdict%3Afail&token=of-somebody-else",
            r"\?q=verdict%3Afail&",
            id="the address of a page of a colleague, without his token",
        ),
        pytest.param(
            "/runs/20261121-101500-3f9a?verdict=fail#step 3",
            r"\?verdict=fail&",
            id="a place on a page, which comes behind the token",
        ),
    ],
)
def test_it_prints_the_address_of_the_run_with_a_token_and_ends_when_it_is_interrupted(kept, named, query):
    command = [sys.executable, "-m", "evalmark", "view", named, "--no-open", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        first, second = process.stdout.readline(), process.stdout.readline()
        assert re.fullmatch(
            rf"http://127\.0\.0\.1:\d+/runs/20261121-101500-3f9a{query}token=[\w-]{{32}}(#step%203)?\n", first
        )
        assert first.endswith("#step%203\n") is ("#" in named)
        process.send_signal(signal.SIGINT)
        _, complained = process.communicate(timeout=30)
    assert "Stop the viewer with Ctrl+C" in second
    assert complained == ""
    assert process.returncode == 0


def test_it_ends_at_once_although_pages_of_a_running_run_wait_for_a_change(kept):
    run = Run(id="20261121-111500-aaaa", name="n", created="2026-11-21T11:15:00+00:00", status="running")
    command = [sys.executable, "-m", "evalmark", "view", "--no-open", "--port", "0"]
    with open_store(kept / ".evalmark" / "evalmark.db") as store:
        store.start(run)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            port, token = re.search(r":(\d+)/\?token=(\S+)", process.stdout.readline()).groups()
            headers = {"Cookie": f"evalmark-{port}={token}"}
            page = http.client.HTTPConnection("127.0.0.1", int(port), timeout=30)
            page.request("GET", "/", headers=headers)
            known = re.search(rb'data-mark="([^"]+)"', page.getresponse().read())[1].decode()
            page.request("GET", "/", headers={**headers, "If-None-Match": f'"{known}"', "Prefer": "wait=20"})
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            answer = page.getresponse()
            page.close()
            _, complained = process.communicate(timeout=15)
    assert (answer.status, complained, process.returncode) == (304, "", 0)


def test_without_a_store_it_teaches_what_to_type_makes_no_file_and_shows_the_first_run_once_it_is_stored(world):
    command = [sys.executable, "-m", "evalmark", "view", "--no-open", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        port, token = re.search(r":(\d+)/\?token=(\S+)", process.stdout.readline()).groups()

        def send(method: str, path: str, body: str = "") -> tuple[int, str]:
            headers = {"Cookie": f"evalmark-{port}={token}", "Origin": f"http://127.0.0.1:{port}"}
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            with closing(http.client.HTTPConnection("127.0.0.1", int(port), timeout=30)) as connection:
                connection.request(method, path, body, headers)
                answer = connection.getresponse()
                return answer.status, answer.read().decode()

        empty = {
            path: send("GET", path) for path in ("/", "/trends", "/sessions", "/label", "/grid", "/compare", "/go")
        }
        files = [file.name for file in world.rglob("*.db*")]
        run = Run(id="20261121-101500-3f9a", name="n", created="2026-11-21T10:15:00+00:00", status="running")
        with open_store(world / ".evalmark" / "evalmark.db") as store:
            store.start(run)
            asyncio.run(store.sink(run.id).write([Result(trial=Trial(case=Case(id="a")), output=Output(value="b"))]))
            store.finish(run)
        _, listed = send("GET", "/")
        _, case = send("GET", f"/runs/{run.id}/results/1")
        key = re.search(r'name="key" value="([^"]*)"', case)[1]
        label = {"key": key, "run": run.id, "number": "1", "liked": "up", "by": "ann"}
        status, _ = send("POST", "/labels", urlencode(label))
        process.send_signal(signal.SIGINT)
        _, complained = process.communicate(timeout=30)
    assert {path: status for path, (status, _) in empty.items()} == dict.fromkeys(empty, 200)
    assert "evalmark init" in empty["/"][1]
    assert files == []
    assert f'href="/runs/{run.id}"' in listed
    assert status == 303
    with open_store(world / ".evalmark" / "evalmark.db") as store:
        assert store.labels_of_run(run.id) == 1
    assert "there is no store yet; the first run makes one" in complained
    assert process.returncode == 0


NO_REQUESTS = {
    "bytes of another protocol": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64) + b"\r\n\r\n",
    "a line that is none": b"GET\r\n\r\n",
    "a length that is none": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
    "a header without a name": b"GET / HTTP/1.1\r\n: a\r\n\r\n",
    "another protocol to go on with": b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
}


def test_what_is_no_request_is_turned_away_and_leaves_the_terminal_alone(kept):
    command = [sys.executable, "-m", "evalmark", "view", "--no-open", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        port = int(re.search(r":(\d+)/", process.stdout.readline())[1])
        statuses = {}
        for kind, sent in NO_REQUESTS.items():
            with socket.create_connection(("127.0.0.1", port), timeout=30) as raw:
                raw.sendall(sent)
                statuses[kind] = raw.recv(1_000).split()[1]
        process.send_signal(signal.SIGINT)
        _, complained = process.communicate(timeout=30)
    assert statuses == dict.fromkeys(NO_REQUESTS, b"400")
    assert complained == ""


@pytest.mark.skipif(sys.platform == "win32", reason="a script stands for the browser")
def test_a_browser_is_started_with_a_ticket_and_never_with_the_token(kept):
    browser, seen = kept / "browser", kept / "seen"
    browser.write_text(f'#!/bin/sh\necho "$@" > {seen}.part && mv {seen}.part {seen}\n', encoding="utf-8")
    browser.chmod(0o755)
    command = [sys.executable, "-m", "evalmark", "view", "--port", "0"]
    environment = {**os.environ, "BROWSER": f"{browser} %s"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        origin, token = re.fullmatch(r"(http://[^/]+)/\?token=([\w-]{32})\n", process.stdout.readline()).groups()
        end = time.monotonic() + 30
        while not seen.exists():
            assert time.monotonic() < end
            time.sleep(0.02)
        opened = seen.read_text(encoding="utf-8").strip()
        answers = [status(opened), status(opened)]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert re.fullmatch(rf"{origin}/\?ticket=[\w-]{{32}}", opened)
    assert token not in opened
    assert answers == [303, 403]


def status(address: str) -> int:
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.netloc, timeout=10)
    connection.request("GET", f"{parts.path}?{parts.query}")
    found = connection.getresponse().status
    connection.close()
    return found


@pytest.mark.parametrize(
    ("words", "variables", "said"),
    [
        pytest.param(["none"], {}, "there is no run 'none'", id="a run that is not there"),
        pytest.param(["/runs/none?q=x"], {}, "there is no run 'none'", id="an address of a run that is not there"),
        pytest.param(["/compare", "--sample", "1"], {}, "name the run instead", id="a sample of an address"),
        pytest.param([], {"EVALMARK_EDITOR": "code"}, "vscode://file/{path}:{line}", id="an editor that is no address"),
        pytest.param(["--store", "other.db"], {}, "other.db: there is no store yet", id="no store"),
        pytest.param(
            ["last"], {"EVALMARK_STORE": "other.db"}, "other.db: there is no store yet", id="no store to find a run in"
        ),
        pytest.param(["--host", "192.0.2.7"], {}, "set EVALMARK_TOKEN", id="another address without a token"),
        pytest.param([], {"EVALMARK_TOKEN": "secret"}, "at least 16", id="a token that is too short"),
        pytest.param(["--port", "70000"], {}, "65,535", id="a port that is none"),
    ],
)
def test_what_cannot_be_shown_is_said_in_a_sentence(kept, words, variables, said):
    done = viewed(*words, **variables)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr.replace("EVALMARK_TOKEN", "")


def test_a_port_that_is_taken_is_named_with_a_way_out(kept):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = viewed("--port", str(taken.getsockname()[1]))
    assert done.returncode == 2
    assert "in use" in done.stderr
    assert "--port 0" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        pytest.param({}, "linux", False, id="no screen"),
        pytest.param({"DISPLAY": ":0"}, "linux", True, id="a screen"),
        pytest.param({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True, id="a screen of Wayland"),
        pytest.param({"BROWSER": "code-helper", "SSH_CONNECTION": "a 1 b 22"}, "linux", True, id="an editor's browser"),
        pytest.param({}, "win32", True, id="Windows"),
        pytest.param({"SSH_CONNECTION": "a 1 b 22"}, "darwin", False, id="the screen of a Mac elsewhere"),
    ],
)
def test_a_browser_is_opened_only_where_it_is_seen(environ, platform, expected):
    assert view.has_browser(environ, platform) is expected


def test_a_command_that_forwards_the_port_has_a_line_of_its_own():
    last = view.forwarding_hint(7878, {"SSH_CONNECTION": "10.0.0.5 50514 10.0.0.9 2222", "USER": "ann"}).splitlines()[
        -1
    ]
    assert last == "  ssh -N -L 7878:127.0.0.1:7878 -p 2222 ann@10.0.0.9"
    assert view.forwarding_hint(7878, {}).splitlines()[-1] == f"  ssh -N -L 7878:127.0.0.1:7878 {socket.gethostname()}"


def test_a_store_of_a_newer_version_is_left_alone(kept):
    connection = apsw.Connection(str(kept / ".evalmark" / "evalmark.db"))
    connection.pragma("user_version", 99)
    connection.close()
    done = viewed()
    assert done.returncode == 2
    assert "a newer evalmark wrote this store" in done.stderr
    assert "Traceback" not in done.stderr


def test_in_a_broken_installation_it_says_what_to_install(kept):
    # A `starlette.py` beside the store would not do: evalmark's own libraries are found where evalmark is installed.
    without = "import sys; sys.modules['starlette'] = None; sys.argv = ['evalmark', 'view', '--no-open']; "
    command = [sys.executable, "-c", without + "from evalmark.cli import main; main()"]
    done = subprocess.run(command, cwd=kept, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "starlette is not installed. Run: pip install evalmark" in done.stderr


def test_garbage_is_collected_again_once_the_viewer_is_ready_and_when_it_could_not_start():
    with view._without_garbage_collection() as collect:
        assert not gc.isenabled()
        collect()
        assert gc.isenabled()
    assert (gc.isenabled(), gc.get_freeze_count()) == (True, 0)
    with pytest.raises(ConfigError, match="taken"), view._without_garbage_collection():
        raise ConfigError("the port is taken")
    assert gc.isenabled()
