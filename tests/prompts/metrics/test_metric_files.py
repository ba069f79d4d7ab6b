"""`NAME.metric.prompty` files: what they may say, how a judge is asked by them, and when they are left out."""

import re

import pytest

from evalmark import Case, Output
from evalmark.errors import ConfigError
from evalmark.prompts.metrics.metric import with_spec
from evalmark.prompts.metrics.metric_prompts import find_metrics, read_prompt_metric
from evalmark.prompts.specs.spec import read_spec

from .asking import CASE, ask, metric, spec, told

OK = {"reason": "It is.", "verdict": "OK"}
SCORE = {"reason": "It is.", "score": 80}


def head(text, body="system:\nIs it kind?\nuser:\n{{output}}\n"):
    """A metric with this head."""
    return f"---\n{text}\n---\n{body}"


@pytest.mark.parametrize(
    ("text", "unit", "says_ok"),
    [
        pytest.param("Is it kind? {{output}}", "", True, id="no word of a score"),
        pytest.param("Give a score. {{output}}", "%", False, id="a score is asked for"),
        pytest.param("Return 'OK' or 'ERR'. {{output}}", "", True, id="OK or ERR"),
        pytest.param("Keep no score. Say OK or ERR. {{output}}", "", True, id="OK or ERR, and a word of a score"),
        pytest.param(head("tags: [scorer]"), "%", False, id="the tag"),
        pytest.param(head("tags: [scorer]", "Say OK or ERR. {{output}}"), "%", False, id="the tag over the words"),
        pytest.param(head("score: {type: scale, description: d, min: 1, max: 5}"), "1..5", False, id="a scale"),
        pytest.param(head("score: {type: boolean, description: d}"), "", False, id="a truth value"),
        pytest.param(
            head("score: {type: choice, description: d, choices: {A: 1, B: 0}}\ntags: [scorer]"),
            "choice",
            False,
            id="a choice over the tag",
        ),
        pytest.param("The underscored words. {{output}}", "", True, id="a longer word"),
    ],
)
def test_the_form_of_the_reply_follows_tag_words_and_head(tmp_path, text, unit, says_ok):
    found = metric(tmp_path, text)
    assert (found.name, found.unit, found.ok_or_err) == ("fine", unit, says_ok)


def test_ok_and_err_pass_and_fail(tmp_path):
    kind = metric(tmp_path, "Is it kind?\n{{output}}")
    score, model = ask(kind, [OK])
    assert (score.raw, score.value, score.passed, score.reason) == (True, 1.0, True, "It is.")
    assert model.requests[0].schema["properties"]["verdict"] == {"type": "string", "enum": ["OK", "ERR"]}
    assert list(model.requests[0].schema["properties"]) == ["reason", "verdict"]
    score, _ = ask(kind, [{"reason": "No.", "verdict": "ERR"}])
    assert (score.raw, score.value, score.passed) == (False, 0.0, False)


def test_a_score_is_a_percentage_and_passes_by_a_threshold_alone(tmp_path):
    score, model = ask(metric(tmp_path, "Give a score. {{output}}"), [SCORE])
    assert (score.raw, score.value, score.passed) == (80.0, 0.8, None)
    assert list(model.requests[0].schema["properties"]) == ["reason", "score"]
    assert metric(tmp_path, head("threshold: 0.5\ntags: [scorer]")).default_threshold == 0.5


def test_the_block_of_tiamat_says_another_unit(tmp_path):
    scale = metric(tmp_path, head("score: {type: scale, description: 5 is kindest, min: 1, max: 5}\nrepeat: 2"))
    score, model = ask(scale, [{"reason": "r", "score": 4}, {"reason": "r", "score": 2}])
    assert (score.raw, score.value, scale.questions) == (3.0, 0.5, 2)
    assert "from 1 to 5. What the numbers stand for: 5 is kindest" in told(model)


