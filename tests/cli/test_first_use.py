"""The first run that needs the model's weights: it says that it fetches them, once, and only then."""

import json
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from evalmark.core.settings import Settings
from evalmark.models.embeddings.model_cache import fetch_model
from evalmark.models.embeddings.weights import KNOWN_MODELS

SUITE = {"datasets": ["cases.jsonl"], "metrics": [{"similarity": {"positive": 0.5}}]}
ROW = {"id": "a", "question": "Who?", "answer": "She did.", "reference": "She did it.", "contexts": ["She did it."]}
CALLS = [
    pytest.param(("run", "suite.json"), id="run"),
    pytest.param(("rag", "--dataset", "cases.jsonl"), id="rag"),
]


@pytest.fixture(scope="module")
def hub():
    """A server that has the real files where the hub has them; gives its address and what was asked of it."""
    folder = fetch_model("all-MiniLM-L6-v2", Settings())
    model, asked = KNOWN_MODELS[0], []

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.path = self.path.removeprefix(f"/{model.repository}/resolve/{model.revision}")
            super().do_GET()

        def log_message(self, *args):
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


@pytest.fixture
def fresh(world, hub, monkeypatch):
    """A machine without weights, and a hub nearby; gives what was asked of the hub."""
    address, asked = hub
    asked.clear()
    monkeypatch.setenv("HF_ENDPOINT", address)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("EVALMARK_CACHE_DIR", str(world / "cache"))
    (world / "suite.json").write_text(json.dumps(SUITE), encoding="utf-8")
    (world / "cases.jsonl").write_text(json.dumps(ROW), encoding="utf-8")
    return asked


@pytest.mark.parametrize("call", CALLS)
def test_the_first_run_says_that_it_fetches_and_the_second_fetches_nothing(evalmark, fresh, call):
    first = evalmark(*call)
    assert (first.code, first.err.count("Fetching")) == (0, 1), first.text
    assert len(fresh) == len(KNOWN_MODELS[0].files)
    second = evalmark(*call)
    assert (second.code, second.err.count("Fetching"), len(fresh)) == (0, 0, len(KNOWN_MODELS[0].files)), second.text


def test_quiet_fetches_without_a_word(evalmark, fresh):
    assert (evalmark("run", "suite.json", "--quiet").text, len(fresh)) == ("", len(KNOWN_MODELS[0].files))


def test_validate_fetches_nothing(evalmark, fresh):
    assert evalmark("validate", "suite.json").code == 0
    assert fresh == []


def test_offline_fetches_nothing_and_says_what_to_do(evalmark, fresh):
    said = evalmark("run", "suite.json", "--offline")
    assert (said.code, fresh) == (2, [])
    assert "Copy the model's folder" in said.err
