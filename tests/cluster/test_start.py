"""Which Ray is used, and which one is refused."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evalmark.cluster import where
from evalmark.errors import ConfigError


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
    with pytest.raises(ConfigError, match=r"name local, ray \(.*\), ray:auto .* or ray://HOST:PORT\.$") as said:
        where(on)
    assert "secret" not in str(said.value)


def test_an_address_says_where():
    assert where("ray").address is None
    assert where("ray:auto").address == "auto"
    assert where("ray://[::1]:10001", is_trusted=True).is_trusted


SUITE = {"datasets": ["cases.jsonl"], "metrics": ["equals"], "target": "app:answer"}


@pytest.fixture
def suite(world):
    Path("app.py").write_text("import os\n\ndef answer(input):\n    return str(os.environ.get('A_TOKEN'))\n", encoding="utf-8")
    Path("cases.jsonl").write_text(json.dumps({"input": "?", "expected": "!"}), encoding="utf-8")
    Path("suite.json").write_text(json.dumps(SUITE), encoding="utf-8")


def evalmark(*words, **env):
    import os

    command = [sys.executable, "-m", "evalmark", "run", "suite.json", "--store", "runs.db", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, env={**os.environ, **env})


def test_without_ray_the_extra_is_named(suite):
    try:
        import ray  # noqa: F401
    except ImportError:
        said = evalmark("--on", "ray")
        assert said.returncode == 2
        assert "pip install 'evalmark[ray]'" in said.stderr
        assert not Path("runs.db").exists() or "no runs" in evalmark("--resume").stderr
    else:
        pytest.skip("Ray is installed")