def test_every_variable_is_filled_and_fenced(tmp_path):
    names = ("prompt", "rules", "input", "intent", "inputSpec", "groundtruth")
    body = "system:\nIs it kind?\n" + "".join(f"<{n}>{{{{{n}}}}}</{n}>\n" for n in names) + "user:\n{{output}}"
    score, model = ask(metric(tmp_path, body), [OK], output=Output(value="Hi, fox."))
    assert score.passed
    (mark,) = set(re.findall(r"<data-([0-9a-f]{16,}) name", told(model)))
    pieces = dict(re.findall(rf'<data-{mark} name="([^"]+)">\n(.*?)\n</data-{mark}>', told(model), re.DOTALL))
    assert pieces == {
        "prompt": "Return one tag.\n\n{{ text }}",
        "rules": "The output must be one of these labels: NN, VB.\nThe output must be kind.",
        "input": "fox",
        "intent": "Tag a word.",
        "input specification": "A word.",
        "expected answer": "NN",
        "output": "Hi, fox.",
    }
    assert [turn.role for turn in model.requests[0].messages] == ["system", "user"]
    assert "<prompt>\n<data-" in told(model)
    assert f"</data-{mark}>\n</prompt>" in told(model)
    assert told(model).rstrip().endswith("and ERR where it does not.")


def test_several_inputs_are_shown_as_an_object(tmp_path):
    case = Case(id="1", input={"word": "fox", "n": 2})
    _, model = ask(metric(tmp_path, "{{input}} {{output}}"), [OK], case)
    assert '\n{"n": 2, "word": "fox"}\n' in told(model)


def test_filters_and_conditions_work_and_what_comes_out_is_fenced(tmp_path):
    body = "{% if groundtruth %}It should be {{groundtruth | lower}}.{% endif %}\n{{output | upper}} counts."
    text = head("inputs:\n  groundtruth: {type: string, required: false}\n  output: {type: string}", body)
    _, model = ask(metric(tmp_path, text), [OK], output=Output(value="Oslo"))
    assert re.search(
        r'It should be \n<data-\w+ name="material">\nnn\n</data-\w+>\n\.\n<data-\w+ name="material">\nOSLO\n',
        told(model),
    )
    _, model = ask(metric(tmp_path, text), [OK], Case(id="1", input="x"))
    assert "It should be" not in told(model)


def test_an_input_with_a_value_of_its_own_is_the_authors_word(tmp_path):
    text = head("inputs:\n  criteria: {type: string, default: It rhymes.}", "Judge by: {{criteria}}\nuser:\n{{output}}")
    _, model = ask(metric(tmp_path, text), [OK])
    assert "Judge by: It rhymes.\n" in told(model) + "\n"


def test_messages_keep_their_roles_and_the_form_stands_last(tmp_path):
    body = "user:\nIs it kind?\nassistant:\nI shall see.\nuser:\n{{output}}"
    _, model = ask(metric(tmp_path, body), [OK])
    assert [turn.role for turn in model.requests[0].messages] == ["system", "user", "assistant", "user"]
    _, model = ask(metric(tmp_path, "user:\n{{output}}\nassistant:\nI shall see."), [OK])
    assert [turn.role for turn in model.requests[0].messages] == ["system", "user", "assistant", "user"]
    assert model.requests[0].messages[-1].content.startswith("Where anything above asks for another form of reply")


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param(
            "Is it?\n{{output}} {{outputs}}",
            ["2: {{outputs}} is not a variable of a metric; did you mean {{output}}?"],
            id="nearly a variable",
        ),
        pytest.param(
            "{{output}}\n{{history}}\n{{ruls}}",
            [
                "2: {{history}} is not a variable of a metric; there are output, input, groundtruth, prompt, rules, intent, inputSpec.",
                "3: {{ruls}} is not a variable of a metric; did you mean {{rules}}?",
            ],
            id="all of them are named",
        ),
        pytest.param(
            head("inputs:\n  output: {type: string}\n  context: {type: string}"),
            ["4: {{context}} is not a variable of a metric; there are output"],
            id="declared, and used nowhere",
        ),
        pytest.param(
            "Is it kind?", ["1: the metric has no {{output}}, so nothing would be judged; show it."], id="no output"
        ),
        pytest.param(
            head("inputs:\n  output: {type: string}", "Is it kind?"),
            ["5: the metric has no {{output}}, so nothing would be judged; show it."],
            id="an output that is declared and not shown",
        ),
        pytest.param(
            head("inputs:\n  output: {type: object}"),
            ["3: {{output}} is declared as the type object; a metric gets it as a text."],
            id="another type",
        ),
        pytest.param(
            head("inputs:\n  output: {type: string, enum: [a, b]}"),
            ["3: {{output}} is declared as one of several choices; a metric gets it as a text."],
            id="choices",
        ),
        pytest.param(
            "Give a score\nfrom 1 to 5, the score from 1 to 5.\n{{output}}",
            [
                "2: the text asks for a score from 1 to 5, but without a `score:` block in the front matter it is read on a scale from 0 to 100"
            ],
            id="another scale",
        ),
        pytest.param(
            "Rate it: a score between 0 and 1. {{output}}", ["1: the text asks for a score from 0 to 1"], id="0 to 1"
        ),
        pytest.param(
            head("score: {type: scale, min: 5, max: 1}"),
            ["2: $.score.description is missing", "2: $.score.min is 5 and `max` is 1"],
            id="a broken block",
        ),
        pytest.param(head("threshold: 4"), ["2: $.threshold is 4; it takes a number from 0 to 1."], id="a threshold"),
        pytest.param(head("score: yes"), ["2: $.score is"], id="a score that is no block"),
        pytest.param("{{output.__class__}}", ["1: '__class__' begins with two underscores"], id="a gadget"),
        pytest.param("{% if output %}", ["1: not a valid template"], id="a template that is not closed"),
        pytest.param(
            "---\nname: x\n{{output}}", ["1: the front matter that begins here is never closed"], id="a broken head"
        ),
        pytest.param("", [" the file has no message"], id="an empty file"),
    ],
)
def test_a_metric_that_cannot_be_used_is_refused_with_its_lines(tmp_path, text, faults):
    with pytest.raises(ConfigError) as refused:
        metric(tmp_path, text)
    said = str(refused.value).splitlines()
    for fault in faults:
        assert any(fault in line and line.startswith(f"{tmp_path}/fine.metric.prompty:") for line in said), said


