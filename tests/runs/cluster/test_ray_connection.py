"""Which Ray is used, and which one is refused."""

import json
import os
import secrets
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from evalmark.errors import ConfigError
from evalmark.inputs.secrets.fields import MASK
from evalmark.runs.cluster.ray_connection import parse_cluster_address
from evalmark.store import open_store


@pytest.mark.parametrize(
    "on",
    [
        pytest.param("", id="nothing"),
        pytest.param("Ray", id="another case"),
        pytest.param("local", id="this process, which is no Ray"),
        pytest.param("ray://", id="no host"),
        pytest.param("ray://host", id="no port"),
        pytest.param("ray://host:many", id="a port that is no number"),
        pytest.param("ray://host:99999", id="a port that is too large"),
        pytest.param("ray://host:10001/path", id="a path"),
        pytest.param("ray://me:secret@host:10001", id="a password"),
        pytest.param("http://host:10001", id="another scheme"),
        pytest.param("ray://[::1", id="half an address"),
    ],
)
def test_what_is_no_place_is_named_with_the_places_there_are(on):
    with pytest.raises(ConfigError, match=r"use local, ray \(.*\), ray:auto .* or ray://HOST:PORT\.$") as said:
        parse_cluster_address(on)
    assert "secret" not in str(said.value)


def test_an_address_says_where():
    assert parse_cluster_address("ray").address is None
    assert parse_cluster_address("ray:auto").address == "auto"
    assert parse_cluster_address("ray://[::1]:10001", is_trusted=True).is_trusted


SUITE = {"datasets": ["cases.jsonl"], "metrics": ["equals"], "target": "app:answer"}
APP = """
import os

def answer(input):
    return str(os.environ.get(input))
"""
HERE = Path(__file__).parent
OTHERS = "runs code of anyone who knows its address"


@pytest.fixture
def suite(world):
    """A suite whose target says what is in the environment of whoever answers."""

    def write(asked: str = "HOME", app: str = APP, **more) -> None:
        Path("app.py").write_text(app, encoding="utf-8")
        Path("cases.jsonl").write_text(json.dumps({"input": asked, "expected": "!"}), encoding="utf-8")
        Path("suite.json").write_text(json.dumps({**SUITE, **more}), encoding="utf-8")

    return write


def evalmark(*words, **env):
    command = [sys.executable, "-m", "evalmark", "run", "suite.json", "--store", "runs.db", *words]
    ours = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, env={**ours, **env})


def answered() -> list[object]:
    with open_store("runs.db") as store:
        return [result.output.value for result in store.run("last").results]


def test_without_ray_the_extra_is_named(suite):
    suite()
    hidden = "import sys; sys.modules['ray'] = None; from evalmark.cli import main; main(sys.argv[1:])"
    words = ["run", "suite.json", "--store", "runs.db", "--on", "ray"]
    said = subprocess.run([sys.executable, "-c", hidden, *words], capture_output=True, text=True, check=False)
    assert said.returncode == 2
    assert said.stderr.startswith("ray is not installed. Run: pip install 'evalmark[ray]'"), said.stderr
    with open_store("runs.db") as store:
        assert list(store.runs()) == []


@contextmanager
def other_cluster(**env):
    """A cluster that is not ours: its two addresses."""
    command = [sys.executable, str(HERE / "other_cluster.py")]
    ours = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    # With support for forks, the process that a head starts for a client sometimes hangs in gRPC.
    quiet = {"RAY_USAGE_STATS_ENABLED": "0", "GRPC_ENABLE_FORK_SUPPORT": "0"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**ours, **quiet, **env}
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().split()
        process.communicate("", timeout=60)


def test_a_cluster_that_takes_anybody_is_refused_unless_it_is_trusted(ray_env, suite):
    suite()
    with other_cluster(RAY_AUTH_MODE="disabled") as (address, client):
        for on in ("ray:auto", client):
            refused = evalmark("--on", on, RAY_ADDRESS=address)
            assert refused.returncode == 2
            assert OTHERS in refused.stderr
            assert not Path("runs.db").exists() or answered_nothing()
        for on in ("ray:auto", client):
            trusted = evalmark("--on", on, "--trust-cluster", RAY_ADDRESS=address)
            assert trusted.returncode == 1, trusted.stderr  # it ran, and the answer is wrong
            assert trusted.stderr == ""


def answered_nothing() -> bool:
    with open_store("runs.db") as store:
        return not list(store.runs())


def test_a_cluster_with_a_token_takes_those_who_have_it(ray_env, suite):
    suite()
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    with other_cluster(**token) as (address, client):
        for on in ("ray:auto", client):
            known = evalmark("--on", on, RAY_ADDRESS=address, **token)
            assert known.returncode == 1, known.stderr
            stranger = evalmark("--on", on, RAY_ADDRESS=address, **{**token, "RAY_AUTH_TOKEN": secrets.token_hex(32)})
            assert stranger.returncode == 2
            assert "rejects this token" in stranger.stderr
            assert len(stranger.stderr.splitlines()) == 1


