"""What goes out comes back: the same cases, outputs, scores and verdicts, through every format."""

import re
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalmark import Case, Example, Output, Result, Run, Score, ToolCall, Turn
from evalmark.core.values.case import Usage
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.inputs.datasets.reader import read_cases
from evalmark.interop.shared.export_run import ExportRun
from evalmark.prompts.templates.prompt_files import parse_prompt, read_prompt
from evalmark.prompts.templates.rendering import render
from evalmark.stats.summary.gate import apply_gate
from evalmark.stats.summary.summarise import summarise
from tests.reports.text import agents, example, judged

from .carried import CARRIED, FORMATS, RUN, laid_out, same

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=12)
TEXTS = st.one_of(
    st.sampled_from(["", "expected", "input", "{{input}}", "user:\n", "=1", "\x00", "\ud800", "- a: b"]),
    st.text(max_size=20),
)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXTS, PLAIN, max_size=3)
MAYBE_TEXTS = st.none() | st.lists(TEXTS, max_size=2).map(tuple)
TURNS = st.builds(Turn, role=st.sampled_from(["user", "assistant", "system", "tool", "narrator"]), content=PLAIN)
CALLS = st.builds(ToolCall, name=TEXTS, arguments=OBJECTS, result=PLAIN, error=st.none() | TEXTS, id=TEXTS)
OUTPUTS = st.builds(
    Output,
    value=PLAIN,
    error=st.none() | TEXTS,
    seconds=st.none() | st.floats(0, 1e6),
    contexts=MAYBE_TEXTS,
    transcript=st.lists(TURNS | CALLS, max_size=2).map(tuple),
    metadata=OBJECTS,
    usage=st.none() | st.builds(Usage, input_tokens=st.none() | st.integers(0, 10**9)),
)
CASES = st.builds(
    Case,
    id=TEXTS,
    input=PLAIN | st.fixed_dictionaries({"text": TEXTS, "tone": TEXTS}),
    expected=PLAIN,
    examples=st.lists(st.builds(Example, value=PLAIN, liked=st.booleans()), max_size=2).map(tuple),
    contexts=MAYBE_TEXTS,
    history=st.lists(TURNS, max_size=2).map(tuple),
    given=st.none() | OUTPUTS,
    tags=st.lists(TEXTS, max_size=2).map(tuple),
    metadata=OBJECTS,
    place=TEXTS,
)
UNIT = st.floats(0, 1)
SCORES = st.lists(
    st.builds(
        Score,
        name=st.sampled_from(["equals", "polite", "a score", ""]) | TEXTS,
        status=st.sampled_from(["scored", "unscored", "error", "skipped"]),
        raw=PLAIN,
        value=st.none() | UNIT,
        direction=st.sampled_from(["higher", "lower"]),
        passed=st.none() | st.booleans(),
        reason=TEXTS,
        detail=OBJECTS,
    ),
    max_size=3,
    unique_by=lambda score: score.name,
).map(tuple)
RESULTS = st.builds(
    Result,
    trial=st.builds(
        Trial,
        case=CASES,
        dataset=st.sampled_from(["moods", "odd ones"]) | NAMES,
        target=st.sampled_from(["openai/small", "app:answer", ""]) | TEXTS,
        position=st.integers(0, 9),
        repeat=st.integers(0, 3),
        mode=st.sampled_from(["single", "conversation"]),
    ),
    output=OUTPUTS,
    scores=SCORES,
)
RUNS = st.builds(
    Run,
    id=st.just("20261121-101500-abcd"),
    name=TEXTS,
    created=st.just("2026-11-21T10:15:00Z"),
    target=TEXTS,
    datasets=st.lists(st.builds(DatasetInfo, name=NAMES, rows=st.none() | st.integers(0, 5)), max_size=2).map(tuple),
    metrics=st.lists(st.builds(Metric, name=NAMES, threshold=st.none() | UNIT), max_size=2).map(tuple),
    notes=st.lists(TEXTS, max_size=2).map(tuple),
    results=st.lists(RESULTS, min_size=1, max_size=4),
)


