"""Deterministic assertions give the verdicts that promptfoo gives; the rows were compared with promptfoo 0.123."""

import pytest

from evalmark import Case, Output
from evalmark.core.errors import ConfigError
from evalmark.core.values.case import ToolCall
from evalmark.interop.promptfoo.checks import bleu_score, gleu_score, json_objects, rouge_score
from evalmark.interop.promptfoo.javascript.values import LimitError
from evalmark.interop.promptfoo.markup import is_html
from evalmark.interop.promptfoo.scorers import PromptfooAssertion

SCHEMA = {"type": "object", "required": ["a"], "properties": {"a": {"type": "number"}}}
CALLS = '{"tool_calls": [{"function": {"name": "a"}}, {"function": {"name": "b"}}]}'
BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>'


def score_of(assertion, output, **variables):
    given = output if isinstance(output, Output) else Output(value=output, seconds=0.1)
    return PromptfooAssertion(assertion=assertion)(Case(id="1", input=variables or None), given)


@pytest.mark.parametrize(
    ("kind", "more", "passing", "failing"),
    [
        ("equals", {"value": {"a": [1, 2.0]}}, '{"a": [1.0, 2]}', '{"a": [true, 2]}'),
        ("equals", {"value": 5}, "5", "5.0"),
        ("contains", {"value": 5}, "15", "Five"),
        ("icontains", {"value": "ELLO"}, "hello", "help"),
        ("icontains", {"value": "STRASSE"}, "strasse", "straße"),
        ("contains-any", {"value": ["a", "b"]}, "cab", "xyz"),
        ("contains-all", {"value": ["a", "b"]}, "cab", "cat"),
        ("starts-with", {"value": "He"}, "Hello", "hello"),
        ("regex", {"value": r"(\w)\1"}, "Hello", "Help"),
        ("regex", {"value": r"^[\s\S]{3}$"}, "a\nb", "a\nbc"),
        ("regex", {"value": "^.{2}$"}, "🙂", "🙂🙂"),
        ("is-json", {}, "[1]", "{a: 1}"),
        ("is-json", {"value": SCHEMA}, '{"a": 1}', '{"a": "x"}'),
        ("contains-json", {}, "It is {a: b}, or so", "no } json"),
        ("contains-json", {"value": SCHEMA}, '{"b": 1} then {"a": 1}', 'So: {"a": "x"}'),
        ("contains-json", {"value": SCHEMA}, '```json\n{\n\t"a": 1, // one\n\t"b": 2\n}\n```', "[1, 2]"),
        ("is-xml", {}, '<?xml version="1.0"?><r><x a="1">t</x></r>', "<r><x>t</x>"),
        ("is-xml", {"value": {"requiredElements": ["r.x"]}}, "<r><x/></r>", "<r><y/></r>"),
        ("is-xml", {}, "<!DOCTYPE x><x/>", BOMB),
        ("contains-xml", {}, "See <b>x</b>.", "1 < 2 > 0"),
        ("contains-xml", {"value": "r.x"}, "So <r><x>a & b</x></r> it is", "So <r><y/></r> it is"),
        ("is-html", {}, "<h1>T</h1><p>P</p>", "Text <p>P</p>"),
        ("is-html", {}, "<!DOCTYPE html><html><body>text</body></html>", '<?xml version="1.0"?><root/>'),
        ("is-html", {}, "<custom-el>1</custom-el>", "<p>a<div>b</div>c"),
        ("contains-html", {}, "a <b>word</b>", "a < b & c > d"),
        ("levenshtein", {"value": "hello world"}, "hello wurld", "goodbye to all"),
        ("levenshtein", {"value": "ab", "threshold": 1}, "abc", "abcd"),
        ("bleu", {"value": "the cat sat on the mat"}, "The cat sat on the mat", "a dog ran"),
        ("gleu", {"value": ["x", "the cat sat"]}, "the cat sat.", "a dog ran"),
        ("rouge-n", {"value": "the cat sat on the mat"}, "the cat sat on a mat", "a dog ran away"),
        ("latency", {"threshold": 100}, Output(value="", seconds=0.1), Output(value="", seconds=0.1001)),
        ("cost", {"threshold": 0.01}, Output(value="", metadata={"cost": 0.01}), Output(value="", metadata={"cost": 0.02})),
        ("word-count", {"value": 2}, " two\twords\n", "one"),
        ("word-count", {"value": {"min": 2, "max": 3}}, "a b c", "a b c d"),
        ("word-count", {"value": {"min": 2}}, "a b", "a"),
        ("tool-call-f1", {"value": "a, b"}, CALLS, '{"tool_calls": [{"function": {"name": "a"}}]}'),
        ("tool-call-f1", {"value": ["a"], "threshold": 0.6}, CALLS, "a"),
        ("tool-call-f1", {"value": ["a"]}, Output(value="", tool_calls=(ToolCall(name="a"),)), 'So:\n{"type": "tool_use", "name": "b"}'),
        ("finish-reason", {"value": "STOP"}, "x", Output(value="", tool_calls=(ToolCall(name="a"),))),
        ("javascript", {"value": "output.length > context.vars.least"}, "Hello", "He"),
        ("javascript", {"value": "output.length / 10", "threshold": 0.5}, "Hello", "Help"),
        ("javascript", {"value": "output.length - 4"}, "Hello", "Help"),
        ("javascript", {"value": "output.a === 1"}, {"a": 1}, {"a": 2}),
        ("javascript", {"value": "output[0].function?.name === 'a'"}, Output(value="", tool_calls=(ToolCall(name="a"),)), "a"),
        ("contains", {"value": "OSLO", "transform": ["output.trim()", "output.toUpperCase()"]}, " oslo ", "rome"),
        ("equals", {"value": 2, "transform": "JSON.parse(output).n"}, '{"n": 2}', '{"n": 3}'),
    ],
)  # fmt: skip
def test_a_check_passes_and_fails_as_in_promptfoo(kind, more, passing, failing):
    for output, passed in ((passing, True), (failing, False)):
        assert score_of({"type": kind, **more}, output, least=4).passed is passed
        assert score_of({"type": f"not-{kind}", **more}, output, least=4).passed is not passed


