"""Several targets of one suite side by side: code, services, commands, prompts and models."""

from pathlib import Path

import pytest

from evalmark.store import open_store

from .test_services import script, service, suite  # noqa: F401  the fixture

BOT = "def answer(question):\n    return question.upper()\n"
PROMPT = "---\nname: {name}\n---\nsystem:\n{text}\nuser:\n{{{{input}}}}\n"
WEB = '{{http: {{url: "{url}/ask", body: {{question: "{{{{input}}}}"}}, output: $.answer}}}}'


@pytest.fixture
def files(world):
    Path("bot.py").write_text(BOT)
    Path("bot2.py").write_text(BOT)
    script("up.sh", "tr a-z A-Z")
    for name in ("short", "long"):
        Path(f"{name}.prompty").write_text(PROMPT.format(name=name, text=f"Be {name}."))


def listed(*targets: str) -> str:
    return suite("\n" + "\n".join(f"  - {target}" for target in targets))


def outputs() -> dict:
    with open_store(".evalmark/evalmark.db", read_only=True) as store:
        return {(r.trial.target, r.trial.case.id): r.output.value for r in store.run("last").results}


@pytest.mark.usefixtures("files")
def test_code_a_service_and_a_command_answer_the_same_cases(evalmark, service):  # noqa: F811
    quiet = WEB.format(url=service.url)[:-1] + ", name: support}"
    path = listed("bot:answer", quiet, "{command: [./up.sh]}")
    plan = evalmark("plan", path)
    assert "target bot:answer, support, ./up.sh · 6 trials" in " ".join(plan.out.split())
    assert "total 4 0 4" in " ".join(plan.out.split())
    found = evalmark("run", path)
    assert found.code == 0, found.text
    assert outputs() == {
        (target, case): text
        for target in ("bot:answer", "support", "./up.sh")
        for case, text in (("a", "WHY"), ("b", "HOW"))
    }
    compared = evalmark("compare", "last", "--target", "support", "--against", "./up.sh")
    assert "The same" in compared.out


@pytest.mark.usefixtures("files")
def test_without_a_metric_the_outputs_stand_side_by_side(evalmark, service):  # noqa: F811
    path = listed("bot:answer", WEB.format(url=service.url), "{command: [./up.sh], name: shell}")
    Path(path).write_text(Path(path).read_text().replace("metrics: [equals]\n", ""))
    found = evalmark("run", path)
    assert found.code == 0
    address = service.url.removeprefix("http://")
    assert [line.split() for line in found.out.splitlines() if line.endswith("WHY")] == [
        ["bot:answer", "WHY"],
        [f"{address}/ask", "WHY"],
        ["shell", "WHY"],
    ]


@pytest.mark.usefixtures("files")
def test_two_services_of_one_address_are_counted_and_read_apart(evalmark, service):  # noqa: F811
    service.answer = lambda *_: (200, {}, b'{"answer": "first", "other": "second"}')
    one = f'{{http: {{url: "{service.url}/ask", output: $.answer}}, name: one}}'
    two = f'{{http: {{url: "{service.url}/ask", output: $.other}}, name: two}}'
    path = listed(one, two)
    rows = [line.split()[:4] for line in evalmark("plan", path).out.splitlines()]
    assert ["one", "2", "0", "2"] in rows
    assert ["two", "0", "0", "0"] in rows  # the same request is sent once
    assert evalmark("run", path).code == 1
    assert {(target, text) for (target, _), text in outputs().items()} == {("one", "first"), ("two", "second")}


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("targets", "names"),
    [
        pytest.param(
            ("{prompt: short.prompty, model: openai/a}", "{prompt: long.prompty, model: openai/a}"),
            "short@openai/a, long@openai/a",
            id="two prompts on one model",
        ),
        pytest.param(
            ("{prompt: short.prompty, model: openai/a}", "{prompt: short.prompty, model: openai/b}"),
            "openai/a, openai/b",
            id="one prompt on two models",
        ),
        pytest.param(
            ("{model: openai/a, name: plain}", "{model: openai/a, system: Be kind., name: kind}"),
            "plain, kind",
            id="one model with two system messages, named",
        ),
        pytest.param(
            ("{models: [openai/a, openai/b], name: kind}", "bot:answer"),
            "kind@openai/a, kind@openai/b, bot:answer",
            id="several models under one name",
        ),
        pytest.param(("bot:answer",), "bot:answer", id="a list of one"),
    ],
)
def test_targets_have_names_that_tell_them_apart(evalmark, monkeypatch, targets, names):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-" + "a" * 30)
    assert f"target {names} · " in " ".join(evalmark("plan", listed(*targets)).out.split())


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("targets", "sentences"),
    [
        pytest.param(
            ("{model: openai/a}", "{model: openai/a, system: Be kind.}"),
            ["openai/a is named twice as a target; remove one of them, or give it another `name`."],
            id="one model twice",
        ),
        pytest.param(
            ("bot:answer", "[bot2:answer]"), ["`target[1]` is a list in a list; put its targets"], id="a list in a list"
        ),
        pytest.param(
            ("bot:answer", "7"), ["suite.yaml:4: `target[1]` is 7; it takes a Python function"], id="a number"
        ),
        pytest.param(
            ("bot.py", "{http: {url: ftp://x}}", "{command: [./none.sh], output: $$}"),
            [
                "suite.yaml:3: `target[0]` is",
                "suite.yaml:4: `target[1].http.url` is",
                "suite.yaml:5: `target[2].output` is",
            ],
            id="a fault in each, with its line",
        ),
        pytest.param(
            ("bot:answer", "{command: [./none.sh]}", "nowhere:answer"),
            ["suite.yaml:4: there is no program './none.sh'", "there is no module 'nowhere'"],
            id="a program and a module that do not exist",
        ),
    ],
)
def test_a_faulty_target_in_a_list_is_named_before_anything_is_called(evalmark, monkeypatch, targets, sentences):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-" + "a" * 30)
    found = evalmark("run", listed(*targets))
    assert found.code == 2
    text = " ".join(found.text.split())
    assert all(text.count(sentence) == 1 for sentence in sentences), text


@pytest.mark.usefixtures("files")
def test_flags_replace_the_list_or_are_refused(evalmark):
    path = listed("bot:answer", "{command: [./up.sh]}")
    assert "target bot2:answer · " in " ".join(evalmark("plan", path, "--target", "bot2:answer").out.split())
    refused = evalmark("run", path, "--model", "openai/a")
    assert (refused.code, "--model is for a single target, and the suite lists 2." in refused.text) == (2, True)
    Path(path).write_text("target: [{prompt: short.prompty, model: openai/a}, bot:answer]\n")
    lacking = evalmark("validate", path)
    assert (lacking.code, "the suite has no `datasets`" in " ".join(lacking.text.split())) == (2, True)
