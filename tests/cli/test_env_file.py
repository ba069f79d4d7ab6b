"""Variables from an env file: read only where a flag or a setting names it, and stored nowhere."""

import os
from pathlib import Path

import pytest

from evalmark import evaluate

SECRET = "tok-77-secret-4411-zz"  # noqa: S105  of nobody
TARGET = """
import os

def answer(text):
    return os.environ.get("SUPPORT_TOKEN", "none")
"""


@pytest.fixture(autouse=True)
def project(world, monkeypatch):
    monkeypatch.setattr(os, "environ", os.environ)
    monkeypatch.setenv("SUPPORT_TOKEN", "x")  # so that it is restored afterwards
    monkeypatch.delenv("SUPPORT_TOKEN")
    Path("bot.py").write_text(TARGET)
    Path("cases.jsonl").write_text('{"input": "a"}\n')
    Path("suite.yaml").write_text(
        "datasets: cases.jsonl\ntarget: bot:answer\nmetrics: [{regex: {pattern: '[a-z]+'}}]\n"
    )
    Path(".env").write_text(f"# key\nexport SUPPORT_TOKEN='{SECRET}'\nEVALMARK_JOBS=3\n")
    yield
    for name in ("SUPPORT_TOKEN", "EVALMARK_JOBS"):
        os.environ.pop(name, None)


def test_a_file_beside_the_suite_is_not_read_unless_it_is_named(evalmark):
    evalmark("run", "suite.yaml")
    assert "SUPPORT_TOKEN" not in os.environ


def test_the_flag_sets_variables_whose_secrets_are_not_stored(evalmark):
    assert evalmark("run", "suite.yaml", "--env-file", ".env").code == 0
    assert os.environ["SUPPORT_TOKEN"] == SECRET
    stored = b"".join(file.read_bytes() for file in Path(".evalmark").rglob("*") if file.is_file())
    assert SECRET.encode() not in stored


def test_a_variable_that_is_set_already_wins(evalmark, monkeypatch):
    monkeypatch.setenv("SUPPORT_TOKEN", "mine")
    evalmark("run", "suite.yaml", "--env-file", ".env")
    assert os.environ["SUPPORT_TOKEN"] == "mine"  # noqa: S105


def test_the_setting_of_the_project_holds_for_the_command_line_and_for_python(evalmark):
    Path("pyproject.toml").write_text('[tool.evalmark]\nenv_file = ".env"\n')
    evalmark("run", "suite.yaml")
    assert os.environ.pop("SUPPORT_TOKEN") == SECRET
    evaluate([{"input": "a"}], str.upper, [lambda output: True], store=None)
    assert os.environ["SUPPORT_TOKEN"] == SECRET


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(
            None, ".env: the env file cannot be read: No such file or directory. Check --env-file.", id="none"
        ),
        pytest.param(b"\xff\xfeA\x00=\x001\x00", ".env: the env file is not UTF-8. Save it as UTF-8.", id="UTF-16"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(evalmark, content, message):
    Path(".env").unlink()
    if content is not None:
        Path(".env").write_bytes(content)
    found = evalmark("run", "suite.yaml", "--env-file", ".env")
    assert (found.code, found.err.strip()) == (2, message)


def test_a_folder_is_no_env_file(evalmark):
    found = evalmark("run", "suite.yaml", "--env-file", ".")
    assert (found.code, found.err.strip()) == (2, ".: the env file cannot be read: it is a folder. Check --env-file.")
