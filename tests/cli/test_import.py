"""`evalmark import -o`: a suite that `validate` accepts, or exit code 2 with what is missing and nothing left behind."""

import importlib
import json
import re

import pytest
import yaml

from evalmark.cli.commands.import_files import IMPORTERS

TEST = {"vars": {"city": "Oslo"}, "assert": [{"type": "contains", "value": "Oslo"}]}
REFUSAL = {"type": "is-refusal"}


def promptfoo(world, *tests, **more):
    whole = {"prompts": ["Say: {{city}}"], "providers": ["openai:chat:small"], "tests": list(tests), **more}
    (world / "promptfooconfig.yaml").write_text(yaml.safe_dump(whole))
    return "promptfoo", "promptfooconfig.yaml"


def registry(world, kind="match:Match", **args):
    for name, ideal in (("sums", ["4", "four"]), ("facts", "blue")):
        (world / "reg" / "data" / name).mkdir(parents=True)
        (world / "reg" / "data" / name / "samples.jsonl").write_text(json.dumps({"input": "q?", "ideal": ideal}) + "\n")
    kinds = {"sums": kind, "facts": "includes:Includes"}
    evals = {
        f"{name}.dev.v0": {
            "class": f"evals.elsuite.basic.{kinds[name]}",
            "args": {"samples_jsonl": f"{name}/samples.jsonl", **(args if name == "sums" else {})},
        }
        for name in kinds
    }
    (world / "reg" / "evals").mkdir()
    (world / "reg" / "evals" / "all.yaml").write_text(yaml.safe_dump(evals))
    return "openai-registry", "reg"


def hosted(world, *criteria):
    whole = [
        {"id": "e", "name": "t", "data_source_config": {"type": "custom"}, "testing_criteria": list(criteria)},
        {"item": {"q": "a", "expected": "b"}},
    ]
    (world / "evals.json").write_text(json.dumps(whole))
    return "openai-evals", "evals.json"


def github(world, *evaluators):
    prompt = {"name": "x", "model": "openai/small", "messages": [{"role": "user", "content": "{{input}}"}],
              "testData": [{"input": "a", "expected": "b"}], "evaluators": list(evaluators)}  # fmt: skip
    (world / "x.prompt.yml").write_text(yaml.safe_dump(prompt))
    return "github-models", "x.prompt.yml"


EQUAL = {
    "type": "string_check",
    "name": "m",
    "input": "{{sample.output_text}}",
    "reference": "{{item.expected}}",
    "operation": "eq",
}


@pytest.mark.parametrize(
    "made",
    [
        lambda world: promptfoo(world, TEST),
        lambda world: promptfoo(world, TEST, defaultTest={"assert": [{"type": "not-contains", "value": "sorry"}]}),
        lambda world: hosted(world, EQUAL),
        lambda world: github(world, {"name": "e", "string": {"contains": "{{expected}}"}}),
        registry,
    ],
    ids=["promptfoo", "promptfoo with defaults", "openai-evals", "github-models", "openai-registry"],
)
def test_a_suite_that_is_written_has_no_fault(evalmark, world, made):
    said = evalmark("import", *made(world), "-o", "in")
    assert said.code == 0, said.text
    suites = sorted((world / "in").rglob("suite*.yaml"))
    assert suites
    for suite in suites:
        assert evalmark("validate", suite).out.startswith(f"{suite}: no errors")


LOSSES = [
    (lambda world: promptfoo(world, {**TEST, "assert": [*TEST["assert"], REFUSAL]}), "$.tests[0]"),
    (lambda world: promptfoo(world, TEST, providers=["python:app.py", "openai:chat:a"]), "$.providers[0]"),
    (lambda world: hosted(world, EQUAL, {"type": "python", "name": "p", "source": "x"}), "$.testing_criteria[1]"),
    (lambda world: github(world, {"name": "e", "string": {"contains": "b"}}, {"name": "f", "uses": "my/own"}), "$.evaluators[1]"),
    (lambda world: registry(world, few_shot_seed=2), "sums.dev.v0"),
    (lambda world: registry(world, num_few_shot=2), "sums.dev.v0"),
]  # fmt: skip


