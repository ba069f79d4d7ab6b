"""examples/agent is evaluated as its README says CI does: from recordings alone, without a key and without a network."""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from evalmark.store import open_store
from tests.conftest import ROOT

pytestmark = pytest.mark.slow

FOLDER = ROOT / "examples" / "agent"
GUARD = """
import sys

def refuse(event, args):
    if event in ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        raise PermissionError(f"{event}: {args[1:]!r}")

sys.addaudithook(refuse)
"""
"""Put into every process of a run: nobody can be reached and nobody can be asked where anybody is."""
SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PROXY|BASE_URL|^EVALMARK_|^PYTEST_", re.IGNORECASE)


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    """The example in a folder of its own."""
    folder = tmp_path / "agent"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__", ".evalmark", ".pytest_cache"))
    (tmp_path / "guard").mkdir()
    (tmp_path / "guard" / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
    return folder


def call(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """A command in a folder, without a network and without anything secret in its environment."""
    kept = {name: value for name, value in os.environ.items() if not SECRET.search(name)}
    env = {**kept, "PYTHONPATH": str(folder.parent / "guard"), "COLUMNS": "100"}
    words = [sys.executable, "-m", *shlex.split(command)]
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=120)


def ci_commands() -> list[str]:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    return re.search(r"^What CI runs.*?^```bash\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1].strip().splitlines()


def test_what_ci_runs_passes_without_a_key_and_without_a_network(clean):
    commands = ci_commands()
    assert [command.split()[0] for command in commands] == ["evalmark", "pytest"]
    imported, judged = (call(clean, command) for command in commands)
    assert (imported.returncode, judged.returncode) == (0, 0), imported.stderr + judged.stdout + judged.stderr
    assert "29 calls added" in imported.stdout
    assert "9 passed" in judged.stdout
    with open_store(clean / ".evalmark" / "evalmark.db", read_only=True) as store:
        run = store.run("last")
        verdicts = [result.verdict for result in run.results]
        tools = [call.name for result in run.results for call in result.output.tool_calls]
    assert verdicts == ["pass"] * 9
    assert sorted(tools) == ["find", "find", "find", "find", "hours", "hours", "reserve"]
    assert {spent.model: (spent.calls, spent.replayed) for spent in run.spending} == {"desk": (0, 16), "judge": (0, 7)}
    assert "7 tool calls replayed." in run.notes


def test_without_the_recordings_nothing_passes_and_nothing_is_sent(clean):
    judged = call(clean, ci_commands()[-1])
    assert judged.returncode == 1
    assert "9 eval errors" in judged.stdout
    assert "not recorded at openai_compatible/desk-1@http://127.0.0.1:8377/v1" in judged.stdout
    assert "PermissionError" not in judged.stdout


def test_a_changed_agent_has_to_be_recorded_anew(clean):
    agent = clean / "agent.py"
    agent.write_text(agent.read_text(encoding="utf-8").replace("Take one step at a time", "Go step by step"), "utf-8")
    imported, judged = (call(clean, command) for command in ci_commands())
    assert imported.returncode == 0
    assert judged.returncode == 1
    assert "2 passed, 7 eval errors" in judged.stdout  # the form that a sentence fills knows no rules


def test_the_guard_lets_nobody_out(clean):
    tried = "import socket; socket.create_connection(('127.0.0.1', 8377))"
    (clean / "tries.py").write_text(tried, encoding="utf-8")
    found = call(clean, "tries")
    assert "PermissionError: socket." in found.stderr


def test_the_recordings_can_be_made_again(clean):
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", 8377))
        except OSError:
            pytest.skip("another program listens at port 8377, which the recordings name")
    shutil.rmtree(clean.parent / "guard")  # the script that plays the models is a server
    found = call(clean, "record again.jsonl")
    assert found.returncode == 0, found.stdout + found.stderr
    told = json.loads(found.stdout.splitlines()[-1])
    assert told == {"asked": 23, "problems": []}
    assert without_times(clean / "again.jsonl") == without_times(FOLDER / "recorded.jsonl")


def without_times(path: Path) -> list[dict]:
    """The recordings without what differs from run to run."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        line.pop("created", None)
        if isinstance(line.get("reply"), dict):
            line["reply"] = {name: value for name, value in line["reply"].items() if name in ("text", "data", "status")}
    return lines


def test_the_readme_counts_what_is_recorded():
    lines = [json.loads(line) for line in (FOLDER / "recorded.jsonl").read_text(encoding="utf-8").splitlines()[1:]]
    tools = sum("tool" in line for line in lines)
    said = f"{len(lines) - tools} calls of models and {tools} of tools"
    assert said in (FOLDER / "README.md").read_text(encoding="utf-8")
