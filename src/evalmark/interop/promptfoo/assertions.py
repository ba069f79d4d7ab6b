"""Convert promptfoo's assertions to checks."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evalmark.inputs.secrets.fields import secret_paths
from evalmark.interop.shared.assertions import JUDGED, PROMPTFOO, SET, SIMILAR
from evalmark.interop.shared.items import dict_or_empty, is_number, list_or_empty

from .assertion_requests import AssertionRequest, AssertionScope, Data, UnsupportedAssertionError, row_check
from .assertion_values import (
    LARGEST_NUMBER,
    check_number,
    code_file,
    is_inline,
    is_negated,
    joined_changes,
    value_or_file,
)
from .checks import CHECKS
from .javascript.syntax import value_of_last_line
from .javascript.tokens import UnsupportedJavascriptError
from .judged_assertions import JUDGED_READERS, judge_of, rubric_of
from .rule_assertions import CHANGE_KEY, NEGATED, READERS, SIMILAR_TYPES, computed_request, promptfoo_request
from .scorers import javascript_program, transform_program
from .variables import fill_variables

CODE = ("javascript", "python", "ruby", "webhook")
_KEYS = (
    "type", "value", "metric", "weight", "threshold", "provider", "rubricPrompt", "description", "transform", "config",
    "contextTransform", "factuality",
)  # fmt: skip


def refuse_secrets(assertion: Mapping[str, Any]) -> None:
    """Refuse an assertion whose `config` has a secret, which would be written into the suite.

    Raises:
        UnsupportedAssertionError: it has one.
    """
    if found := next(secret_paths(assertion.get("config")), ()):
        raise UnsupportedAssertionError(
            f"its `config` contains a secret under {found[-1]!r:.40}; read it from the environment"
        )


def read_assertion(assertion: Mapping[str, Any], scope: AssertionScope) -> AssertionRequest:
    """Convert an assertion of a test.

    Raises:
        UnsupportedAssertionError: it is code that is not computed, or no scorer of evalmark is equivalent.
    """
    kind = str(assertion.get("type"))
    base = kind.removeprefix("not-")
    if base == "assert-set":
        return _set(assertion, scope)
    refuse_secrets(assertion)
    if base in CODE and not (base == "javascript" and is_inline(assertion.get("value"))):
        raise _code_error(base, assertion)
    if assertion.get("contextTransform"):
        raise UnsupportedAssertionError("its `contextTransform` is code that makes the context")
    value = fill_variables(value_or_file(assertion.get("value"), scope), scope.variables)
    own = {**assertion, "value": value, "transform": [*transforms_in(scope.options), *transforms_in(assertion)]}
    if base == "javascript":
        return _javascript(own)
    if base in _WITHOUT_TEXT:
        own["transform"] = []
    if base in CHECKS and (own["transform"] or assertion.get("weight") == 0):
        request = computed_request(base, own)
    else:
        request = (_measured if assertion.get("weight") == 0 else _native)(base, own, scope)
        if request.scorer in (*JUDGED, *SIMILAR):
            request = replace(request, transforms=tuple(own["transform"]))
    return replace(request, name=str(assertion.get("metric") or ""))


def ignored_keys(assertion: Mapping[str, Any]) -> list[str]:
    """Return the keys of an assertion that promptfoo does not know."""
    return [key for key, value in assertion.items() if key not in _KEYS and value is not None]


def transforms_in(options: Mapping[str, Any]) -> list[str]:
    """Return the code that changes the output before a check.

    Raises:
        UnsupportedAssertionError: it is not computed.
    """
    for key in ("transform", "postprocess"):
        if code := options.get(key):
            try:
                transform_program(code if isinstance(code, str) else "file://")
            except UnsupportedJavascriptError as why:
                raise UnsupportedAssertionError(f"its `{key}` is code that evalmark does not compute: {why}") from None
            return [code]
    return []


def _javascript(assertion: Mapping[str, Any]) -> AssertionRequest:
    """Convert code in JavaScript that is computed here."""
    check_number(assertion, "threshold")
    code, change = str(assertion["value"]), ""
    line = code.strip()
    if "\n" not in code.rstrip() and re.match(r"return\b", line):
        code = line.removeprefix("return").strip()
        change = "promptfoo always fails a single line that begins with `return`; here the line is computed without it"
    try:
        if (with_value := value_of_last_line(code)) is not None:
            code = with_value
            change = "promptfoo always fails code of several lines that returns nothing; here the value of its last line counts"
        javascript_program(code)
    except UnsupportedJavascriptError as why:
        raise UnsupportedAssertionError(
            f"it is code that evalmark does not compute: {why}; with --code all, Node.js runs it"
        ) from None
    return promptfoo_request({**assertion, "value": code}, change)


def _measured(base: str, assertion: Mapping[str, Any], scope: AssertionScope) -> AssertionRequest:
    """Convert a check that no deterministic definition has, with a transform or without weight."""
    if assertion["transform"]:
        raise UnsupportedAssertionError(
            "its `transform` changes the output before a judge or an embedding model sees it"
        )
    if base != "llm-rubric":
        raise UnsupportedAssertionError("its weight is 0: promptfoo measures it and never fails it")
    judge, settings, change = judge_of(assertion, scope)
    return AssertionRequest(
        scorer="criteria",
        settings={"criteria": rubric_of(assertion["value"]), **settings},
        judge=judge,
        change=joined_changes("graded from A to E, and measured only, as its weight is 0", change),
    )


def _native(base: str, assertion: Mapping[str, Any], scope: AssertionScope) -> AssertionRequest:
    """Convert to a scorer of evalmark, or else to a check by promptfoo's own definition."""
    if base in JUDGED_READERS:
        judge, settings, change = judge_of(assertion, scope)
        request = JUDGED_READERS[base](assertion, scope)
        changes = joined_changes(request.change, change)
        return replace(request, judge=judge, settings={**request.settings, **settings}, change=changes)
    negated = is_negated(assertion)
    reader = READERS.get(base)
    if reader is None and base not in CHECKS:
        raise UnsupportedAssertionError(_UNSUPPORTED.get(base, f"evalmark has no metric for {base!r:.40}"))
    if reader is None or (negated and base not in NEGATED):
        if base in SIMILAR_TYPES:
            raise UnsupportedAssertionError("evalmark cannot negate a similarity; rewrite its condition positively")
        return computed_request(base, assertion)
    scorer, settings, expected = reader(assertion["value"], assertion)
    return AssertionRequest(
        scorer=f"not-{scorer}" if negated and scorer != PROMPTFOO else scorer,
        settings={key: value for key, value in settings.items() if key != CHANGE_KEY},
        expected=expected,
        change=str(settings.get(CHANGE_KEY, "")),
    )


