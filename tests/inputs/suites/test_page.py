"""docs/reference/suites.md, with targets.md for the keys of targets, says all there is to say, and its examples are suites."""

import re
from pathlib import Path

import pytest

from evalmark.inputs.suites.reader import read_suite
from evalmark.inputs.suites.schema import suite_schema

PAGE = Path(__file__).parents[3] / "docs/reference/suites.md"
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(world: Path) -> Path:
    for name in (
        "cases.jsonl",
        "export.csv",
        "classify.prompty",
        "short.prompty",
        "long.prompty",
        "evalmark.lock.json",
    ):
        (world / name).write_text("{}\n")
    return world


@pytest.mark.parametrize(
    "text", [pytest.param(text, id=f"{len(text.splitlines())} lines") for text in EXAMPLES] or [pytest.param("")]
)
def test_an_example_is_a_suite(folder, text):
    (folder / "suite.yaml").write_text(text)
    assert read_suite(Path("suite.yaml")).notes == ()


def test_the_full_example_uses_every_key(folder):
    (folder / "suite.yaml").write_text(EXAMPLES[1])
    used = set(re.findall(r"[\w$]+(?=:)", EXAMPLES[1]))
    schema = suite_schema()["properties"]
    assert set(schema) - {"$schema"} <= used
    assert set(schema["gate"]["properties"]) <= used


def test_the_page_names_every_key():
    schema = suite_schema()["properties"]
    told = set(re.findall(r"`([\w$]+)`", PAGE.read_text(encoding="utf-8")))
    assert set(schema) <= told
    assert set(schema["gate"]["properties"]) <= told
    assert set(schema["datasets"]["items"]["properties"]) <= told
    targets = (PAGE.parent / "targets.md").read_text(encoding="utf-8")
    assert set(schema["target"]["properties"]) <= told | set(re.findall(r"`([\w$]+)`", targets))
    assert set(schema["judge"]["items"]["properties"]) <= told
    assert set(schema["metrics"]["items"]["additionalProperties"]["properties"]) <= told