@pytest.mark.parametrize(
    "words", ["a score between 0 and 100", "a score from 1 to 100", "Score it. Use 3 to 5 words.", "score"]
)
def test_scores_out_of_a_hundred_and_other_numbers_are_fine(tmp_path, words):
    assert metric(tmp_path, f"Give {words}. {{{{output}}}}").unit == "%"


def test_a_judge_and_settings_of_the_file(tmp_path):
    text = head("judge: openai/x\nmodel: {id: gpt-9, options: {temperature: 0, response_format: {type: json_object}}}")
    found = metric(tmp_path, text)
    assert (found.metric.judge, found.metric.settings) == ("openai/x", {"temperature": 0})
    assert [note.split(": ", 1)[1].split(";")[0] for note in found.metric.notes] == [
        "the metric names the model 'gpt-9'",
        "the metric's own reply format is ignored",
    ]


@pytest.mark.parametrize(
    ("text", "named", "case", "fields", "reason"),
    [
        pytest.param(head("tags: [experimental]"), False, CASE, {}, "the metric is tagged experimental", id="found"),
        pytest.param(head("tags: [experimental]"), True, CASE, {}, "", id="experimental and named"),
        pytest.param(
            head("tags: [groundtruth]"), True, Case(id="1", input="x"), {}, "needs a ground truth", id="no truth"
        ),
        pytest.param(
            "{{groundtruth}} {{output}}", True, Case(id="1", input="x"), {}, "needs a ground truth", id="shown"
        ),
        pytest.param(head("tags: [groundtruth]"), True, CASE, {}, "", id="a ground truth"),
        pytest.param(
            "{{rules}} {{output}}", True, CASE, {"rules": ()}, "prompts/tagger/rules.txt has none", id="no rules"
        ),
        pytest.param("{{output}}", True, CASE, {"rules": ()}, "", id="rules that nobody asked for"),
    ],
)
def test_a_metric_that_is_left_out_is_said_to_be_skipped(tmp_path, text, named, case, fields, reason):
    score, model = ask(metric(tmp_path, text, named=named, **fields), [OK], case)
    assert score.status == ("skipped" if reason else "scored")
    assert reason in score.reason
    assert len(model.requests) == (0 if reason else 1)
    assert (score.value, score.passed) == ((None, None) if reason else (1.0, True))


@pytest.mark.parametrize(
    ("text", "case", "output", "reason"),
    [
        ("{{output}}", CASE, Output(), "the target returned None"),
        ("{{input}} {{output}}", Case(id="1", expected="NN"), Output(value="NN"), "the test has no input"),
    ],
)
def test_without_anything_to_judge_nobody_is_asked(tmp_path, text, case, output, reason):
    score, model = ask(metric(tmp_path, text), [OK], case, output)
    assert (score.status, len(model.requests)) == ("unscored", 0)
    assert reason in score.reason


