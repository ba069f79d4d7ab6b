"""The deterministic assertions of promptfoo that evalmark has no scorer for, by promptfoo's definitions."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rapidfuzz.distance import Levenshtein

from evalmark.core.lazy import need
from evalmark.core.values.case import Output
from evalmark.core.values.plain_data import plain
from evalmark.scoring.builtin.json_checks import JsonSchema

from .javascript.values import LimitError, from_python, json_text, make_pattern, to_text, to_units
from .markup import contains_html, has_xml, is_html, is_xml

Assertion = Mapping[str, Any]
_SPACE = re.compile(r"[\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+")
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|(?<![:\w])//.*')
_TINY = 1e-7
"""Takes the place of a precision of 0 in BLEU."""
_MAX_OBJECT_CHARS = 100_000
_MAX_READ_CHARS = 300_000
"""Characters that may be read as objects in one output, those that are read again included."""
_MAX_BRACES = 500
"""Braces and brackets of an object that is not JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """What an assertion says of an output."""

    passed: bool | None
    """None: it fails, also with `not-`."""
    score: float
    reason: str = ""
    negated: float | None = None
    """The score with `not-`; None: 1 less the score."""


class NoGradeError(Exception):
    """The output lacks what the assertion looks at."""


def text_for_checks(output: Output) -> str:
    """Return the output as promptfoo sees it in checks of texts: JSON if it is not a text."""
    value = value_for_code(output)
    return value if isinstance(value, str) else str(json_text(from_python(value)))


def value_for_code(output: Output) -> Any:
    """Return the output as promptfoo gives it to code: the tool calls if the model answered with nothing else."""
    if output.tool_calls and output.value in (None, ""):
        return [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(plain(call.arguments), ensure_ascii=False)},
            }
            for call in output.tool_calls
        ]
    return "" if output.value is None else plain(output.value)


def grade(kind: str, assertion: Assertion, output: Output) -> Grade:
    """Grade an output by a deterministic assertion without `not-`.

    Raises:
        NoGradeError: The output lacks what the assertion looks at.
        LimitError: The check takes too long.
    """
    return CHECKS[kind](assertion, output)


def _check(passed: bool, reason: str) -> Grade:
    return Grade(passed=passed, score=float(passed), reason=reason)


def _at_least(score: float, assertion: Assertion, default: float, what: str) -> Grade:
    threshold = _threshold(assertion, default)
    return Grade(passed=score >= threshold, score=score, reason=f"{what} {score:.4f}, and {threshold:g} passes")


def _threshold(assertion: Assertion, default: float) -> float:
    found = assertion.get("threshold")
    return default if found is None else float(found)


# Texts.


def texts_of(value: Any) -> list[str]:
    """Return the texts of a value that is one or several."""
    return [to_text(from_python(item)) for item in (value if isinstance(value, list) else [value])]


def _contains(assertion: Assertion, output: Output, *, every: bool = False, ignore_case: bool = False) -> Grade:
    answer, texts = to_units(text_for_checks(output)), list(map(to_units, texts_of(assertion.get("value"))))
    if ignore_case:
        answer, texts = answer.lower(), [text.lower() for text in texts]
    lacking = [text for text in texts if text not in answer]
    return _check(
        not lacking if every else len(lacking) < len(texts), f"{len(lacking)} of {len(texts)} texts are missing"
    )


def _equals(assertion: Assertion, output: Output) -> Grade:
    value, text = assertion.get("value"), text_for_checks(output)
    if not isinstance(value, (dict, list)):
        return _check(to_text(from_python(value)) == text, "compared as text")
    try:
        found = json.loads(text, parse_int=float)
    except (ValueError, RecursionError):
        return _check(False, "the output is not JSON")
    return _check(_same(found, json.loads(json.dumps(plain(value)), parse_int=float)), "compared as JSON")


