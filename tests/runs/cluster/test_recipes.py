"""The recipes of the page on clusters."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT

pytestmark = pytest.mark.slow

RECIPES = ROOT / "examples" / "cluster"


def test_the_job_for_kubernetes_runs_the_command_line_on_a_cluster_that_asks_for_a_token():
    job = yaml.safe_load((RECIPES / "rayjob.yaml").read_text(encoding="utf-8"))
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    assert job["spec"]["entrypoint"].startswith("evalmark run suite.yaml --on ray:auto")
    cluster = job["spec"]["rayClusterSpec"]
    assert cluster["authOptions"] == {"mode": "token"}
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    for group in groups:
        (container,) = group["template"]["spec"]["containers"]
        assert container["envFrom"] == [{"secretRef": {"name": "evals"}}]
        assert "env" not in container  # no key stands in the description itself


def test_a_corpus_is_embedded_by_ray_data(cluster, tmp_path):
    pytest.importorskip("pandas", reason="Ray Data is not installed: pip install 'ray[data]'")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [json.dumps({"id": n, "text": f"the sentence with number {n % 20}"}) for n in range(50)]
    Path("corpus.jsonl").write_text("\n".join(rows), encoding="utf-8")
    script = RECIPES / "embed_corpus.py"
    ended = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "corpus.jsonl"), str(tmp_path / "vectors")],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert ended.returncode == 0, ended.stderr
    found = parquet.read_table(tmp_path / "vectors").to_pylist()
    assert len(found) == 50
    assert {len(row["vector"]) for row in found} == {384}
    vectors = {row["text"]: tuple(row["vector"]) for row in found}
    assert len(set(vectors.values())) == 20
