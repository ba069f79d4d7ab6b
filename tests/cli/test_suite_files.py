"""Which suites a command takes that names none, or a folder."""

from pathlib import Path

import pytest

from evalmark.cli.commands.suite_files import with_files

SUITE = "datasets: cases.jsonl\nmetrics: equals\n"
CASE = '{"id": "a", "input": "1 + 1", "expected": "2", "answer": "2"}\n'


@pytest.fixture
def write(world):
    """Write files in the working directory; a suite where no text is given. Their cases lie beside them."""

    def make(*names: str, **texts: str) -> None:
        for name, text in {**dict.fromkeys(names, SUITE), **texts}.items():
            path = world / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            (path.parent / "cases.jsonl").write_text(CASE)

    return make


def checked(evalmark, *words: str) -> list[str]:
    """The suites that `validate` finds, in its order."""
    return [line.split(":")[0] for line in evalmark("validate", *words).out.splitlines() if "no errors" in line]


PROJECT = "[tool.evalmark]\nsuites = {}\n"
FOUND = [
    pytest.param(["evalmark.yaml"], "", ["evalmark.yaml"], id="the file of this name"),
    pytest.param(["evalmark.yml"], "", ["evalmark.yml"], id="its other ending"),
    pytest.param(["evalmark.yml", "evalmark.yaml"], "", ["evalmark.yaml"], id="only one of two such files"),
    pytest.param(["evals/b.yaml", "evals/a/c.yml"], "", ["evals/b.yaml", "evals/a/c.yml"], id="the folder evals"),
    pytest.param(["evalmark.yaml", "evals/b.yaml"], "", ["evalmark.yaml"], id="the file before the folder"),
    pytest.param(["evalmark.yaml", "x/y.yaml"], '["x/y.yaml"]', ["x/y.yaml"], id="the setting before both"),
    pytest.param(["x/y.yaml", "x/z.yaml"], '["x"]', ["x/y.yaml", "x/z.yaml"], id="a folder in the setting"),
    pytest.param(["x/y.yaml", "x/z.yaml"], '["x/z*.yaml"]', ["x/z.yaml"], id="a pattern in the setting"),
]


@pytest.mark.parametrize(("files", "setting", "found"), FOUND)
def test_a_command_without_a_suite_finds_one(evalmark, world, write, files, setting, found):
    write(*files)
    if setting:
        (world / "pyproject.toml").write_text(PROJECT.format(setting))
    assert checked(evalmark) == found


def test_the_setting_of_a_project_is_relative_to_the_project(evalmark, world, write, monkeypatch):
    write("x/y.yaml", "below/z.txt")
    (world / "pyproject.toml").write_text(PROJECT.format('["x/*.yaml"]'))
    monkeypatch.chdir(world / "below")
    assert checked(evalmark) == [str(world / "x" / "y.yaml")]


@pytest.mark.parametrize("verb", ["run", "plan", "validate"])
def test_nothing_found_is_one_sentence_that_names_init(evalmark, verb):
    said = evalmark(verb)
    assert (said.code, said.text) == (
        2,
        "No suite is named, and this folder has no evalmark.yaml; name a suite, or write an example with: evalmark init\n",
    )


def test_a_folder_stands_for_its_suites_and_for_no_other_file(evalmark, world, write):
    write("own/a.yaml", "own/.hidden/b.yaml", "own/node_modules/c.yaml", "own/env/d.yaml", "own/.e.yaml")
    (world / "own" / "env" / "pyvenv.cfg").write_text("")
    write(
        **{
            "own/cases.yaml": "- {input: a, answer: b}\n",
            "own/metric.yaml": "name: m\nmetric_description: d\n",
            "own/tsconfig.json": '{"compilerOptions": {}} // comment',
            "own/kind.prompt.yml": "messages: []\ndatasets: none\n",
        }
    )
    assert checked(evalmark, "own") == ["own/a.yaml"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("datasets: [cases.jsonl\nmetrics: equals\n", "own/bad.yaml:2", id="that is no YAML"),
        pytest.param("dataset: cases.jsonl\nmetrics: equals\n", 'no key "dataset"', id="with a misspelled key"),
    ],
)
def test_a_broken_suite_in_a_folder_is_reported_and_not_skipped(evalmark, write, text, sentence):
    write("own/a.yaml", **{"own/bad.yaml": text})
    said = evalmark("run", "own")
    assert said.code == 2
    assert sentence in said.text


