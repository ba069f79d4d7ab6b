"""Convert promptfoo's assertions that a model judges."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from evalmark.core.errors import DataError
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.interop.shared.assertions import SET
from evalmark.interop.shared.items import dict_or_empty, is_number
from evalmark.interop.shared.model_names import is_callable_model
from evalmark.scoring.binding.text import text_of

from .assertion_requests import AssertionRequest, AssertionScope, Data, UnsupportedAssertionError, row_check
from .assertion_values import is_inline, is_negated, joined_changes, required_text, threshold_of, value_or_file
from .settings import ADDRESSES, IDLE, UnsupportedProviderError, model_of
from .variables import fill_variables, without_raw_marks

_JUDGE_SETTINGS = {"temperature": "temperature", "max_tokens": "max_tokens", "top_p": "top_p", "seed": "seed"}
_WITH_OWN_PROMPT = ("llm-rubric", "model-graded-closedqa")
_SHOWN = "(the answer that is shown below)"
_RAG_CRITERIA = {
    "context-recall": "Look at the passages in the input called `context`, and not at the output. Each statement of the "
    "following expected answer can be attributed to these passages; grade by the share of its statements that can. Expected "
    "answer: {value}",
    "context-relevance": "Look at the passages in the input called `context`, and not at the output. Their sentences are needed "
    "to answer the question in the input called `query`; grade by the share of the sentences that are.",
    "answer-relevance": "The output answers the very question in the input called `query`, or the input itself if there is none "
    "of that name: from the output alone one could guess that question. It neither evades it nor answers another one.",
}
"""What promptfoo measures, as criteria; `answer-relevance` is measured there with embeddings of questions that a model guesses."""


def judge_of(assertion: Mapping[str, Any], scope: AssertionScope) -> tuple[str, Data, str]:
    """Return the judge model (empty if none is named), its settings, and what changes."""
    base = str(assertion.get("type")).removeprefix("not-")
    for key in ("rubricPrompt", "factuality"):
        is_read = key == "rubricPrompt" and base in _WITH_OWN_PROMPT
        if (assertion.get(key) or scope.options.get(key)) and not is_read:
            raise UnsupportedAssertionError(f"it has its own `{key}`; write it as a metric file")
    grader = assertion.get("provider") or scope.options.get("provider")
    if isinstance(grader, dict) and "text" in grader:
        grader = grader["text"]
    config = dict_or_empty(grader.get("config")) if isinstance(grader, dict) else {}
    name = grader.get("id") if isinstance(grader, dict) else grader
    if name is None:
        return "", {}, ""
    judge = scope.graders.get(str(name)) or _callable_judge(name, config)
    if judge is None or not is_callable_model(judge):
        return (
            "",
            {},
            f"its grader {text_of(name)!r:.60} is not a model that evalmark can call: the suite's judge takes its place",
        )
    settings = {ours: config[key] for key, ours in _JUDGE_SETTINGS.items() if is_number(config.get(key))}
    lost = [key for key in config if key not in (*_JUDGE_SETTINGS, *IDLE, *ADDRESSES)]
    change = f"without the grader's `{'`, `'.join(map(str, lost))}`" if lost else ""
    return judge, {"settings": settings} if settings else {}, change


def _callable_judge(name: Any, config: Data) -> str | None:
    try:
        return model_of(name, config) if isinstance(name, str) else None
    except UnsupportedProviderError:
        return None


def rubric_of(value: Any) -> str:
    """Return the text of a rubric; an empty one is an error."""
    text = value if isinstance(value, str) else text_of(value)
    if not text.strip():
        raise UnsupportedAssertionError("it has no `value`")
    return text


def _unless_negated(text: str, assertion: Mapping[str, Any]) -> str:
    return f"The opposite of this criterion has to be true of the output: {text}" if is_negated(assertion) else text


def _with_own_prompt(rubric: str, assertion: Mapping[str, Any], scope: AssertionScope) -> tuple[str, str]:
    """Return the rubric in the user's own prompt for judges, if there is one, and what that changes."""
    prompt = assertion.get("rubricPrompt") or scope.options.get("rubricPrompt")
    if not prompt:
        return rubric, ""
    if isinstance(prompt, str) and not is_inline(prompt):
        prompt = without_raw_marks(value_or_file(prompt, scope))
    if isinstance(prompt, str) and prompt.lstrip().startswith("["):
        with suppress(DataError):
            prompt = parse_json(prompt, "rubricPrompt")
    if isinstance(prompt, list):
        prompt = "\n\n".join(str(dict_or_empty(message).get("content", "")) for message in prompt)
    if not isinstance(prompt, str):
        raise UnsupportedAssertionError("its own `rubricPrompt` is neither a text nor a chat")
    shown = {"output": _SHOWN, "completion": _SHOWN, "rubric": rubric, "criteria": rubric}
    filled = fill_variables(prompt, {**scope.variables, **shown})
    return str(filled), "its own prompt becomes the criterion, and evalmark asks for the reply in its own form"


