"""Result files of promptfoo in their layouts: the same cases as those of the config, and the same verdicts."""

import json

import pytest
import yaml

from evalmark.errors import DataError
from evalmark.interop.promptfoo.importer import import_promptfoo
from tests.interop.shared.carried import laid_out


def row(city, *, success=True, prompt="Say {{city}}", label=None, **more):
    output = {
        "response": {"output": f"{city}!"},
        "success": success,
        "score": float(success),
        "provider": {"id": "p:x"},
    }
    return {"prompt": {"raw": prompt, "label": label or prompt}, "vars": {"city": city}, **output, **more}


ROWS = [row("Oslo"), row("Rome", success=False)]
NUMBERED = [{**one, "testIdx": number, "promptIdx": 0} for number, one in enumerate(ROWS)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("v3.json", json.dumps({"evalId": "e", "results": {"version": 3, "results": NUMBERED, "prompts": []}})),
        ("v2.json", json.dumps({"results": {"version": 2, "results": NUMBERED, "table": {}}})),
        ("v1.json", json.dumps({"results": {"version": 1, "results": ROWS, "stats": {}}, "config": None})),
        ("oldest.json", json.dumps({"results": ROWS, "stats": {}, "table": {}})),
        ("lines.jsonl", "".join(f"{json.dumps(one)}\n" for one in NUMBERED)),
    ],
    ids=lambda value: value if value.startswith(("v", "o", "l")) else "",
)
def test_every_layout_has_the_same_verdicts(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    results = import_promptfoo(tmp_path / name).run.results
    assert [(one.trial.case.input["city"], one.trial.position, one.verdict) for one in results] == [
        ("Oslo", 0, "pass"),
        ("Rome", 1, "fail"),
    ]


def test_another_list_of_results_is_none_of_promptfoo(tmp_path):
    (tmp_path / "x.json").write_text('{"results": [{"name": "a"}]}')
    with pytest.raises(DataError, match="neither a config of promptfoo"):
        import_promptfoo(tmp_path / "x.json")


def test_results_of_several_prompts_name_them_as_the_suite_does(tmp_path):
    rows = [
        {**row("Oslo", prompt="Name {{city}}", label="short"), "promptIdx": 0, "testIdx": 0},
        {**row("Oslo", prompt="Say {{city}}"), "promptIdx": 1, "testIdx": 0},
    ]
    (tmp_path / "r.json").write_text(json.dumps({"results": {"results": rows}}))
    names = {one.trial.target for one in import_promptfoo(tmp_path / "r.json").run.results}
    assert names == {"short@p:x", "prompt-2@p:x"}


HEADS = [
    {"raw": "Say {{city}}\n", "label": "prompts/polite.txt: Say {{city}}\n", "provider": "p:x"},
    {"raw": "Name {{city}}", "label": "Name {{city}}", "provider": "p:x"},
    {"raw": "Tell {{city}}", "label": "teller", "provider": "p:x"},
]


@pytest.mark.parametrize(
    ("numbers", "with_heads", "targets"),
    [
        ((0,), True, {"p:x"}),
        ((0,), False, {"p:x"}),
        ((1,), False, {"p:x"}),
        ((0, 1, 2), True, {"polite@p:x", "prompt-2@p:x", "teller@p:x"}),
        ((0, 1, 2), False, {"polite@p:x", "prompt-2@p:x", "teller@p:x"}),
        ((2, 1, 0), True, {"polite@p:x", "prompt-2@p:x", "teller@p:x"}),
    ],
    ids=["one file", "one file, no list of prompts", "one text, no list", "three", "three, no list", "another order"],
)
def test_a_prompt_is_one_target_although_each_result_has_it_with_its_variables_filled_in(
    tmp_path, numbers, with_heads, targets
):
    rows = [
        row(city, prompt=HEADS[n]["raw"].replace("{{city}}", city), label=HEADS[n]["label"], promptIdx=n, testIdx=test)
        for n in numbers
        for test, city in enumerate(["Oslo", "Rome"])
    ]
    heads = {"prompts": HEADS} if with_heads else {}
    (tmp_path / "r.json").write_text(json.dumps({"results": {"version": 3, **heads, "results": rows}}))
    assert {one.trial.target for one in import_promptfoo(tmp_path / "r.json").run.results} == targets


def test_prompts_in_files_are_called_by_their_files_as_in_the_results(tmp_path):
    config = {
        "prompts": ["prompts/*.txt", "Say {{city}}"],
        "providers": ["openai:a"],
        "tests": [{"vars": {"city": "x"}}],
    }
    files = {"p.yaml": yaml.safe_dump(config), "prompts/polite.txt": "Dear {{city}}", "prompts/two.txt": "A\n---\nB"}
    laid_out(tmp_path, files)
    written = import_promptfoo(tmp_path / "p.yaml").files
    assert sorted(name for name in written if name.endswith(".prompt.yml")) == [
        "polite.prompt.yml", "prompt-4.prompt.yml", "two-3.prompt.yml", "two.prompt.yml",
    ]  # fmt: skip


def test_a_test_is_called_by_its_description_in_the_suite_and_in_the_results(tmp_path):
    tests = [
        {"description": "the north", "vars": {"city": "Oslo"}},
        {"description": "twice", "vars": {"city": "Rome"}},
        {"description": "twice", "vars": {"city": "Bonn"}},
    ]
    config = {"prompts": ["Say {{city}}"], "providers": ["openai:a"], "tests": tests}
    rows = [{**row(one["vars"]["city"]), "testIdx": n, "testCase": one} for n, one in enumerate(tests)]
    whole = {"promptfooconfig.yaml": yaml.safe_dump(config), "r.json": json.dumps({"results": {"results": rows}})}
    imported = import_promptfoo(laid_out(tmp_path, whole))
    ids = [json.loads(line)["id"] for line in imported.files["cases.jsonl"].splitlines()]
    assert ids == [one.trial.case.id for one in imported.run.results]
    assert (ids[0], "twice" in ids, len(set(ids))) == ("the north", False, 3)