@pytest.mark.parametrize(("made", "place"), LOSSES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_part_that_would_be_lost_is_named_and_nothing_is_written(evalmark, world, made, place):
    words = made(world)
    before = sorted(world.rglob("*"))
    said = evalmark("import", *words, "-o", "in")
    assert said.code == 2
    assert "nothing is imported, because the suite would test something else: 1 part cannot be imported" in said.err
    assert said.err.rstrip().endswith("--partial")
    assert place.replace(" ", "") in re.sub(r"\s", "", said.out)
    assert sorted(world.rglob("*")) == before


@pytest.mark.parametrize(("made", "place"), LOSSES, ids=lambda value: value if isinstance(value, str) else "")
def test_partial_accepts_the_suite_without_it(evalmark, world, made, place):
    said = evalmark("import", *made(world), "-o", "in", "--partial")
    assert said.code == 0, said.text
    assert place.replace(" ", "") in re.sub(r"\s", "", said.out)
    suites = [*(world / "in").rglob("suite.yaml")]
    assert suites
    assert all(evalmark("validate", suite).code == 0 for suite in suites)


@pytest.mark.parametrize(
    "made",
    [
        lambda world: promptfoo(world, {"vars": {"city": "Oslo"}}),
        lambda world: hosted(world),
        lambda world: github(world),
    ],
    ids=["promptfoo", "openai-evals", "github-models"],
)
def test_files_without_a_metric_become_a_suite_that_is_not_scored(evalmark, world, made):
    said = evalmark("import", *made(world), "-o", "in")
    assert said.code == 0, said.text
    assert "its runs are not scored until you add one" in " ".join(said.out.split())
    assert evalmark("validate", world / "in" / "suite.yaml").code == 0


@pytest.mark.parametrize(
    "made",
    [
        lambda world: promptfoo(world, {**TEST, "assert": [REFUSAL]}),
        lambda world: hosted(world, {"type": "python", "name": "p", "source": "x"}),
    ],
    ids=["promptfoo", "openai-evals"],
)
def test_a_suite_that_lost_its_only_metric_needs_consent(evalmark, world, made):
    words = made(world)
    before = sorted(world.rglob("*"))
    said = evalmark("import", *words, "-o", "in")
    assert said.code == 2
    assert sorted(world.rglob("*")) == before
    assert evalmark("import", *words, "-o", "in", "--partial").code == 0
    assert "## Left out" in (world / "in" / "IMPORT.md").read_text()


def test_a_fault_that_validate_finds_keeps_the_suite_from_being_written(evalmark, world):
    picture = {"type": "image_url", "image_url": {"url": "{{city}}"}}  # Oslo is no address of a picture
    words = promptfoo(world, TEST, prompts=[json.dumps([{"role": "user", "content": [picture]}])])
    said = evalmark("import", *words, "-o", "deep/in")
    assert said.code == 2
    assert "because the suite cannot be run" in said.err
    assert "deep/in/cases.jsonl" in said.err
    assert sorted(path.name for path in world.iterdir()) == ["promptfooconfig.yaml"]


def test_results_alone_lose_no_part_of_a_suite(evalmark, world):
    words = promptfoo(world, {**TEST, "assert": [REFUSAL]})
    row = {"testIdx": 0, "vars": {"city": "Oslo"}, "provider": "p", "success": True, "response": {"output": "Oslo"}}
    whole = {"config": yaml.safe_load((world / words[1]).read_text()), "results": {"version": 3, "results": [row]}}
    (world / "results.json").write_text(json.dumps(whole))
    assert evalmark("import", "promptfoo", "results.json").code == 0
    runs = evalmark("list").out
    assert evalmark("import", "promptfoo", "results.json", "-o", "in").code == 2
    assert evalmark("list").out == runs  # what is refused keeps no run either


def test_files_go_into_a_folder_that_is_there(evalmark, world):
    (world / "in").mkdir()
    (world / "in" / "mine.txt").write_text("x")
    assert evalmark("import", *promptfoo(world, TEST), "-o", "in").code == 0
    assert sorted(path.name for path in (world / "in").iterdir()) == [
        "IMPORT.md", "cases.jsonl", "mine.txt", "prompt-1.prompt.yml", "suite.yaml",
    ]  # fmt: skip
    assert not [path for path in world.iterdir() if path.name.startswith(".in")]


def test_code_of_the_user_leaves_nothing_behind(evalmark, world):
    (world / "checks_of_mine.py").write_text("def get_assert(output, context):\n    return True\n")
    words = promptfoo(world, {**TEST, "assert": [{"type": "python", "value": "file://checks_of_mine.py"}]})
    said = evalmark("import", *words, "-o", "in", "--code", "checks_of_mine.py")
    assert said.code == 0, said.text
    assert sorted(path.name for path in (world / "in").iterdir()) == [
        "IMPORT.md", "cases.jsonl", "checks_of_mine.py", "prompt-1.prompt.yml", "suite.yaml",
    ]  # fmt: skip


def test_the_report_beside_the_suite_says_what_became_of_each_part(evalmark, world):
    words = promptfoo(world, {**TEST, "assert": [*TEST["assert"], REFUSAL]}, sharing=True)
    assert evalmark("import", *words, "-o", "in", "--partial").code == 0
    text = (world / "in" / "IMPORT.md").read_text()
    left_out, kept, harmless, files = (
        text.index(f"## {heading}")
        for heading in ("Left out\n", "Kept", "Left out without effect on requests and scores", "Files")
    )
    assert (
        left_out
        < text.index("is-refusal")
        < kept
        < text.index("a prompt file")
        < harmless
        < text.index("sharing")
        < files
    )


def again(evalmark, world, *flags):
    """A second import, of a test that changed."""
    test = {"vars": {"city": "Bergen"}, "assert": [{"type": "contains", "value": "Bergen"}]}
    return evalmark("import", *promptfoo(world, test), "-o", "in", *flags)


def test_an_import_over_an_earlier_one_needs_a_flag(evalmark, world):
    assert evalmark("import", *promptfoo(world, TEST), "-o", "in").code == 0
    said = again(evalmark, world)
    assert said.code == 2
    assert "already" in said.err
    assert "--update" in said.err
    assert "Oslo" in (world / "in" / "cases.jsonl").read_text()


def test_an_update_replaces_what_is_as_it_was_imported_and_keeps_other_files(evalmark, world):
    assert evalmark("import", *promptfoo(world, TEST, prompts=["One {{city}}", "Two {{city}}"]), "-o", "in").code == 0
    (world / "in" / "notes.txt").write_text("mine")
    said = again(evalmark, world, "--update")
    assert said.code == 0, said.text
    assert "Bergen" in (world / "in" / "cases.jsonl").read_text()
    assert sorted(path.name for path in (world / "in").iterdir()) == [
        "IMPORT.md", "cases.jsonl", "notes.txt", "prompt-1.prompt.yml", "suite.yaml",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["suite.yaml", "IMPORT.md"])
def test_an_update_loses_no_edit(evalmark, world, name):
    assert evalmark("import", *promptfoo(world, TEST), "-o", "in").code == 0
    edited = world / "in" / name
    edited.write_text(edited.read_text() + "# mine\n")
    before = {path: path.read_bytes() for path in (world / "in").iterdir()}
    said = again(evalmark, world, "--update")
    assert said.code == 2
    assert f"in/{name}: was edited since the import" in said.err
    assert {path: path.read_bytes() for path in (world / "in").iterdir()} == before
    assert again(evalmark, world, "--force").code == 0
    assert "# mine" not in edited.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--update",), "--update needs the folder to write to: -o DIR"),
        (("-o", "in", "--update"), "there is no earlier import to update"),
        (("-o", "in", "--update", "--force"), "name one of the two"),
        (("-o", "in", "--map-provider", "openai"), "write OLD=NEW"),
        (("-o", "in", "--eval", "sums"), "--eval is for openai-registry; leave it out for promptfoo."),
    ],
)
def test_flags_that_do_not_fit_are_named(evalmark, world, words, message):
    said = evalmark("import", *promptfoo(world, TEST), *words)
    assert said.code == 2
    assert message in " ".join(said.err.split())
    assert not (world / "in").exists()


