"""The order of the rooms and the house rules, checked by machine."""

import subprocess
import sys

from .conftest import ROOT


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)


def test_rooms_only_look_down():
    code = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


def test_types_are_right():
    found = run("mypy")
    assert found.returncode == 0, found.stdout


def test_style_is_kept():
    found = run("ruff", "check", ".")
    assert found.returncode == 0, found.stdout


def test_format_is_kept():
    found = run("ruff", "format", "--check", ".")
    assert found.returncode == 0, found.stdout