def test_a_metric_of_rules_needs_a_prompt_under_test(tmp_path):
    file = tmp_path / "fine.metric.prompty"
    file.write_text("Is it?\n{{rules}} {{prompt}} {{output}}")
    found = read_prompt_metric(file)
    assert found.needs_spec
    with pytest.raises(
        ConfigError, match=r"suite.yaml:3: .*fine.metric.prompty:1: the metric 'fine' shows \{\{prompt\}\} and"
    ):
        with_spec(found, None, "suite.yaml:3")
    with pytest.raises(ConfigError, match="the run has no prompt under test"):
        found.question(CASE, Output(value="x"))
    file.write_text("Is it?\n{{output}}")
    assert with_spec(read_prompt_metric(file), None) == read_prompt_metric(file)


def test_the_fingerprint_follows_the_words_the_rules_and_the_form(tmp_path):
    plain = metric(tmp_path, "Is it? {{rules}} {{output}}")
    others = [
        metric(tmp_path, "Is it so? {{rules}} {{output}}"),
        metric(tmp_path, "Is it? {{rules}} {{output}}", rules=("Be brief.",)),
        metric(tmp_path, head("tags: [scorer]", "Is it? {{rules}} {{output}}")),
        metric(tmp_path, head("repeat: 2", "Is it? {{rules}} {{output}}")),
    ]
    assert len({found.fingerprint for found in (plain, *others)}) == 5
    alone = metric(tmp_path, "Is it? {{output}}")
    assert metric(tmp_path, "Is it? {{output}}", rules=("Be brief.",)).fingerprint == alone.fingerprint


def test_metrics_are_found_beside_the_prompt(tmp_path):
    for name in ("b.metric.prompty", "a.METRIC.prompty", "p.prompty", "metric.prompty", "x.metric.yaml"):
        (tmp_path / name).write_text("{{output}}")
    (tmp_path / "c.metric.prompty").mkdir()
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "d.metric.prompty").write_text("{{output}}")
    assert [path.name for path in find_metrics(tmp_path / "p.prompty")] == ["a.METRIC.prompty", "b.metric.prompty"]


def test_the_metric_that_was_printed_runs_as_it_stands(shared, tmp_path):
    (seed,) = (shared / "seeds").glob("003_*.txt")
    _, _, rest = seed.read_text(encoding="utf-8").partition("\nuse_rules.metric.prompty\n")
    text, _, _ = rest.partition("\nPromptPex can automatically create")
    assert text.startswith("system:\nYour task is to very carefully")
    file = tmp_path / "use_rules.metric.prompty"
    file.write_text(text, encoding="utf-8")
    pex = shared / "data" / "promptpex"
    tested = read_spec(pex / "samples" / "speech-tag" / "speech-tag.prompty", pex / "v7" / "speech-tag")
    found = with_spec(read_prompt_metric(file), tested)
    assert (found.name, found.unit, found.variables) == ("use_rules", "%", {"rules", "output"})
    (note,) = found.metric.notes
    assert "mentions <INPUT> but does not use {{input}}" in note
    score, model = ask(found, [{"reason": "One tag.", "score": 100}])
    assert (score.raw, score.value, score.reason) == (100.0, 1.0, "One tag.")
    system, user = (turn.content for turn in model.requests[0].messages)
    for line in text.partition("<RULES>\n{{rules}}")[0].removeprefix("system:\n").splitlines():
        assert line.strip() in system
    assert "\n".join(tested.rules) in system
    assert "<CHATBOT_OUTPUT>\n<data-" in user


def test_all_published_metrics_load(shared):
    files = sorted((shared / "data").rglob("*.metric.prompty"))
    assert files
    for file in files:
        found = read_prompt_metric(file, named=False)
        assert (found.name, found.ok_or_err, found.skipped) == ("nice", False, "")
    score, model = ask(found, [{"explanation": "All of it is.", "score": 95}])
    assert (score.value, score.reason) == (0.95, "All of it is.")
    assert [turn.role for turn in model.requests[0].messages] == ["system", "user"]


def test_a_metric_keeps_the_spec_that_it_has(tmp_path):
    found = metric(tmp_path, "{{rules}} {{output}}", rules=("A.",))
    assert with_spec(found, spec(rules=("B.",))).spec.rules == ("A.",)