def test_keys_are_those_of_the_workers_and_none_is_sent(ray_env, suite):
    """On this machine a worker has the environment of its coordinator; a target that holds a key is not sent."""
    suite("A_SECRET")
    own = secrets.token_hex(16)
    said = evalmark("--on", "ray", A_SECRET=own)
    assert said.returncode == 1, said.stderr
    assert answered() == [MASK]  # the output is the whole key, which is masked in the store
    suite(app=HOLDS)
    said = evalmark("--on", "ray", "--target", "app:target", A_SECRET=own)
    assert said.returncode == 2
    assert "the value of A_SECRET" in said.stderr
    assert own not in said.stderr


HOLDS = """
import os
from evalmark.runs.targets.function import as_target

def make(key):
    def answer(input):
        return input + key[:0]
    answer.__module__ = "__main__"  # as a function of a script, which is sent as it is
    answer.__qualname__ = "answer"
    return answer

target = make(os.environ["A_SECRET"])
"""


def test_a_ray_of_our_own_listens_on_loopback_only(ray_env, suite):
    suite(app=LISTENING)
    said = evalmark("--on", "ray")
    assert said.returncode == 1, said.stderr
    (lines,) = answered()
    ours = [line.split()[3] for line in str(lines).splitlines()]
    assert len(ours) > 3
    assert [place for place in ours if "127.0.0.1" not in place] == []


LISTENING = """
import os, re, subprocess
from pathlib import Path

def answer(input):
    "The sockets on which programs with the token of this run listen: other runs may go on."
    token = os.environ["RAY_AUTH_TOKEN"].encode()
    found = subprocess.run(["ss", "-ltnpH"], capture_output=True, text=True).stdout.splitlines()
    return "\\n".join(line for line in found if any(has(pid, token) for pid in re.findall(r"pid=(\\d+)", line)))

def has(pid, token):
    try:
        return token in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
"""


TWICE = """
import evalmark

def answer(input):
    return input

if __name__ == "__main__":
    rows = [{"input": "a", "expected": "a"}]
    print([evalmark.evaluate(rows, answer, ["equals"], on="ray").results[0].verdict for _ in range(2)])
"""


def test_several_runs_of_one_program_have_a_ray_each(ray_env, world):
    Path("twice.py").write_text(TWICE, encoding="utf-8")
    ours = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    said = subprocess.run([sys.executable, "twice.py"], capture_output=True, text=True, check=False, env=ours)
    assert said.stdout == "['pass', 'pass']\n", said.stderr


def test_where_nothing_answers_is_said_at_once(ray_env, suite):
    suite()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    for words in (("--on", f"ray://127.0.0.1:{port}"), ("--on", "ray:auto")):
        said = evalmark(*words, RAY_ADDRESS=f"127.0.0.1:{port}")
        assert said.returncode == 2
        assert said.stderr == (
            f"--on: no Ray cluster answers at 127.0.0.1:{port}. Check the address, and that it runs.\n"
        )


ELSEWHERE = """
import os

class Model:
    fingerprint = f"model-{os.environ.get('DESK', 'other')}"

    async def __call__(self, texts):
        return [[1.0] for _ in texts]

model = Model()
"""


def test_a_worker_with_another_embedding_model_is_one_sentence(ray_env, suite):
    suite(metrics=["similarity"])
    Path("elsewhere.py").write_text(ELSEWHERE, encoding="utf-8")
    with other_cluster(RAY_AUTH_MODE="disabled") as (address, _):
        words = ("--on", "ray:auto", "--trust-cluster", "--embeddings", "elsewhere:model")
        said = evalmark(*words, RAY_ADDRESS=address, DESK="coordinator")
    assert said.returncode != 0
    assert said.stderr == (
        "A worker cannot use the embedding model: a worker has the embedding model model-other, but the run was started "
        "with model-coordinator; put the same files on every node.\n"
    )


def test_somebody_who_takes_the_call_and_says_nothing_is_nobody(ray_env, suite):
    suite()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        said = evalmark("--on", f"ray://127.0.0.1:{silent.getsockname()[1]}")
    assert said.returncode == 2
    assert "no Ray cluster answers at 127.0.0.1" in said.stderr
    assert said.stderr.count("\n") == 1


def test_a_target_that_cannot_be_sent_is_one_sentence(ray_env, suite):
    suite(
        app="import threading\n\nclass Bot:\n    def __init__(self):\n        self.lock = threading.Lock()\n    def __call__(self, input):\n        return input\n\nbot = Bot()\n",
        target="app:bot",
    )
    said = evalmark("--on", "ray")
    assert said.returncode == 2
    assert said.stderr.startswith("The target or a scorer cannot be sent to a worker: cannot pickle")
    assert said.stderr.count("\n") == 1
