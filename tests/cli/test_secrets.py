"""A secret that a server or a target gives back stands nowhere: not on the terminal, not in a file, not in the store."""

import json
import os
import re
import subprocess
import sys
import threading
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from evalmark.inputs.secrets.fields import MASK
from evalmark.inputs.secrets.known_secrets import _normalized
from evalmark.store import open_store
from tests.inputs.secrets.test_known_secrets import KEY, SPELLINGS

pytestmark = pytest.mark.slow

PASSWORD = "hunter2-of-the-db"  # noqa: S105  made up
DOMAIN_KEY = "dk_4711aB3-9f8e7d6c"
TARGET = f"""
import os
from evalmark import Output, ToolCall

def answer(text, case):
    if text == "raise":
        raise ConnectionError(f"401 for {{os.environ['DOMAIN_KEY']}} at postgresql://ann:{PASSWORD}@db.example/x")
    if text == "refuse":
        raise ValueError("cannot reach user:password1@host")
    if text == "tools":
        key = os.environ["DOMAIN_KEY"]
        login = ToolCall(name="login", arguments={{"with": key}}, result=[key])
        return Output(value="fine", tool_calls=(login,), contexts=("key " + key,), metadata={{key: {{"a": key}}}})
    if text == "plain":
        return "nothing to see in password: tomorrow, path " + os.environ["TOKEN_PATH"]
    return "the key is " + os.environ["DOMAIN_KEY"]

def sees(output):
    return {{"score": 1.0, "metadata": {{"rationale": f"it says {{output}}, which has {{len(str(output))}} letters"}}}}
"""