def _set(assertion: Mapping[str, Any], scope: AssertionScope) -> AssertionRequest:
    """Convert a set of assertions that passes by its mean score.

    Raises:
        UnsupportedAssertionError: one of them cannot be in a set.
    """
    members: list[AssertionRequest] = []
    weights: list[float] = []
    check_number(assertion, "threshold")
    for item in map(dict_or_empty, list_or_empty(assertion.get("assert"))):
        weight = item.get("weight", 1)
        if weight == 0 and item.get("type") != "assert-set":
            continue  # it changes neither the mean nor what passes
        if not is_number(weight) or not 0 <= weight < LARGEST_NUMBER:
            raise UnsupportedAssertionError("the weight of an assertion of the set is not a number from 0")
        try:
            members.append(read_assertion(item, scope))
        except UnsupportedAssertionError as why:
            raise UnsupportedAssertionError(f"{item.get('type')}: {why.why}") from None
        weights.append(weight)
    if not members:
        raise UnsupportedAssertionError("the set has no assertion that counts")
    if any(one.scorer in SIMILAR or one.contexts for one in members):
        raise UnsupportedAssertionError("a set whose mean counts cannot have checks of similarity or of a context")
    judges = {one.judge for one in members if one.scorer in JUDGED or one.judge}
    if len(judges) > 1:
        raise UnsupportedAssertionError("the assertions of the set have different graders")
    least = assertion.get("threshold")
    settings: Data = {"checks": [row_check(one, None) for one in members]}
    settings |= {"weights": weights} if any(weight != 1 for weight in weights) else {}
    settings |= {"threshold": float(least)} if is_number(least) else {}
    return AssertionRequest(
        scorer=SET,
        settings=settings,
        name=str(assertion.get("metric") or ""),
        judge=next(iter(judges), ""),
        change=joined_changes(*dict.fromkeys(one.change for one in members)),
        members=tuple(members),
    )


def _code_error(base: str, assertion: Mapping[str, Any]) -> UnsupportedAssertionError:
    """Return the error that says why code is not converted."""
    value = assertion.get("value")
    if base == "webhook":
        return UnsupportedAssertionError("it would send the output to an address in the file")
    if base == "ruby":
        return UnsupportedAssertionError("it is code in Ruby, which evalmark does not run")
    if isinstance(value, str) and not is_inline(value):
        named = code_file(value)
        path = named[0] if named else value
        return UnsupportedAssertionError(f"it is code; look at {path}, and name it with --code {path}")
    return UnsupportedAssertionError("it is code; look at it, and allow it with --code all")


_WITHOUT_TEXT = ("latency", "cost", "finish-reason")
"""Types that do not look at what the output says."""
_UNSUPPORTED = {
    "select-best": "it compares the outputs of several models; compare their runs with `evalmark compare`",
    "max-score": "it compares the outputs of several models; compare their runs with `evalmark compare`",
    "perplexity": "evalmark keeps no probabilities of tokens with an output",
    "perplexity-score": "evalmark keeps no probabilities of tokens with an output",
    "is-refusal": "promptfoo looks for phrases of a list of its own; write a rubric or a pattern",
    "moderation": "it sends the output to a moderation service",
    "classifier": "it sends the output to a classifier",
    "guardrails": "it reads what the provider's guardrails say, which evalmark does not know",
    **dict.fromkeys(
        ("is-valid-openai-tools-call", "is-valid-openai-function-call", "is-valid-function-call"),
        "it checks calls against the provider's list of tools, which a suite does not have",
    ),
    **dict.fromkeys(
        ("search-rubric", "agent-rubric"), "its judge uses tools, and judges of evalmark see only what they are shown"
    ),
    **dict.fromkeys(("is-sql", "contains-sql"), "evalmark has no parser of SQL; write a metric of your own"),
}
_OTHERS = (
    "agent-rubric", "answer-relevance", "bleu", "classifier", "contains-html", "contains-json", "contains-sql",
    "contains-xml", "context-faithfulness", "context-recall", "context-relevance", "conversation-relevance", "cost",
    "finish-reason", "gleu", "guardrails", "is-html", "is-refusal", "is-sql", "is-valid-function-call",
    "is-valid-openai-function-call", "is-valid-openai-tools-call", "is-xml", "levenshtein", "max-score", "meteor",
    "moderation", "perplexity", "perplexity-score", "pi", "rouge-n", "search-rubric", "select-best", "similar:dot",
    "similar:euclidean", "skill-used", "tool-call-f1", "trace-error-spans", "trace-span-count", "trace-span-duration",
)  # fmt: skip
TYPES = frozenset((*READERS, *JUDGED_READERS, *CODE, *_OTHERS))
"""Types that a cell of a CSV file may name; other text before a colon is part of the answer."""