def _same(left: Any, right: Any) -> bool:
    """Compare JSON; a boolean is never a number."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return type(left) is type(right) and bool(left == right)


def _starts_with(assertion: Assertion, output: Output) -> Grade:
    return _check(text_for_checks(output).startswith(str(assertion.get("value"))), "compared with the first characters")


def _regex(assertion: Assertion, output: Output) -> Grade:
    try:
        pattern = make_pattern(to_units(str(assertion.get("value"))), "")
    except ValueError as error:
        raise LimitError(f"the pattern cannot be read: {error}") from None
    return _check(pattern.search(to_units(text_for_checks(output))) is not None, f"matched with /{pattern.source}/")


def _words(text: str) -> list[str]:
    return [word for word in _SPACE.split(text) if word]


def _word_count(assertion: Assertion, output: Output) -> Grade:
    value = assertion.get("value")
    limits = value if isinstance(value, dict) else {"min": float(value or 0), "max": float(value or 0)}
    words = len(_words(text_for_checks(output)))
    low, high = limits.get("min"), limits.get("max")
    passed = (low is None or words >= low) and (high is None or words <= high)
    return _check(passed, f"the output has {words:,} words")


def _levenshtein(assertion: Assertion, output: Output) -> Grade:
    edits = Levenshtein.distance(to_units(text_for_checks(output)), to_units(str(assertion.get("value"))))
    most = _threshold(assertion, 5)
    return _check(edits <= most, f"the output is {edits:,} edits away, and {most:g} are allowed")


# Overlap of word sequences.


def _sequences(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[at : at + n]) for at in range(len(words) - n + 1))


def _common(left: Counter[tuple[str, ...]], right: Counter[tuple[str, ...]]) -> int:
    return (left & right).total()


def bleu_score(answer: str, references: Sequence[str]) -> float:
    """Compute sentence BLEU-4 of lower-case words, over the lengths that the answer has.

    `brevity * exp(mean of log(precision of n words))`, where 0 is replaced by 1e-7.

    >>> bleu_score("the cat sat", ["The cat sat"])
    1.0
    """
    words = _words(answer.lower())
    if not words:
        return 0.0
    others = [_words(reference.lower()) or [""] for reference in references]
    precisions = []
    for n in range(1, min(4, len(words)) + 1):
        own = _sequences(words, n)
        precisions.append(max(_common(own, _sequences(other, n)) for other in others) / own.total())
    nearest = min((abs(len(other) - len(words)), len(other)) for other in others)[1]
    brevity = 1.0 if len(words) > nearest else math.exp(1 - nearest / len(words))
    return brevity * math.exp(sum(math.log(share or _TINY) for share in precisions) / len(precisions))


def gleu_score(answer: str, references: Sequence[str]) -> float:
    """Compute the larger GLEU of the references: the smaller of precision and recall of 1 to 4 lower-case words.

    >>> gleu_score("the cat sat.", ["The cat sat"])
    1.0
    """
    words = _without_stops(answer)
    return max((_gleu(words, _without_stops(reference)) for reference in references), default=0.0)


def _without_stops(text: str) -> list[str]:
    stripped = _SPACE.sub(" ", text.lower()).strip()
    return [word.rstrip(".") for word in stripped.split(" ")]


def _gleu(words: list[str], other: list[str]) -> float:
    if words == other:
        return 1.0
    pairs = [(_sequences(words, n), _sequences(other, n)) for n in range(1, 5)]
    common = sum(_common(own, its) for own, its in pairs)
    return min(common / max(1, sum(side[at].total() for side in pairs)) for at in (0, 1))


def rouge_score(answer: str, reference: str) -> float:
    """Compute ROUGE-1: the F1 of the lower-case words and punctuation marks that both texts have.

    >>> round(rouge_score("The cat sat.", "the cat"), 3)
    0.667
    """
    own, its = (_sequences(_tokens(text.lower()), 1) for text in (answer, reference))
    common = _common(own, its)
    return 2 * common / (own.total() + its.total()) if common else 0.0


_MARKS = (
    (re.compile(r"\.\.\."), " ... "),
    (re.compile(r"([:,])(?!\d)"), r" \1 "),
    (re.compile(r"([;@#$%&?!\[\](){}<>])"), r" \1 "),
    (re.compile(r"([^.])\.([\])}>'\s]*)$"), r"\1 . \2"),
    (re.compile("--"), " -- "),
    (re.compile(r'"|``|\'\''), " '' "),
    (re.compile(r"([^' ])('(?:s|m|d|ll|re|ve)?)(?= |$)"), r"\1 \2"),
    (re.compile(r"n't(?= |$)"), " n't"),
    (re.compile(r"\b(can)(not)\b"), r"\1 \2"),
    (re.compile(r"\b(gim|lem)(me)\b"), r"\1 \2"),
    (re.compile(r"\b(gon)(na)\b"), r"\1 \2"),
    (re.compile(r"\b(got)(ta)\b"), r"\1 \2"),
)
"""Where the Penn Treebank separates words and marks."""


def _tokens(text: str) -> list[str]:
    for pattern, spaced in _MARKS:
        text = pattern.sub(spaced, text.strip())
    return text.split()


def _overlap(score: Callable[[str, list[str]], float], name: str) -> "Check":
    def check(assertion: Assertion, output: Output) -> Grade:
        if score is gleu_score and not text_for_checks(output):
            return Grade(passed=None, score=0, reason="the output is empty, which promptfoo fails, also with `not-`")
        return _at_least(score(text_for_checks(output), texts_of(assertion.get("value"))), assertion, 0.5, name)

    return check


def _rouge(assertion: Assertion, output: Output) -> Grade:
    score = rouge_score(text_for_checks(output), str(assertion.get("value")))
    return _at_least(score, assertion, 0.75, "ROUGE-1 is")


# JSON.


def _is_json(assertion: Assertion, output: Output) -> Grade:
    text = text_for_checks(output)
    try:
        json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return _check(False, "the output is not JSON")
    return _fits([json.loads(text)], assertion)


def _refuse(word: str) -> Any:
    raise ValueError(word)


def _contains_json(assertion: Assertion, output: Output) -> Grade:
    objects = list(json_objects(text_for_checks(output)))
    return _fits(objects, assertion) if objects else _check(False, "the output contains no JSON object")


def _fits(values: list[Any], assertion: Assertion) -> Grade:
    if not (schema := assertion.get("value")):
        return _check(True, "the output contains JSON")
    scorer = JsonSchema(schema)
    scores = [scorer(_NO_CASE, Output(value=json.dumps(value))) for value in values]
    for score in scores:
        if score.passed:
            return _check(True, score.reason)
    if any(score.status == "error" for score in scores):
        raise LimitError(scores[0].reason)
    return _check(False, scores[-1].reason)


def json_objects(text: str) -> Iterator[Any]:
    """Yield the objects in braces in a text, read as YAML in one line, which is what promptfoo reads them as.

    >>> list(json_objects('So: {"a": [1]} and {b: 2}'))
    [{'a': [1]}, {'b': 2}]
    """
    at, budget = text.find("{"), _MAX_READ_CHARS
    while at >= 0:
        part, is_closed = _braced(text, at)
        budget -= len(part)
        if budget < 0:
            raise LimitError("the output has too many braces that begin no object")
        found = _read_object(part)
        is_object = isinstance(found, (dict, list))
        if is_object:
            yield found
        at = text.find("{", at + len(part) if is_object and is_closed else at + 1)


def _braced(text: str, start: int) -> tuple[str, bool]:
    """Return the text from a brace to the one that closes it; if none does, the rest with braces added."""
    depth = 0
    end = min(len(text), start + _MAX_OBJECT_CHARS)
    for match in re.compile("[{}]").finditer(text, start, end):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return text[start : match.end()], True
    return text[start:end] + "}" * depth, False


def _read_object(part: str) -> Any:
    try:
        return json.loads(part)
    except (ValueError, RecursionError):
        return _read_yaml(part) if sum(part.count(sign) for sign in "{[") <= _MAX_BRACES else None


def _read_yaml(part: str) -> Any:
    yaml = need("yaml")
    lines = [_COMMENT.sub(lambda match: match[1] or "", line) for line in part.split("\n")]
    try:
        return json.loads(json.dumps(yaml.safe_load("\n".join(lines).replace("\t", " ")), default=str))
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, AttributeError):
        return None


# Other properties of the output.


def _latency(assertion: Assertion, output: Output) -> Grade:
    if output.seconds is None:
        raise NoGradeError("the output has no time: it was read from a file")
    most = float(assertion["threshold"])
    return _check(output.seconds * 1000 <= most, f"the output took {output.seconds * 1000:,.0f} ms")


def _cost(assertion: Assertion, output: Output) -> Grade:
    cost = output.metadata.get("cost")
    if not isinstance(cost, (int, float)):
        raise NoGradeError("the cost of the output is not known")
    return _check(cost <= float(assertion["threshold"]), f"the output cost ${cost:.6f}")


def _finish_reason(assertion: Assertion, output: Output) -> Grade:
    found = "tool_calls" if output.tool_calls else "stop"
    return _check(str(assertion.get("value")).lower() == found, f"the reply ended with {found!r}")


def _tool_call_f1(assertion: Assertion, output: Output) -> Grade:
    value = assertion.get("value")
    expected = {part.strip() for part in value.split(",")} if isinstance(value, str) else set(texts_of(value))
    called = {call.name for call in output.tool_calls} or set(called_names(output.value))
    score = 2 * len(expected & called) / (len(expected) + len(called))
    found = _at_least(score, assertion, 1.0, f"called {', '.join(sorted(called)) or 'no tool'}; F1 is")
    return replace(found, negated=score)


def called_names(value: Any) -> Iterator[str]:
    """Yield the names of the tools in what a model answered, in the forms of OpenAI, Anthropic and Google."""
    if isinstance(value, str):
        whole = _parsed(value)
        parts = [whole] if whole is not None else map(_parsed, value.split("\n"))
        for found in parts:
            yield from called_names(found) if isinstance(found, (dict, list)) else ()
    elif isinstance(value, Mapping):
        yield from _called(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _named(item) if isinstance(item, Mapping) else ()


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _called(value: Mapping[str, Any]) -> Iterator[str]:
    calls = value.get("tool_calls") or (value.get("toolCall") or {}).get("functionCalls")
    if isinstance(calls, list):
        yield from called_names(calls)
    elif value.get("type") in ("tool_use", "function_call") or "functionCall" in value:
        yield from _named(value)


def _named(item: Mapping[str, Any]) -> Iterator[str]:
    for inner in (item.get("functionCall"), item.get("function"), item):
        if isinstance(inner, Mapping) and isinstance(inner.get("name"), str):
            yield inner["name"]
            return


def _is_markup(check: Callable[[str, Any], bool], what: str) -> "Check":
    def run(assertion: Assertion, output: Output) -> Grade:
        passed = check(text_for_checks(output), assertion.get("value"))
        return _check(passed, f"the output {'is' if passed else 'is not'} {what}")

    return run


Check = Callable[[Assertion, Output], Grade]
_NO_CASE: Any = None
CHECKS: Mapping[str, Check] = {
    "contains": _contains,
    "icontains": lambda assertion, output: _contains(assertion, output, ignore_case=True),
    "contains-any": _contains,
    "icontains-any": lambda assertion, output: _contains(assertion, output, ignore_case=True),
    "contains-all": lambda assertion, output: _contains(assertion, output, every=True),
    "icontains-all": lambda assertion, output: _contains(assertion, output, every=True, ignore_case=True),
    "equals": _equals,
    "starts-with": _starts_with,
    "regex": _regex,
    "word-count": _word_count,
    "levenshtein": _levenshtein,
    "bleu": _overlap(bleu_score, "BLEU is"),
    "gleu": _overlap(gleu_score, "GLEU is"),
    "rouge-n": _rouge,
    "is-json": _is_json,
    "contains-json": _contains_json,
    "is-xml": _is_markup(is_xml, "the XML that is asked for"),
    "contains-xml": _is_markup(has_xml, "text with the XML that is asked for"),
    "is-html": _is_markup(lambda text, value: is_html(text), "HTML"),
    "contains-html": _is_markup(lambda text, value: contains_html(text), "text with HTML"),
    "latency": _latency,
    "cost": _cost,
    "finish-reason": _finish_reason,
    "tool-call-f1": _tool_call_f1,
}
