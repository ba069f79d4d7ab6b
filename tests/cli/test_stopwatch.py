"""The first minute of a new user: an example, its run, and the viewer, in an empty folder of a new home."""

import http.client
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

SECONDS = 60
"""The promise of the documentation, from `init` until the viewer answers; the installation is not part of it."""
NO_NETWORK = """
import ipaddress, os, sys


def refuse(event, args):
    address = args[1] if event == "socket.connect" else args[:1] if event == "socket.getaddrinfo" else None
    if not isinstance(address, tuple) or address[0] in (None, "", "localhost"):
        return
    try:
        is_local = ipaddress.ip_address(address[0]).is_loopback
    except ValueError:
        is_local = False
    if not is_local:
        with open(os.environ["ATTEMPTS"], "a") as attempts:
            attempts.write(f"{event} {address[0]}\\n")
        raise PermissionError(f"{event}: the test has no network")


sys.addaudithook(refuse)
"""
"""Loaded by each Python process of the test, before evalmark."""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A new home and an empty working directory; each process writes down what it tries to reach."""
    for name in [name for name in os.environ if name.startswith(("EVALMARK_", "XDG_", "OPENAI_", "HF_"))]:
        monkeypatch.delenv(name)
    guard = tmp_path / "guard"
    (tmp_path / "work").mkdir()
    guard.mkdir()
    (guard / "sitecustomize.py").write_text(NO_NETWORK)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONPATH", str(guard))
    monkeypatch.setenv("ATTEMPTS", str(tmp_path / "attempts"))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def evalmark(*words: str) -> list[str]:
    return [sys.executable, "-m", "evalmark", *words]


def answer_of_viewer() -> tuple[int, str]:
    """Start the viewer and return the status and the text of its first page."""
    viewer = subprocess.Popen(evalmark("view", "--no-open", "--port", "0"), stdout=subprocess.PIPE, text=True)
    try:
        assert viewer.stdout is not None
        address = next(found[0] for line in viewer.stdout if (found := re.search(r"http://\S+", line)))
        parts = urlsplit(address)
        connection = http.client.HTTPConnection(parts.netloc, timeout=SECONDS)
        connection.request("GET", f"{parts.path}?{parts.query}")
        first = connection.getresponse()
        first.read()
        cookie = (first.getheader("Set-Cookie") or "").partition(";")[0]
        connection.request("GET", first.getheader("Location") or "/", headers={"Cookie": cookie})
        page = connection.getresponse()
        text = page.read().decode()
        connection.close()
        return page.status, text
    finally:
        viewer.terminate()
        viewer.communicate()


def test_the_guard_of_this_test_refuses_the_network(home):
    program = "import socket; socket.create_connection(('192.0.2.1', 80), 1)"
    assert b"the test has no network" in subprocess.run([sys.executable, "-c", program], stderr=-1, check=False).stderr
    assert "192.0.2.1" in (home / "attempts").read_text()


@pytest.mark.slow
def test_an_example_runs_and_is_seen_within_a_minute_without_network_weights_or_a_key(home):
    began = time.monotonic()
    for words, code in ((("init",), 0), (("run",), 0)):
        done = subprocess.run(evalmark(*words), capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
    status, page = answer_of_viewer()
    seconds = time.monotonic() - began
    assert (status, "bike rental bot" in page) == (200, True), page[:2_000]
    assert not (home / "attempts").exists(), (home / "attempts").read_text()
    large = [path for path in Path(home).rglob("*") if path.is_file() and path.stat().st_size > 10 << 20]
    assert large == []
    assert seconds < SECONDS
