"""The workflows on the page about CI are workflows, and every command in them takes its flags."""

import re
import shlex

import pytest
import yaml

from evalmark.harness.pytest_plugin import pytest_addoption
from tests.cli.test_commands_page import FLAG, VERBS
from tests.conftest import ROOT

FOLDER = ROOT / "docs"
NAMES = ("how-to/ci.md", "reference/shards.md", "reference/github-action.md")
PAGE = "".join((FOLDER / name).read_text(encoding="utf-8") for name in NAMES)
BLOCKS = [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)]
WORKFLOWS = [block for block in BLOCKS if isinstance(block, dict)]
STEPS = [step for workflow in WORKFLOWS for job in workflow["jobs"].values() for step in job["steps"]]
STEPS += [step for block in BLOCKS if isinstance(block, list) for step in block]
COMMANDS = [step["run"] for step in STEPS if "run" in step]
OF_SPLITTING = {"--splits", "--group"}
"""Of a plug-in by others."""


class Options:
    """Notes the options that a plug-in of pytest adds."""

    def __init__(self):
        self.names = set()

    def getgroup(self, *_):
        return self

    def addoption(self, name, **_):
        self.names.add(name)

    def addini(self, *_, **__):
        """Settings are no flags."""


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("evalmark")])
def test_every_command_of_a_workflow_takes_its_flags(command):
    verb = next(name for name in sorted(VERBS, key=len, reverse=True) if command[len("evalmark ") :].startswith(name))
    assert set(FLAG.findall(command)) <= VERBS[verb]


def test_pytest_takes_the_options_of_a_workflow():
    known = Options()
    pytest_addoption(known)
    (command,) = (c for c in COMMANDS if c.startswith("pytest "))
    assert {word for word in shlex.split(command) if word.startswith("--")} <= known.names | OF_SPLITTING


def test_the_report_comes_whatever_happened_before():
    found = [
        job.get("if") or step.get("if")
        for workflow in WORKFLOWS
        for job in workflow["jobs"].values()
        for step in job["steps"]
        if "evalmark report" in step.get("run", "")
    ]
    by_action = [step for step in STEPS if step.get("uses", "").startswith("OWNER/evalmark@")]
    assert found == ["always()"] * (len(WORKFLOWS) - len(by_action))


def test_the_action_takes_the_inputs_that_the_page_names():
    inputs = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
    (step,) = [step for step in STEPS if step.get("uses", "").startswith("OWNER/evalmark@")]
    table = PAGE.split("| input | |")[1].split("\n\n")[0]
    named = {
        name for cell in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`([\w-]+)`", cell)
    }
    assert named == set(inputs)
    assert set(step["with"]) <= set(inputs)


def test_a_shard_hands_on_the_file_that_the_report_reads():
    kept = [
        step["with"] for step in STEPS if "upload-artifact" in step.get("uses", "") and "db" in step["with"]["path"]
    ]
    fetched = [step["with"] for step in STEPS if "download-artifact" in step.get("uses", "")]
    assert [files["path"] for files in kept] == ["evals.db*"]
    assert fetched == [{"pattern": "shard-*", "path": "shards"}]
    assert all(files["name"].startswith("shard-") for files in kept)
    assert any("report shards/*/evals.db" in command for command in COMMANDS)
    assert any("merge shards/*/evals.db" in command for command in COMMANDS)


@pytest.mark.parametrize("flag", ["--min-pass-rate", "--min-score", "--max-unscored", "--max-errors"])
def test_the_flags_of_the_gate_are_on_the_page(flag):
    assert f"`{flag}`" in PAGE
    assert flag in VERBS["report"]