def test_every_format_has_its_function():
    for name, importer in IMPORTERS.items():
        module, _, function = importer.function.partition(":")
        assert callable(getattr(importlib.import_module(f"evalmark.interop.{module}"), function)), name


SPAN = {
    "traceId": "0af7651916cd43dd8448eb211c80319c",
    "spanId": "b7ad6b7169203331",
    "name": "chat",
    "startTimeUnixNano": "1790000000000000000",
    "endTimeUnixNano": "1790000001000000000",
    "attributes": [
        {"key": "openinference.span.kind", "value": {"stringValue": "CHAIN"}},
        {"key": "input.value", "value": {"stringValue": "Is Oslo in Norway?"}},
        {"key": "output.value", "value": {"stringValue": "Yes."}},
    ],
}


def test_traces_become_sessions_whose_labelled_answers_are_cases(evalmark, world):
    (world / "shop.json").write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]}))
    for _ in range(2):  # the second time adds nothing
        said = evalmark("import", "otlp", "shop.json")
        assert said.code == 0, said.text
        assert "shop.json: 1 session, 1 answer, 0 steps of project shop" in said.out
    assert evalmark("note", SPAN["spanId"], "--label", "up").code == 0
    assert evalmark("export", "sessions:shop", "-o", "cases.jsonl").code == 0
    (case,) = (world / "cases.jsonl").read_text().splitlines()
    assert json.loads(case)["input"] == "Is Oslo in Norway?"


def test_a_file_without_traces_stores_nothing_of_the_others(evalmark, world):
    (world / "shop.json").write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]}))
    (world / "bad.json").write_text("{}")
    said = evalmark("import", "otlp", "shop.json", "bad.json")
    assert said.code == 2
    assert "bad.json:1: has no `resourceSpans`" in said.err
    assert "shop" not in evalmark("list", "sessions").out
    assert "-o does not fit otlp" in evalmark("import", "otlp", "shop.json", "-o", "in").err
    assert "--project is for otlp" in evalmark("import", "jsonl", "shop.json", "--project", "a").err
