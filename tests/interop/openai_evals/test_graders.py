"""Graders give what the API documents, whatever their templates name; what they cannot is one sentence."""

import asyncio

import pytest

from evalmark import Case, Output, ToolCall
from evalmark.errors import ConfigError
from evalmark.interop.openai_evals.formula import FormulaError, check_formula, formula_value
from evalmark.interop.openai_evals.text_metrics import METRICS, text_metric
from evalmark.scorers import OpenAIGrader, OpenAIModelGrader
from evalmark.testing.chat import ScriptedModel

CASE = Case(id="1", input={"city": "Oslo", "nested": {"a": [1, "x"]}}, expected="Norway", metadata={"my key": 1})
TEXT = "{{ sample.output_text }}"


def string(operation, reference, text=TEXT):
    return {"type": "string_check", "name": "c", "input": text, "reference": reference, "operation": operation}


@pytest.mark.parametrize(
    ("grader", "output", "passes"),
    [
        pytest.param(string("eq", "{{item.city}}"), "Oslo", True, id="eq is equal"),
        pytest.param(string("eq", "{{item.city}}"), "oslo", False, id="eq has case"),
        pytest.param(string("ne", "{{item.city}}"), "oslo", True, id="ne is the contrary"),
        pytest.param(string("like", "{{item.city}}"), "in Oslo.", True, id="like is contained"),
        pytest.param(string("like", "{{item.city}}"), "in oslo.", False, id="like has case"),
        pytest.param(string("ilike", "{{item.city}}"), "in oslo.", True, id="ilike has no case"),
        pytest.param(string("eq", "{{item.country}}!"), "Norway!", True, id="the expected answer under its own key"),
        pytest.param(string("eq", "{{item.nested.a[1]}}"), "x", True, id="a path into the item"),
        pytest.param(string("eq", "1", "{{item.nested.a[0]}}"), "", True, id="a number is its digits"),
        pytest.param(string("eq", "b", "{{sample.output_json.a}}"), '{"a": "b"}', True, id="a field of JSON"),
        pytest.param(string("eq", "{{item.city}}"), "{{item.city}}", False, id="a template in an output is text"),
    ],
)
def test_a_string_check_compares_as_documented(grader, output, passes):
    score = OpenAIGrader(grader=grader, expected="country")(CASE, Output(value=output))
    assert (score.passed, score.name) == (passes, "c")


def test_the_calls_of_tools_are_in_the_sample():
    grader = string("eq", "look", "{{sample.output_tools[0].function.name}}")
    output = Output(value="", tool_calls=(ToolCall(name="look", arguments={"at": "sky"}),))
    assert OpenAIGrader(grader=grader)(CASE, output).passed is True


def test_a_value_that_is_missing_is_no_verdict():
    score = OpenAIGrader(grader=string("eq", "{{item.nothing}}"))(CASE, Output(value="x"))
    assert (score.status, score.reason) == ("unscored", "the grader has no item.nothing")


# Values of rouge-score 0.1.2, sacrebleu 2.6.0, rapidfuzz 3.14.6 and nltk 3.10.4 for the same texts; METEOR by its formula.
@pytest.mark.parametrize(
    ("metric", "variant", "value"),
    [
        ("fuzzy_match", "", 0.8636),
        ("fuzzy_match", "weighted ratio", 0.9091),
        ("rouge_1", "", 0.8333),
        ("rouge_2", "", 0.6),
        ("rouge_3", "", 0.25),
        ("rouge_4", "", 0.0),
        ("rouge_5", "", 0.0),
        ("rouge_l", "", 0.8333),
        ("gleu", "", 0.3889),
        ("meteor", "", 0.8067),
        ("bleu", "", 0.3247),
        ("bleu", "words", 0.0),
    ],
)
def test_a_text_metric_has_the_value_of_its_definition(metric, variant, value):
    found = text_metric(metric, variant)("The cat sat on the mat", "the cat lay on the mat")
    assert found == pytest.approx(value, abs=1e-3)


@pytest.mark.parametrize("metric", METRICS)
def test_every_text_metric_is_1_for_equal_texts_and_0_for_nothing(metric):
    pytest.importorskip("sacrebleu")
    for measure in METRICS[metric].values():
        text = "one two three four five six"
        assert measure(text, text) == pytest.approx(1, abs=0.01)
        assert measure("", text) == pytest.approx(0, abs=0.01)
        assert 0 <= measure("", "") <= 1


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("0.5 * a + 0.5 * b", 0.75),
        ("a - b * 2", 0.0),
        ("a ^ 2 + sqrt(b ^ 2)", 1.5),
        ("min(a, b, 0.1) + max(0, -a) + abs(-b)", 0.6),
        ("floor(1.7) + ceil(0.2) + exp(0) + log(1)", 3.0),
        ("(a + b) / 2", 0.75),
    ],
)
def test_a_formula_is_arithmetic(formula, value):
    check_formula(formula, {"a", "b"})
    assert formula_value(formula, {"a": 1.0, "b": 0.5}) == pytest.approx(value)


@pytest.mark.parametrize(
    "formula",
    ["c + 1", "a.b", "a[0]", "__import__('os')", "open('x')", "'a'", "a if b else 1", "a;b", "", "lambda: 1", "a" * 2000,
     "min(*a)", "min(key=a)", "[a]", "(" * 500 + "a" + ")" * 500, None, 7, "True", "a and b", "a == b", "1e999 * a @ b"],
)  # fmt: skip
def test_a_formula_is_nothing_but_arithmetic(formula):
    with pytest.raises(FormulaError):
        check_formula(formula, {"a", "b"})