def back(name: str, given: ExportRun, folder: Path) -> Run:
    write, read = FORMATS[name]
    run = read(laid_out(folder, write(given).files)).run
    assert run is not None
    return run


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "given", [CARRIED, *(ExportRun(run=mod.RUN) for mod in (example, judged, agents))], ids=lambda g: g.run.name
)
def test_a_run_comes_back_whole(name, given, tmp_path):
    found = back(name, given, tmp_path)
    assert same(found) == same(given.run)
    figures = [summarise(replace(run, results=[*run.results])) for run in (found, given.run)]
    assert apply_gate(figures[0], found.gate) == apply_gate(figures[1], given.run.gate)


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(run=RUNS, with_prompt=st.booleans())
def test_any_run_comes_back_whole(name, run, with_prompt):
    given = replace(CARRIED, run=run) if with_prompt else ExportRun(run=run)
    with tempfile.TemporaryDirectory() as folder:
        assert same(back(name, given, Path(folder))) == same(run)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "jsonl"])
def test_the_cases_of_a_suite_that_was_moved_are_those_of_the_run(name, tmp_path):
    write, read = FORMATS[name]
    imported = read(laid_out(tmp_path / "out", write(CARRIED).files))
    laid_out(tmp_path / "in", imported.files)
    files = (tmp_path / "in").rglob("cases.jsonl")  # logs of Inspect have a suite for each dataset
    found = {case.id: case for path in files for case in read_cases(path)}
    # The last message of "odd" in a registry is none of the user's, so a suite could not ask it in the same form.
    assert {"c1", "c2", *(["odd"] if name != "openai-registry" else [])} <= found.keys()
    assert found["c1"].expected == "joy"
    if name != "openai-registry":  # which keeps the messages that were asked
        assert found["c1"].input == {"text": "What a day!", "tone": "warm"}


NO_PROMPT = ("jsonl", "openai-registry", "inspect", "deepeval")
"""Formats that do not hold the prompt with its variables."""
WITH_DEFAULTS = parse_prompt(
    """---
name: mood
inputs: {text: {type: string}, tone: {type: string}, place: {default: Oslo}, hint: {required: false}}
---
Name the mood of {{text}} in {{place}}, in a {{tone}} tone. {{hint}}
""",
    Path("mood.prompty"),
)


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in NO_PROMPT])
def test_defaults_of_a_prompt_go_out_with_each_case_and_are_no_part_of_it_on_the_way_back(name, tmp_path):
    given = replace(CARRIED, prompt=WITH_DEFAULTS)
    write, read = FORMATS[name]
    folder = laid_out(tmp_path / "out", write(given).files)
    imported = read(folder)
    assert same(imported.run) == same(RUN)
    moved = laid_out(tmp_path / "in", imported.files)
    (prompt,) = (read_prompt(path) for path in moved.glob("*.prompt.yml"))
    for case in read_cases(moved / "cases.jsonl"):
        (turn,) = render(prompt, case.input)
        assert turn.content.endswith(f" in Oslo, in a {case.input['tone']} tone. ")

    for path in folder.rglob("*"):
        if path.is_file() and path.name != "evalmark.json":
            text = path.read_text(encoding="utf-8").replace(': "Oslo"', ': "Bergen"')
            path.write_text(re.sub(r'("defaults": ?\{\s*"place": )"Bergen"', r'\1"Oslo"', text), encoding="utf-8")
    edited = [result.trial.case.input for result in read(folder).run.results]
    assert {asked.get("place") for asked in edited} == {"Bergen"}
    assert all("hint" not in asked for asked in edited)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "jsonl"])
def test_what_somebody_changes_in_the_fields_of_the_format_counts(name, tmp_path):
    write, read = FORMATS[name]
    folder = laid_out(tmp_path, write(CARRIED).files)
    changed = 0
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "evalmark.json":
            text = path.read_text(encoding="utf-8")
            changed += text.count("What a day!")
            path.write_text(text.replace("What a day!", "What a night!"), encoding="utf-8")
    run = read(folder).run
    asked = {str(result.trial.case.input) for result in run.results}
    assert changed > 1
    assert not any("What a day!" in text for text in asked)
