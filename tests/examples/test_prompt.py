"""examples/prompt is run as its README says: from recordings alone, without a key and without a network."""

import json
import re
import shutil
import socket
from collections import Counter
from pathlib import Path

import pytest

from evalmark.prompts.metrics.disagreement import disagreements
from evalmark.store import open_store
from tests.conftest import ROOT
from tests.examples.test_agent import GUARD, call, without_times

pytestmark = pytest.mark.slow

FOLDER = ROOT / "examples" / "prompt"
README = (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    """The example in a folder of its own."""
    folder = tmp_path / "prompt"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__", ".evalmark"))
    (tmp_path / "guard").mkdir()
    (tmp_path / "guard" / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
    return folder


def commands(heading: str) -> list[str]:
    """The lines of the first block of commands after these words."""
    block = README[README.index(heading) :]
    return re.search(r"^```bash\n(.*?)^```$", block, re.MULTILINE | re.DOTALL)[1].strip().splitlines()


def test_two_models_side_by_side_show_where_the_judge_is_wrong(clean):
    imported, ran, shown = (call(clean, command) for command in commands("Both models side by side"))
    assert (imported.returncode, ran.returncode, shown.returncode) == (0, 1, 0), ran.stdout + ran.stderr
    assert "60 calls added" in imported.stdout
    assert "Gate failed: 4 of 20 judged trials failed." in ran.stdout
    with open_store(clean / ".evalmark" / "evalmark.db", read_only=True) as store:
        run = store.run("last")
    passed = Counter((r.trial.target, s.name) for r in run.results for s in r.scores if s.passed)
    assert [passed[target, "compliance"] for target in ("small", "large")] == [10, 9]
    assert [passed[target, "rules.2"] for target in ("small", "large")] == [10, 7]
    assert {spent.model: (spent.calls, spent.replayed) for spent in run.spending} == {
        "small": (0, 10),
        "large": (0, 10),
        "judge": (0, 40),
    }
    (words,) = [one for one in disagreements(run) if one.rule == 2]
    assert (words.agreed, words.missed, words.alone) == (17, 3, 0)
    assert re.search(r"large +10 +9/10 +90 % +5/6 .* 4/4", shown.stdout)
    assert "rules.2: small against large" in shown.stdout


def test_what_ci_holds_passes_without_a_key_and_without_a_network(clean):
    imported, ran = (call(clean, command) for command in commands("What CI holds"))
    assert (imported.returncode, ran.returncode) == (0, 0), ran.stdout + ran.stderr
    assert "10 judged trials: every one passed" in ran.stdout


@pytest.mark.parametrize(
    ("file", "old", "new", "failed"),
    [
        pytest.param("sort.prompty", "nothing else", "no more", 10, id="the prompt"),
        pytest.param("sort/rules.txt", "exactly two lines", "two lines", 10, id="a rule"),
        pytest.param("sort/tests.json", "the ladder back", "the ladders back", 1, id="a test"),
    ],
)
def test_what_was_changed_has_to_be_recorded_anew(clean, file, old, new, failed):
    path = clean / file
    before = path.read_text(encoding="utf-8")
    assert old in before
    path.write_text(before.replace(old, new), encoding="utf-8")
    imported, ran = (call(clean, command) for command in commands("What CI holds"))
    assert imported.returncode == 0
    assert ran.returncode != 0
    with open_store(clean / ".evalmark" / "evalmark.db", read_only=True) as store:
        run = store.run("last")
    assert sum(result.verdict != "pass" for result in run.results) == failed
    assert "PermissionError" not in ran.stdout + ran.stderr


def test_the_recordings_can_be_made_again(clean):
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", 8378))
        except OSError:
            pytest.skip("another program listens at port 8378, which the recordings name")
    shutil.rmtree(clean.parent / "guard")  # the script that plays the models is a server
    found = call(clean, "record again.jsonl")
    assert found.returncode == 1, found.stdout + found.stderr
    assert json.loads(found.stdout.splitlines()[-1]) == {"asked": 60, "problems": []}
    assert without_times(clean / "again.jsonl") == without_times(FOLDER / "recorded.jsonl")


def test_the_readme_counts_what_is_recorded():
    lines = (FOLDER / "recorded.jsonl").read_text(encoding="utf-8").splitlines()[1:]
    assert f"{len(lines)} calls of models" in README