@pytest.mark.parametrize("formula", ["1 / (a - a)", "9 ^ 9 ^ 9 ^ 9", "log(0 * a)", "sqrt(0 - a)", "exp(99999)"])
def test_a_formula_without_a_number_is_no_verdict(formula):
    check_formula(formula, {"a"})
    with pytest.raises(FormulaError):
        formula_value(formula, {"a": 1.0})


MULTI = {
    "type": "multi", "name": "m", "pass_threshold": 0.6, "calculate_output": "0.5 * same + 0.5 * near",
    "graders": {
        "same": string("eq", "{{item.city}}"),
        "near": {"type": "text_similarity", "input": TEXT, "reference": "{{item.city}}", "evaluation_metric": "rouge_1"},
    },
}  # fmt: skip


def test_a_multi_grader_combines_its_graders():
    scores = [OpenAIGrader(grader=MULTI)(CASE, Output(value=text)) for text in ("Oslo", "Oslo.", "x")]
    assert [(score.value, score.passed) for score in scores] == [(1.0, True), (0.5, False), (0.0, False)]


def test_a_python_grader_is_called_with_sample_and_item():
    def grade(sample, item):
        return len(sample["output_text"]) / len(item["country"])

    grader = {"type": "python", "name": "p", "pass_threshold": 0.5}
    score = OpenAIGrader(grader=grader, functions={"": grade}, expected="country")(CASE, Output(value="abc"))
    assert (score.value, score.passed) == (0.5, True)
    with pytest.raises(ConfigError, match="code of the Python grader 'p' is missing"):
        OpenAIGrader(grader=grader)


SCORE = {
    "type": "score_model", "name": "q", "model": "j", "range": [-1, 3], "pass_threshold": 1, "sampling_params": {"temperature": 0, "max_completions_tokens": 9},
    "input": [{"role": "developer", "content": "Judge {{item.city}}."}, {"role": "user", "content": [{"type": "input_text", "text": TEXT}]}],
}  # fmt: skip
LABEL = {**SCORE, "type": "label_model", "labels": ["good", "bad"], "passing_labels": ["good"]}


def judged(grader, reply, output="It is {{item.city}}.", case=CASE):
    judge = ScriptedModel([reply, reply])
    score = asyncio.run(OpenAIModelGrader(grader=grader)(case, Output(value=output), judge))
    return score, judge.requests


def test_a_judge_gets_the_messages_of_the_grader_in_their_roles():
    _, [request] = judged(SCORE, '{"reason": "r", "score": 1}')
    assert [(turn.role, turn.content.split("\n")[0]) for turn in request.messages] == [
        ("system", "Judge Oslo."),
        ("user", "It is {{item.city}}."),
        ("user", 'Reply with one JSON object and nothing after it: {"reason": "...", "score": N}'),
    ]
    assert "from -1 to 3" in request.messages[-1].content
    assert request.settings == {"temperature": 0, "max_tokens": 9}


@pytest.mark.parametrize(
    ("grader", "reply", "value", "passed"),
    [
        (SCORE, '{"reason": "r", "score": 1}', 0.5, True),
        (SCORE, '{"reason": "r", "score": 0.96}', 0.49, False),
        (SCORE, '{"reason": "r", "score": 4}', None, None),
        (SCORE, '{"reason": "r", "score": "1"}', None, None),
        (SCORE, "good", None, None),
        (LABEL, '{"reason": "r", "answer": "good"}', 1.0, True),
        (LABEL, '{"reason": "r", "answer": "bad"}', 0.0, False),
        (LABEL, '{"reason": "r", "answer": "fine"}', None, None),
    ],
)
def test_a_reply_is_a_verdict_in_the_range_of_the_grader_or_none(grader, reply, value, passed):
    score, _ = judged(grader, reply)
    assert (score.value, score.passed) == (value, passed)
    assert score.status == ("unscored" if value is None else "scored")


def test_a_multi_grader_may_ask_a_judge():
    grader = {
        **MULTI,
        "graders": {"same": MULTI["graders"]["same"], "near": {**SCORE, "range": [0, 10]}},
        "calculate_output": "same * near / 10",
    }
    score, _ = judged(grader, '{"reason": "r", "score": 8}', "Oslo")
    assert (score.value, score.passed, score.reason) == (pytest.approx(0.8), True, "near: r")


@pytest.mark.parametrize(
    ("grader", "why"),
    [
        ({"type": "vision"}, "is of the type 'vision'"),
        (string("gt", "x"), "asks for the operation 'gt'"),
        (string("eq", "{{x}}"), "has '{{x}}' in a text"),
        (string("eq", "{% if x %}"), "in a text"),
        ({**MULTI, "calculate_output": "same + other"}, "uses 'other'"),
        ({**MULTI, "graders": {"same": MULTI}}, "another multi grader inside"),
        ({**LABEL, "labels": ["one"]}, "fewer than two labels"),
        ({**SCORE, "range": [1, 1]}, "not two numbers in order"),
        ({**SCORE, "input": []}, "asks its model nothing"),
        ({**SCORE, "input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]}, "only texts can be sent"),
        ({"type": "text_similarity", "evaluation_metric": "vibes", "input": "", "reference": ""}, "measures by 'vibes'"),
    ],
)  # fmt: skip
def test_a_grader_that_cannot_be_used_is_one_sentence(grader, why):
    with pytest.raises(ConfigError) as error:
        OpenAIGrader(grader=grader)
    assert why in str(error.value)
