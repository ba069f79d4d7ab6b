"""docs/how-to/regressions.md is followed to the letter: record, label, calibrate, change the prompt, and it is worse."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalmark.core.settings import Settings
from evalmark.errors import ModelError
from evalmark.models.embeddings.model_cache import fetch_model
from tests.conftest import ROOT

pytestmark = pytest.mark.slow

FOLDER = ROOT / "examples" / "regression"
PAGE = (ROOT / "docs" / "how-to" / "regressions.md").read_text(encoding="utf-8")
CHANGING = ((re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?"), "WHEN"), (re.compile(r"\d{8}-\d{6}-\w{4}"), "RUN"))
EXPECTED = {
    "python record.py": 0,
    "evalmark list sessions shop -n 2": 0,
    "evalmark note --file labels.csv": 0,
    "evalmark calibrate shop --metric similarity --max-false-pass 0.1": 0,
    "evalmark run suite.yaml": 0,
    'echo "Answer as short as you can." >> prompt.txt': 0,
    "evalmark run suite.yaml again": 1,
    "evalmark compare last last~1 --pairs -n 1": 1,
}
"""The exit code of each command of the page, in its order."""


@pytest.fixture(scope="module", autouse=True)
def weights() -> Path:
    """The embedded model; where it can be had from nowhere, nothing here can be said."""
    try:
        return fetch_model("all-MiniLM-L6-v2", Settings())
    except ModelError as error:
        pytest.skip(f"the weights of all-MiniLM-L6-v2 are not to be had here: {error}")


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every command of the page, with the lines that it is said to print."""
    for block in re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            yield command, printed.splitlines()


def steady(line: str) -> str:
    for changing, name in CHANGING:
        line = changing.sub(name, line)
    return line.rstrip()


def test_the_page_happens_as_it_is_told(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "shop", ignore=shutil.ignore_patterns("__pycache__", ".evalmark", "*.lock.json"))
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("EVALMARK_", "GIT_"))}
    where = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    codes: dict[str, int] = {}
    for command, printed in commands():
        done = subprocess.run(  # noqa: S602  the commands of our own page
            command, shell=True, cwd=tmp_path / "shop", env=inherited | {"COLUMNS": "88", "PATH": where},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        codes[f"{command} again" if command in codes else command] = done.returncode
        said = [steady(line) for line in (done.stdout + done.stderr).splitlines()]
        for line in printed:
            if line != "…":
                assert steady(line) in said, f"{command}\n{line}\nis not in\n" + "\n".join(said)
                del said[: said.index(steady(line)) + 1]
    assert codes == EXPECTED


def test_the_suite_on_the_page_is_the_suite_of_the_example():
    assert f"```yaml\n{(FOLDER / 'suite.yaml').read_text(encoding='utf-8')}```" in PAGE