def _llm_rubric(assertion: Mapping[str, Any], scope: AssertionScope) -> AssertionRequest:
    own, change = _with_own_prompt(rubric_of(assertion["value"]), assertion, scope)
    criteria = _unless_negated(own, assertion)
    if assertion.get("threshold") is None:
        change = joined_changes("the judge answers yes or no, and gives no score between", change)
        return AssertionRequest(scorer="closed_qa", settings={"criteria": criteria}, change=change)
    change = joined_changes("the judge gives one of five grades, worth from 0 to 1, and no score of its own", change)
    return _criteria_request(criteria, threshold_of(assertion, 0.0), change)


def _criteria_request(criteria: str, threshold: float, change: str) -> AssertionRequest:
    return AssertionRequest(scorer="criteria", settings={"criteria": criteria}, threshold=threshold, change=change)


def _closed(assertion: Mapping[str, Any], scope: AssertionScope) -> AssertionRequest:
    own, change = _with_own_prompt(required_text(assertion["value"]), assertion, scope)
    opposite = "evalmark asks for the opposite of the criterion" if is_negated(assertion) else ""
    settings = {"criteria": _unless_negated(own, assertion)}
    return AssertionRequest(scorer="closed_qa", settings=settings, change=joined_changes(opposite, change))


def _not_negated(assertion: Mapping[str, Any]) -> None:
    if is_negated(assertion):
        raise UnsupportedAssertionError("evalmark cannot negate this assertion; rewrite its condition positively")


def _g_eval(assertion: Mapping[str, Any], scope: AssertionScope) -> AssertionRequest:
    _not_negated(assertion)
    value, least = assertion["value"], threshold_of(assertion, 0.7)
    change = "the judge gives one of five grades, worth from 0 to 1, instead of 0 to 10 by steps that it first writes"
    if not isinstance(value, list) or len(value) == 1:
        return _criteria_request(required_text(value[0] if isinstance(value, list) else value), least, change)
    members = tuple(_criteria_request(required_text(item), 0.0, "") for item in value)
    checks = [row_check(one, None) for one in members]
    return AssertionRequest(scorer=SET, settings={"checks": checks, "threshold": least}, change=change, members=members)


def _factual(assertion: Mapping[str, Any], scope: AssertionScope) -> AssertionRequest:
    _not_negated(assertion)
    # Everything but a contradiction passes: only a contradiction scores 0.
    change = (
        "a part of the reference scores 0.4 and more than it 0.6, and both pass as in promptfoo, where they score 1"
    )
    expected = required_text(assertion["value"])
    return AssertionRequest(scorer="factuality", expected=expected, threshold=0.4, change=change)


def _contexts(scope: AssertionScope) -> tuple[str, ...]:
    context = scope.variables.get("context")
    texts = context if isinstance(context, list) else [context]
    if not all(isinstance(text, str) and text.strip() for text in texts):
        raise UnsupportedAssertionError("the test has no variable `context` with a text")
    return tuple(texts)


def _faithful(assertion: Mapping[str, Any], scope: AssertionScope) -> AssertionRequest:
    _not_negated(assertion)
    change = "the share of the claims of the output that the context bears out, asked in evalmark's words"
    least = threshold_of(assertion, 0.0)
    return AssertionRequest(scorer="faithfulness", threshold=least, contexts=_contexts(scope), change=change)


def _rag(assertion: Mapping[str, Any], scope: AssertionScope) -> AssertionRequest:
    _not_negated(assertion)
    base = str(assertion["type"])
    if base != "answer-relevance":
        _contexts(scope)
    text = _RAG_CRITERIA[base]
    criteria = text.replace("{value}", required_text(assertion["value"])) if "{value}" in text else text
    change = "the judge grades what promptfoo measures in five grades, worth from 0 to 1"
    return _criteria_request(criteria, threshold_of(assertion, 0.0), change)


JUDGED_READERS: Mapping[str, Callable[[Mapping[str, Any], AssertionScope], AssertionRequest]] = {
    "llm-rubric": _llm_rubric,
    "model-graded-closedqa": _closed,
    "g-eval": _g_eval,
    "factuality": _factual,
    "model-graded-factuality": _factual,
    "context-faithfulness": _faithful,
    **dict.fromkeys(_RAG_CRITERIA, _rag),
}