class Echo(BaseHTTPRequestHandler):
    """Speaks as OpenAI does, and answers with the key of the request in the spelling that the question names."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        key = self.headers["authorization"].removeprefix("Bearer ")
        name = asked["messages"][-1]["content"]
        said = SPELLINGS[name](key) if name in SPELLINGS else "no key"
        message = {"role": "assistant", "content": "SAID", "reasoning": "SAID"}
        body = {"id": "1", "object": "chat.completion", "model": "SAID", "choices": [{"index": 0, "message": message}]}
        body["choices"][0]["finish_reason"] = "stop"
        body["usage"] = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        data = json.dumps(body).replace("SAID", json.dumps(said)[1:-1]).encode()
        if name in ("slashes escaped", "in JSON"):  # as another writer of JSON would put it
            data = json.dumps(body).replace("SAID", said).encode()
        self.server.asked.append(name)
        self.send_response(400 if name == "twelve of it" else 200)
        self.send_header("content-type", "application/json")
        self.send_header("x-request-id", said.encode("ascii", "ignore").decode().replace("\n", " "))
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        server.asked = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def run(folder, server, *words, code=None):
    own = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    own |= {
        "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1",
        "OPENAI_API_KEY": KEY,
        "DOMAIN_KEY": DOMAIN_KEY,
        "TOKEN_PATH": "/run/secrets/some-token-7",
        "COLUMNS": "60",
    }
    command = [sys.executable, "-m", "evalmark", *map(str, words)]
    done = subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, check=False, timeout=300)
    assert "Traceback" not in done.stderr, done.stderr
    assert code is None or done.returncode == code, done.stderr
    return done.stdout + done.stderr


SINKS = ("out.json", "out.jsonl", "out.csv", "out.md", "out.html", "out.junit.xml")


@pytest.fixture(scope="module")
def world(tmp_path_factory, server):
    """Every text that came out of runs over secrets, by where it stood."""
    folder = tmp_path_factory.mktemp("secrets")
    (folder / "app.py").write_text(TARGET, encoding="utf-8")
    rows = [{"id": f"m{n}", "input": name} for n, name in enumerate(SPELLINGS)] + [{"id": "none", "input": "nothing"}]
    (folder / "model.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    rows = [{"id": name, "input": name} for name in ("raise", "refuse", "tools", "plain", "key")]
    rows += [{"id": "asked", "input": f"what about {DOMAIN_KEY}?", "expected": f"it is {DOMAIN_KEY}", "tags": ["a"]}]
    (folder / "app.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    judged = {"datasets": ["model.jsonl"], "target": {"model": "openai/echo"}, "metrics": ["app:sees"]}
    (folder / "model.json").write_text(json.dumps(judged), encoding="utf-8")
    suite = {"datasets": ["app.jsonl"], "target": "app:answer", "metrics": ["app:sees", "equals"]}
    (folder / "app.json").write_text(json.dumps(suite), encoding="utf-8")
    outs = [word for sink in SINKS for word in ("-o", sink)]
    app_outs = [word for sink in SINKS for word in ("-o", f"app-{sink}")]
    found = {
        "terminal": run(folder, server, "run", "model.json", *outs),
        "terminal of the app": run(folder, server, "run", "app.json", *app_outs),
    }
    with open_store(folder / ".evalmark/evalmark.db", read_only=True) as store:
        app, model = store.runs()
        heads = [{name: getattr(run, name) for name in run.__slots__ if name != "results"} for run in (app, model)]
        found["values"] = repr([*map(asdict, app.results), *map(asdict, model.results), *heads])
        found["asked"] = repr([*map(asdict, model.results)])
        calls = [store.recordings.call(one.key) for one in store.recordings.newest()]
        found["call log"] = repr(calls)
    for name, words in {
        "list": ["list"],
        "show": ["show", model.id],
        "show of the app": ["show", app.id],
        "case": ["show", app.id, "--case", "raise"],
        "case of a model": ["show", model.id, "--case", "m2"],
        "cache list": ["cache", "list"],
        "rescore": ["rescore", app.id, "--metric", "app:sees"],
        "again": ["run", "model.json"],
        "jsonl to the terminal": ["report", model.id, "--to", "json"],
        "compare": ["compare", app.id, model.id],
        "isolated": ["run", "app.json", "--isolate", "-o", "isolated.json"],
    }.items():
        found[name] = run(folder, server, *words)
    run(folder, server, "cache", "export", "calls.jsonl", code=0)
    run(folder, server, "export", app.id, "--to", "promptfoo", "-o", "exported")
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".pyc" and path.name not in ("app.jsonl", "app.py", "model.jsonl"):
            found[str(path.relative_to(folder))] = path.read_bytes().decode(errors="replace")
    return {"found": found, "folder": folder, "app": app, "model": model}


def leaked(text, secret, run):
    """Pieces of a secret in a text, also where the text is JSON or HTML."""
    plain, wanted = _normalized(text), _normalized(secret)
    return [piece for at in range(len(wanted) - run + 1) if (piece := wanted[at : at + run]) in plain]


@pytest.mark.parametrize(
    "secret", [KEY, PASSWORD, DOMAIN_KEY, "password1"], ids=["sent", "address", "variable", "bare"]
)
def test_no_secret_comes_out_anywhere(world, secret):
    assert len(world["found"]) > 25
    run = min(12, len(secret))
    assert [name for name, text in world["found"].items() if leaked(text, secret, run)] == []


def test_no_spelling_of_the_key_comes_out(world):
    texts = "\n".join(world["found"].values())
    for name, spell in SPELLINGS.items():
        for piece in re.findall(r"\S{24,}", spell(KEY)):
            assert piece not in texts, name


def test_targets_and_scorers_see_what_is_masked_where_it_is_kept(world):
    found = {result.trial.case.id: result for result in world["app"].results}
    assert found["key"].output.value == f"the key is {MASK}"
    assert found["key"].scores[0].reason == (
        f"it says the key is {MASK}, which has {len('the key is ' + DOMAIN_KEY)} letters"
    )
    assert found["raise"].output.error == f"ConnectionError: 401 for {MASK} at postgresql://ann:{MASK}@db.example/x"
    assert found["asked"].trial.case.input == f"what about {MASK}?"
    assert (found["tools"].output.contexts, found["tools"].output.tool_calls[0].arguments) == (
        (f"key {MASK}",),
        {"with": MASK},
    )
    assert found["plain"].output.value == "nothing to see in password: tomorrow, path /run/secrets/some-token-7"
    assert {name for name, result in found.items() if not result.output.masked} == {"plain"}


def test_what_is_masked_is_counted_once_and_not_judged_anew(world):
    assert len([note for note in world["app"].notes if MASK in note]) == 1
    assert "5 results contain a secret" in " ".join(world["app"].notes)
    with open_store(world["folder"] / ".evalmark/evalmark.db", read_only=True) as store:
        rescored = next(run for run in store.runs() if run.name == "app" and len(run.metrics) == 1)
        states = {result.trial.case.id: result.scores[0] for result in rescored.results}
    assert rescored.id != world["app"].id
    assert {name: score.status for name, score in states.items()} == {
        **dict.fromkeys(("tools", "key", "asked"), "unscored"),
        **dict.fromkeys(("raise", "refuse"), "skipped"),
        "plain": "scored",
    }
    assert "secret" in states["key"].reason


def test_a_reply_with_a_secret_is_asked_again_and_others_are_not(world, server):
    asked = [name for name in server.asked if name != "twelve of it"]
    assert asked.count("nothing") == 1
    assert {asked.count(name) for name in SPELLINGS if name != "twelve of it"} == {2}
    (note,) = [note for note in world["model"].notes if "not cached" in note]
    assert note.startswith(f"The replies of {len(SPELLINGS) - 1} model calls contain a secret")


TESTS = """
import os
from evalmark import describe_eval, expect
from app import answer, sees