def test_a_folder_without_a_suite_is_an_error(evalmark, world):
    (world / "own").mkdir()
    said = evalmark("run", "own")
    assert (said.code, said.err) == (
        2,
        "own: the folder has no suite, that is, no YAML or JSON file with `datasets`.\n",
    )


def test_the_worst_exit_code_of_a_folder_counts(evalmark, world, write):
    write("evals/a.yaml", "evals/b/b.yaml")
    (world / "evals" / "b" / "cases.jsonl").write_text(CASE.replace('"answer": "2"', '"answer": "3"'))
    said = evalmark("run")
    assert said.code == 1
    assert said.out.index("✓ passed") < said.out.index("✗ failed")
    heading, *rows = said.out.split("  2 suites\n")[1].splitlines()
    assert heading.split() == ["suite", "verdict", "passed", "run"]
    assert [row.split()[:-1] for row in rows] == [
        ["evals/a.yaml", "✓", "passed", "1", "of", "1"],
        ["evals/b/b.yaml", "✗", "failed", "0", "of", "1"],
    ]


def test_a_suite_that_became_worse_is_listed_as_worse_although_its_gate_passes(evalmark, world, write):
    write("evals/a.yaml", "evals/b/b.yaml")
    rows = [CASE.replace('"a"', f'"a{number}"').replace("1 + 1", f"{number}") for number in range(20)]
    (world / "evals" / "b" / "b.yaml").write_text(f"{SUITE}gate: {{min_pass_rate: 0.1}}\n")
    (world / "evals" / "b" / "cases.jsonl").write_text("".join(rows))
    assert evalmark("run").code == 0
    wrong = [row.replace('"answer": "2"', '"answer": "3"') for row in rows[:15]]
    (world / "evals" / "b" / "cases.jsonl").write_text("".join(wrong + rows[15:]))
    said = evalmark("run", "--baseline", "last-green")
    assert said.code == 1
    assert "evals/b/b.yaml  ▼ worse" in said.out


@pytest.mark.parametrize(
    ("words", "named", "found", "repeated"),
    [
        pytest.param(["run", "-j", "2"], [], ["evalmark.yaml"], ["run", "-j", "2"], id="a suite that is found again"),
        pytest.param(["run"], [], ["a.yaml", "b.yaml"], ["run", "a.yaml", "b.yaml"], id="several that are found"),
        pytest.param(["run", "x.yaml"], ["x.yaml"], ["x.yaml"], ["run", "x.yaml"], id="a file"),
        pytest.param(["run", "own/", "-q"], ["own"], ["own/a.yaml"], ["run", "-q", "own/a.yaml"], id="a folder"),
        pytest.param(
            ["run", "own", "x.yaml"],
            ["own", "x.yaml"],
            ["own/a.yaml", "x.yaml"],
            ["run", "x.yaml", "own/a.yaml"],
            id="both",
        ),
    ],
)
def test_the_command_to_repeat_names_the_files_of_folders(world, words, named, found, repeated):
    (world / "own").mkdir()
    assert with_files(words, [Path(name) for name in named], [Path(name) for name in found]) == repeated


def test_suites_with_modules_of_one_name_are_refused_and_never_mixed_up(process, write):
    """Each folder has its own bot.py; Python loads a module of one name once."""
    suite = "datasets: cases.jsonl\ntarget: bot:answer\nmetrics: equals\n"
    write(**{f"{name}/evalmark.yaml": suite for name in "ab"})
    write(**{f"{name}/bot.py": f"def answer(question):\n    return '{name}'\n" for name in "ab"})
    run = process("run", "a", "b")
    out, err = run.communicate()
    assert (run.returncode, out) == (2, "")
    assert "is loaded under the same name; run the suites one at a time" in err
