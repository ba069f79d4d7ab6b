"""`evalmark generate` from the command line, against a server that speaks the real protocol and answers each stage."""

import json
from pathlib import Path

import pytest

from evalmark.testing.scripted import ScriptedServer
from tests.generate.script import INVERSES, PROMPT, RULES, Script

ONCE = {
    "intent": 1,
    "input-spec": 1,
    "rules": 1,
    "groundedness": 1,
    "inverse-rules": 1,
    "tests": 2,
    "validity": 4,
    "baseline-tests": 1,
}
"""What three rules ask for with the effort `medium`: 18 tests and 18 baseline tests, ten of them at a time."""


@pytest.fixture
def server(world, monkeypatch):
    for name in ("OPENAI_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    Path("classify.prompty").write_text(PROMPT, encoding="utf-8")
    with ScriptedServer(Script()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        yield server
        assert server.problems == []


def generate(evalmark, *words):
    return evalmark("generate", "classify.prompty", "--model", "openai/a", *words)


def text(name: str) -> str:
    return Path("classify", name).read_text(encoding="utf-8")


def rows(name: str = "tests.json"):
    return json.loads(text(name))


def test_every_stage_is_a_file_beside_the_prompt(evalmark, server):
    said = generate(evalmark)
    assert said.code == 0, said.text
    assert text("intent.txt") == "Sorts headlines.\n"
    assert text("rules.txt").splitlines() == RULES
    assert text("inverse_rules.txt").splitlines() == INVERSES
    assert sorted(path.name for path in Path("classify").iterdir()) == [
        "baseline_tests.json",
        "generated.json",
        "input_spec.txt",
        "intent.txt",
        "inverse_rules.txt",
        "rules.txt",
        "tests.json",
    ]
    assert dict(server.answer.asked) == ONCE
    assert "18 tests: 18 valid, 0 not valid; 6 of rules that the prompt does not bear out; 12 in the headline figure." in said.out
    print(said.out)
