"""Convert metrics with their own messages to `llm-rubric` assertions of promptfoo."""

from typing import Any

from evalmark.inputs.documents.serialization import json_text
from evalmark.interop.shared.export_run import ExportCheck
from evalmark.interop.shared.grader_prompts import GraderLabel, NotExpressibleError, labels_of, messages_of
from evalmark.interop.shared.model_names import to_promptfoo
from evalmark.scoring.judges.metric import MetricFile
from evalmark.scoring.judges.template import slots_in

ANSWER = "{{output}}"
RESERVED_VARIABLES = ("output", "rubric")
"""promptfoo's variables of the output and the assertion's value; a test variable with such a name would hide it."""
_SETTINGS = ("temperature", "max_tokens", "top_p", "seed")


def rubric_assertion(check: ExportCheck, shown: str, expected: str) -> dict[str, Any]:
    """The assertion: the messages of the metric with variables of promptfoo in them, and how the grader is to answer.

    `shown` is how the inputs of a test are shown, `expected` its reference answer.

    Raises:
        NotExpressibleError: promptfoo cannot ask so; the text is the rest of a sentence that names the check.
    """
    metric = check.metric
    if metric is None or metric.direction == "lower":
        raise NotExpressibleError("has better scores the lower they are, but a rubric needs better scores to be higher")
    messages = messages_of(check, {"input": shown, "output": ANSWER, "expected": _as_text(expected)})
    if any("{#" in text for _, text in messages):
        raise NotExpressibleError("has '{#' in its text, which begins a comment in promptfoo")
    if any(f"{{{{{name}}}}}" in shown for name in RESERVED_VARIABLES):
        raise NotExpressibleError(
            "cannot show the output, because an input of the prompt has the name of a promptfoo variable"
        )
    *before, (role, last) = messages
    prompt_messages = [
        *before,
        (role, f"{last.rstrip()}\n\n{_reply_instructions(metric, labels_of(metric, check.threshold))}"),
    ]
    least = {} if check.threshold is None else {"threshold": check.threshold}
    prompt = json_text([{"role": role, "content": text} for role, text in prompt_messages]).strip()
    return {"type": "llm-rubric", "value": metric.description or metric.name, "rubricPrompt": prompt, **least}


def shows_expected(check: ExportCheck) -> bool:
    """Tell whether a metric's messages show the expected answer, which differs between tests."""
    return any("expected" in slots_in(text) for _, text in check.messages)


def grader_of(check: ExportCheck) -> Any:
    """Return the judge with the metric's settings; None if promptfoo does not have the provider."""
    name = to_promptfoo(check.judge)
    settings = check.metric.settings if check.metric is not None and check.messages else {}
    config = {key: settings[key] for key in _SETTINGS if settings.get(key) is not None}
    return {"id": name, "config": config} if name and config else name


def differences(check: ExportCheck) -> list[str]:
    """Return how the exported rubric differs from the metric, each as the rest of a sentence."""
    texts = []
    if check.judge and to_promptfoo(check.judge) is None:
        texts.append(f"is judged by {check.judge} in evalmark; promptfoo has no such provider and uses its own grader")
    if check.messages and check.metric is not None:
        if check.metric.repeat > 1:
            texts.append(f"is asked {check.metric.repeat} times in evalmark, and once in promptfoo")
        if check.threshold is None and not labels_of(check.metric):
            texts.append("gives a score that fails no test")
    return texts


def _as_text(expected: str) -> str:
    """Protect a text from promptfoo's templating."""
    if "endraw" in expected:
        raise NotExpressibleError("compares with a text that contains template syntax")
    is_plain = not any(mark in expected for mark in ("{{", "{%", "{#"))
    return expected if is_plain else f"{{% raw %}}{expected}{{% endraw %}}"


def _reply_instructions(metric: MetricFile, labels: list[GraderLabel]) -> str:
    """Describe the reply format that promptfoo reads, for the metric's scores."""
    opening = 'Reply with one JSON object: {"reason": "...", "pass": true or false, "score": a number from 0 to 1}.'
    if not labels:
        measure = metric.measure
        low, high = (measure.low, measure.high) if measure.kind == "scale" else (0, 100)
        return f'{opening} "score" is your score from {low} to {high}, moved to 0 to 1; "pass" is true.'
    lines = [
        f'For {label.word}, "pass" is {str(label.passes).lower()} and "score" is {float(label.worth or 0):g}.'
        for label in labels
    ]
    return " ".join([opening, *lines])