@pytest.mark.parametrize(
    ("code", "passed", "value", "reason"),
    [
        ("({pass: true, score: 0.5, reason: 'so'})", True, 0.5, "so"),
        ("({pass: true})", False, 0.0, "without `pass`, `score` and `reason`"),
        ("output.length", True, None, "returned 5"),
        ("undefined", False, 0.0, "undefined, which is no grade"),
        ("'pass'", False, 0.0, "string, which is no grade"),
        ("JSON.parse(output).a", False, 0.0, "throws an error: the text is not JSON"),
    ],
)
def test_what_code_returns_is_graded_as_in_promptfoo(code, passed, value, reason):
    score = score_of({"type": "javascript", "value": code}, "Hello")
    assert (score.status, score.passed, score.value) == ("scored", passed, value)
    assert reason in score.reason


def test_code_that_throws_fails_with_and_without_not():
    for kind in ("javascript", "not-javascript"):
        assert score_of({"type": kind, "value": "null.x"}, "Hello").passed is False


def test_without_weight_a_check_only_measures():
    score = score_of({"type": "contains", "value": "x", "weight": 0}, "y")
    assert (score.status, score.value, score.passed) == ("scored", 0.0, None)


@pytest.mark.parametrize(
    ("assertion", "output", "status", "reason"),
    [
        ({"type": "latency", "threshold": 1}, Output(value="x"), "unscored", "has no time"),
        ({"type": "cost", "threshold": 1}, Output(value="x"), "unscored", "is not known"),
        ({"type": "regex", "value": "^(a|aa)+$"}, "a" * 50 + "!", "error", "takes longer than"),
        ({"type": "contains-json"}, "{[" * 1000, "error", "braces that begin no object"),
        ({"type": "contains", "value": "x", "transform": "null"}, "x", "error", "returns nothing"),
        ({"type": "contains", "value": "x", "transform": "null.x"}, "x", "error", "transform throws an error"),
    ],
)
def test_what_cannot_be_judged_is_no_verdict(assertion, output, status, reason):
    score = score_of(assertion, output)
    assert (score.status, score.passed) == (status, None)
    assert reason in score.reason


@pytest.mark.parametrize("kind", ["llm-rubric", "similar", "__class__", ""])
def test_other_types_are_refused(kind):
    with pytest.raises(ConfigError, match="there is no deterministic assertion"):
        PromptfooAssertion(assertion={"type": kind})


def test_scores_of_overlap_have_the_values_of_their_definitions():
    # by hand: 5 of 6 words, 3 of 5, 2 of 4 and 1 of 3 sequences are common, and both have 6 words
    assert bleu_score("the cat sat on a mat", ["the cat sat on the mat"]) == pytest.approx(
        (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25
    )
    assert bleu_score("the cat", ["the cat sat on"]) == pytest.approx(2.718281828 ** (1 - 4 / 2))
    assert bleu_score("", ["x"]) == 0
    # 11 of 18 sequences of 1 to 4 words
    assert gleu_score("the cat sat on a mat", ["the cat sat on the mat"]) == pytest.approx(11 / 18)
    assert rouge_score("the the", "the cat") == pytest.approx(0.5)


def test_bleu_is_that_of_sacrebleu_without_smoothing_for_long_matches():
    sacrebleu = pytest.importorskip("sacrebleu")
    answer, reference = (
        "the quick brown fox jumps over the lazy dog today",
        "the quick brown fox jumped over the lazy dog today",
    )
    theirs = sacrebleu.sentence_bleu(answer, [reference], smooth_method="none", tokenize="none").score / 100
    assert bleu_score(answer, [reference]) == pytest.approx(theirs)


@pytest.mark.parametrize("text", ["<" * 100_000, "<a" * 50_000, "<a>" * 2_000, "{" * 100_000, "&" * 100_000])
def test_long_hostile_outputs_are_answered(text):
    assert is_html(text) in (True, False)
    for kind in ("is-xml", "contains-xml", "is-html", "contains-html", "is-json"):
        assert score_of({"type": kind}, text).status in ("scored", "error")
    with pytest.raises(LimitError) if text[0] == "{" else pytest.MonkeyPatch.context():
        assert list(json_objects(text)) == []
