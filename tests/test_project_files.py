"""What surrounds the code agrees with it: workflows, citation, container."""

import re
import tomllib

import pytest
import yaml

from .conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PYTHONS = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
HOSTS = re.compile(
    r"https?://[\w.]*(?:pypi\.org|pythonhosted\.org|npmjs\.org)|\b(?:ghcr|quay|gcr|docker)\.io\b|mcr\.microsoft"
)
"""Hosts of package and image registries: whoever installs has chosen theirs."""


def workflow(name: str) -> dict:
    return yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in WORKFLOWS])
def test_a_workflow_runs_fixed_actions_with_few_rights(path):
    text = path.read_text(encoding="utf-8")
    loose = [
        use for use in re.findall(r"uses: (.*)", text) if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", use)
    ]
    assert loose == []
    assert workflow(path.name)["permissions"] == {"contents": "read"}
    assert "pull_request_target" not in text
    assert "timeout-minutes" in text


def test_each_python_that_the_metadata_claims_is_tested_on_three_systems():
    matrix = workflow("test.yml")["jobs"]["quick"]["strategy"]["matrix"]
    assert matrix["python"] == PYTHONS
    assert len(matrix["system"]) == 3


def test_the_oldest_python_is_the_one_that_is_required():
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"


def test_the_citation_names_the_version_and_no_person():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == PROJECT["version"]
    assert citation["authors"] == [{"name": "The evalmark authors"}]


@pytest.mark.parametrize(
    "path", ["Dockerfile", ".devcontainer", ".github", ".pre-commit-config.yaml", "constraints.txt"]
)
def test_nothing_names_a_registry(path):
    files = [ROOT / path] if (ROOT / path).is_file() else [one for one in (ROOT / path).rglob("*") if one.is_file()]
    assert files
    assert [file.name for file in files if HOSTS.search(file.read_text(encoding="utf-8"))] == []


def test_the_container_does_not_run_as_root():
    users = re.findall(r"^USER (\S+)$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert users[-1].isdigit()
    assert users[-1] != "0"
