"""A cluster of Ray on this machine, for all tests that need one."""

import json
import os
import secrets
from collections.abc import Iterator

import pytest

from evalmark.testing.scripted import ScriptedRequest, ScriptedServer

KEY = "sk-" + "not-a-real-one"
ALONE = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # loopback only
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
}
NODE = {"num_cpus": 2, "include_dashboard": False, "object_store_memory": 100_000_000}


@pytest.fixture(scope="session")
def ray_env() -> Iterator[dict[str, str]]:
    """What a Ray that only this machine can reach has in its environment; set before Ray is imported."""
    more = {**ALONE, "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    before = {name: os.environ.get(name) for name in more}
    os.environ.update(more)
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'evalmark[ray]'")
    yield more
    for name, value in before.items():
        if value is None:
            os.environ.pop(name)
        else:
            os.environ[name] = value


def answered(said: ScriptedRequest) -> str:
    """What a judge says; from all others, what they were asked."""
    if "judge" in said.model:
        return json.dumps({"reason": f"{said.model} thinks so", "score": 4})
    return f"{said.model} heard {said.messages[-1]}"


@pytest.fixture(scope="session")
def models(ray_env: dict[str, str]) -> Iterator[ScriptedServer]:
    """A server for models that workers know as well, since a cluster has its own environment."""
    with ScriptedServer(answered) as server:
        os.environ["OPENAI_BASE_URL"] = f"{server.url}/v1"
        os.environ["OPENAI_API_KEY"] = KEY
        yield server
        del os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]


@pytest.fixture(scope="session")
def started(models: ScriptedServer) -> Iterator[object]:
    """A cluster with one node."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args=NODE)
    yield cluster
    cluster.shutdown()


@pytest.fixture
def cluster(started, world, monkeypatch):
    """The cluster, as `ray:auto` finds it; the working directory is an empty folder."""
    monkeypatch.setenv("RAY_ADDRESS", started.address)
    return started
