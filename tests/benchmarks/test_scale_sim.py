"""The imagined cluster: the same seed tells the same story, and another one tells another."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FEW = {
    "cases": 400,
    "workers": 12,
    "jobs": 3,
    "rpm": 1_200,
    "tpm": 600_000,
    "seconds": 0.5,
    "lost": 400.0,
    "faults": 0.05,
}


def picture(seed, hashes):
    words = [sys.executable, "benchmarks/scale_sim.py", "--one", json.dumps({**FEW, "seed": seed})]
    environ = {**os.environ, "PYTHONHASHSEED": str(hashes)}
    said = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT, env=environ, timeout=120)
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)["picture"]


def test_a_seed_decides_what_happens_in_a_run_with_limits_faults_and_workers_that_end():
    first, again, other = picture(1, 1), picture(1, 2), picture(2, 1)
    assert first == again
    assert first != other
    for told in (first, other):
        assert told["ended"] >= 3
        assert told["met_limits"] > 0
        assert told["faults"] > 0
        assert told["failed"] == told["kept_twice"] == 0, "every case has its reply, which is kept once"
        assert told["paid_twice"] <= FEW["jobs"] * told["ended"], "no more than were under way"
