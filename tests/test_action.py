"""The GitHub Action: its file is an action, no text of others is part of a script, and its steps do what they say."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.cli.test_review_comment import BOT, SUITE
from tests.conftest import ROOT
from tests.interop.code_hosts import code_host

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = ACTION["runs"]["steps"]
SCRIPTS = {step["id"]: step for step in STEPS if "run" in step}
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
STUB = """#!{python}
import json, sys
open("calls.jsonl", "a").write(json.dumps(sys.argv[1:]) + "\\n")
"""
HOSTILE = 'a\n$(touch pwned)\n`touch pwned`\n; touch pwned\n"; touch pwned; "\n--flag=x y'


def run_step(name: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a step as the runner does, with the values of its expressions."""
    script = folder / f"{name}.sh"
    script.write_text(SCRIPTS[name]["run"], encoding="utf-8")
    known = {variable: env.get(variable, "") for variable in SCRIPTS[name].get("env", {})}
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("EVALMARK_", "GITHUB_", "CI_"))}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],  # noqa: S607  whichever bash there is
        cwd=folder,
        env={**kept, **env, **known, "GITHUB_OUTPUT": str(folder / "output.txt")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def python_path(tmp_path):
    """A PATH on which `python` is that of the tests."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python").symlink_to(sys.executable) if sys.prefix == sys.base_prefix else (folder / "python").write_text(
        f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8"
    )
    (folder / "python").chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture
def stub_path(tmp_path):
    """A PATH on which `python` notes its arguments."""
    folder = tmp_path / "stub"
    folder.mkdir()
    file = folder / "python"
    file.write_text(STUB.format(python=sys.executable), encoding="utf-8")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def calls(folder: Path) -> list[list[str]]:
    path = folder / "calls.jsonl"
    return [yaml.safe_load(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def test_no_expression_is_part_of_a_script():
    assert SCRIPTS.keys() == {"install", "run", "report", "verdict"}
    for step in SCRIPTS.values():
        assert EXPRESSION.findall(step["run"]) == []
        assert step["shell"] == "bash"


def test_every_expression_names_an_input_or_step_of_the_action():
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    inputs = set(re.findall(r"inputs\.([\w-]+)", text))
    assert inputs == set(ACTION["inputs"])
    assert set(re.findall(r"steps\.([\w-]+)\.", text)) <= {step["id"] for step in STEPS if "id" in step}
    assert all(value["description"] for value in (*ACTION["inputs"].values(), *ACTION["outputs"].values()))


def test_only_the_step_that_writes_the_comment_gets_the_token():
    holders = [step.get("id") for step in STEPS if "inputs.token" in str(step)]
    assert holders == ["report"]


def test_the_step_of_installing_takes_each_line_as_words(tmp_path, stub_path):
    env = {"PATH": stub_path, "ACTION_PATH": "/action", "REQUIREMENTS": "-e .[dev]\n\nnumpy>=2"}
    assert run_step("install", tmp_path, env).returncode == 0
    assert calls(tmp_path) == [["-m", "pip", "install", "--quiet", "/action", "-e", ".[dev]", "numpy>=2"]]


def test_nothing_is_installed_where_all_is_there(tmp_path, stub_path):
    assert run_step("install", tmp_path, {"PATH": stub_path, "PACKAGE": "installed"}).returncode == 0
    assert calls(tmp_path) == []


@pytest.mark.parametrize("name", ["install", "run", "report"])
def test_no_input_is_run_by_the_shell(tmp_path, stub_path, name):
    variables = [variable for variable in SCRIPTS[name]["env"] if variable != "COMMENT"]
    env = {"PATH": stub_path, "COMMENT": "true", **dict.fromkeys(variables, HOSTILE)}
    assert run_step(name, tmp_path, env).returncode == 0
    assert calls(tmp_path)
    assert not (tmp_path / "pwned").exists()


def test_the_step_of_running_passes_every_line_as_one_word(tmp_path, stub_path):
    env = {
        "PATH": stub_path,
        "SUITES": "a b.yaml\nc.yaml",
        "BASELINE": "last-green",
        "JUDGE": "openai/x",
        "ARGS": "-j\n8",
    }
    assert run_step("run", tmp_path, env).returncode == 0
    words = ["a b.yaml", "c.yaml", "--baseline=last-green", "--judge=openai/x", "-j", "8"]
    (found,) = calls(tmp_path)
    tag = found.pop(3)
    assert re.fullmatch(r"--tag=job=[\d-]+", tag)
    assert found == ["-m", "evalmark", "run", *words]
    assert f"tag={tag.removeprefix('--tag=')}" in (tmp_path / "output.txt").read_text(encoding="utf-8")


def outputs_of(folder: Path) -> dict[str, str]:
    text = (folder / "output.txt").read_text(encoding="utf-8")
    return dict(line.split("=", 1) for line in text.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize(("worse", "code"), [("", 0), ("1", 1)], ids=["passes", "fails"])
def test_the_steps_run_suites_comment_on_each_and_end_with_the_verdict(tmp_path, python_path, worse, code):
    (tmp_path / "bot.py").write_text(BOT, encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (tmp_path / "words.yaml").write_text(SUITE.replace("letters", "words"), encoding="utf-8")
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "input": "a", "expected": "a"}\n', encoding="utf-8")
    summary = tmp_path / "summary.md"
    with code_host() as server:
        env = {
            "PATH": python_path,
            "WORSE": worse,
            "SUITES": "suite.yaml\nwords.yaml",
            "COMMENT": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_TOKEN": "ghs_secret",
            "GITHUB_API_URL": server.url,
            "GITHUB_REPOSITORY": "org/app",
            "GITHUB_REF": "refs/pull/7/merge",
            "GITHUB_STEP_SUMMARY": str(summary),
        }
        ran = run_step("run", tmp_path, env)
        env["TAG"] = outputs_of(tmp_path)["tag"]
        reported = run_step("report", tmp_path, env)
    assert (ran.returncode, reported.returncode) == (0, 0), ran.stderr + reported.stderr
    outputs = outputs_of(tmp_path)
    assert (outputs["exit-code"], outputs["path"]) == (str(code), str(tmp_path / "evalmark-report"))
    reports = list((tmp_path / "evalmark-report").iterdir())
    assert [report.stat().st_size > 10_000 for report in reports] == [True, True]
    assert "letters" in summary.read_text(encoding="utf-8")
    bodies = sorted(comment["body"].splitlines()[2] for comment in server.comments.values())
    sign = "✅" if code == 0 else "❌"
    verdict = "passed" if code == 0 else "failed"
    assert bodies == [f"### {sign} letters: {verdict}", f"### {sign} words: {verdict}"]
    assert run_step("verdict", tmp_path, {"PATH": python_path, "CODE": outputs["exit-code"]}).returncode == code


@pytest.mark.slow
@pytest.mark.parametrize("back", [0, 1])
def test_the_comment_compares_with_the_run_that_the_job_compared_with(tmp_path, python_path, back):
    (tmp_path / "bot.py").write_text(BOT, encoding="utf-8")
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "input": "a", "expected": "a"}\n', encoding="utf-8")
    for name in ("suite", "words"):
        (tmp_path / f"{name}.yaml").write_text(SUITE.replace("letters", name), encoding="utf-8")
    env = {"PATH": python_path, "WORSE": "", "COMMENT": "", "GITHUB_ACTIONS": "true"}
    for suite in ["suite.yaml"] * (back + 1) + ["words.yaml"]:
        run_step("run", tmp_path, {**env, "SUITES": suite})
    env |= {"SUITES": "suite.yaml", "BASELINE": f"last~{back}" if back else "last"}
    ran = run_step("run", tmp_path, env)
    reported = run_step("report", tmp_path, env | {"TAG": outputs_of(tmp_path)["tag"]})
    (report,) = (tmp_path / "evalmark-report").iterdir()
    assert "1 case in both runs" in " ".join(ran.stdout.split()), ran.stdout + ran.stderr
    listed = subprocess.run(
        [sys.executable, "-m", "evalmark", "list", "suite.yaml", "--json"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    ids = [run["id"] for run in yaml.safe_load(listed.stdout)]
    found = [id_ for id_ in ids if id_ in report.read_text(encoding="utf-8")]
    assert found == [ids[0], ids[back + 1]], reported.stdout + reported.stderr


@pytest.mark.parametrize(
    ("listed", "code", "warning"),
    [
        pytest.param("[]", 0, "", id="no run"),
        pytest.param('[{"id": "r1", "suite": null}]', 0, "", id="a report is written"),
        pytest.param('[{"id": "r1", "suite": null}]', 3, "", id="its verdict is not that of the step"),
        pytest.param(
            '[{"id": "r1", "suite": null}]', 2, "A report of r1 was not written", id="a report cannot be written"
        ),
        pytest.param("", 0, "The runs were not found", id="the runs cannot be listed"),
    ],
)
def test_a_report_that_is_not_written_is_a_warning(tmp_path, listed, code, warning):
    stub = tmp_path / "bin" / "python"
    stub.parent.mkdir()
    stub.write_text(
        f'#!/bin/sh\ncase "$1 $3" in "-m list") echo \'{listed}\';; "-m report") exit {code};; *) exec {sys.executable} "$@";; esac\n'
    )
    stub.chmod(0o755)
    env = {"PATH": f"{stub.parent}{os.pathsep}{os.environ['PATH']}", "TAG": "job=1", "BASELINE": "", "COMMENT": "false"}
    found = run_step("report", tmp_path, env)
    assert found.returncode == 0
    assert [line for line in found.stdout.splitlines() if line.startswith("::warning")] == (
        [f"::warning title=evalmark::{warning}; the log of this step says why."] if warning else []
    )


def test_a_job_that_never_ran_ends_with_an_error(tmp_path, stub_path):
    assert run_step("verdict", tmp_path, {"PATH": stub_path}).returncode == 2