def task(text):
    return "the key is " + os.environ["DOMAIN_KEY"]

def wrong(output):
    return {"score": 0.0, "metadata": {"rationale": f"{output} is wrong"}}

describe_eval("described", data=[{"input": "key"}, {"input": "raise"}], task=answer, scorers=[wrong], threshold=0.5)

def test_expected():
    expect("key").to_eval("nothing", task, "equals")
"""


def test_no_secret_comes_out_of_pytest(world, server):
    folder = world["folder"]
    (folder / "eval_secrets.py").write_text(TESTS, encoding="utf-8")
    own = {**os.environ, "DOMAIN_KEY": DOMAIN_KEY, "TOKEN_PATH": "/run/secrets/some-token-7"}
    words = ["-m", "pytest", "eval_secrets.py", "--evalmark", "-p", "no:cacheprovider", "--junitxml=tests.xml", "-q"]
    done = subprocess.run([sys.executable, *words], cwd=folder, env=own, capture_output=True, text=True, check=False)
    assert "3 failed" in done.stdout or "eval errors" in done.stdout, done.stdout + done.stderr
    for text in (done.stdout, done.stderr, (folder / "tests.xml").read_text(encoding="utf-8")):
        for secret in (DOMAIN_KEY, PASSWORD):
            assert leaked(text, secret, 12) == [], text


SCRIPT = """
from evalmark import evaluate
from app import answer

run = evaluate([{"input": "key"}, {"input": "raise"}], answer, [lambda output: 1.0], store=None)
print([result.output for result in run.results])
"""


def test_a_run_that_is_kept_in_memory_alone_is_masked_as_well(world):
    own = {**os.environ, "DOMAIN_KEY": DOMAIN_KEY, "TOKEN_PATH": "/run/secrets/some-token-7"}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, cwd=world["folder"], env=own, capture_output=True, text=True, check=False)
    assert (done.returncode, leaked(done.stdout, DOMAIN_KEY, 12), leaked(done.stdout, PASSWORD, 12)) == (0, [], []), (
        done.stderr
    )
    assert done.stdout.count("masked=True") == 2
