"""Graders of OpenAI's evals API as scorers: they grade as the API documents it, from the grader's own JSON."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Reply
from evalmark.core.values.case import Case, Output, Turn
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.score import Score
from evalmark.interop.shared.items import dict_or_empty, is_number
from evalmark.scoring.binding.scores import meets_threshold, unscored
from evalmark.scoring.judges.delimiters import untrusted_text
from evalmark.scoring.judges.judge_scores import score_output
from evalmark.scoring.judges.measure import KEYS, REASON, Measure
from evalmark.scoring.judges.metric import MetricFile
from evalmark.scoring.judges.question import Question
from evalmark.scoring.judges.replies import ReplyFault, describe_reply_value, reply_object
from evalmark.scoring.judges.verdict import Verdict, read_verdict, shorten_reason

from .formula import FormulaError, formula_value
from .grader_json import (
    CODE_GRADER,
    OPERATIONS,
    Data,
    graders_in,
    label_options,
    messages_in,
    needs_model,
    python_graders,
    range_of,
    require_valid,
    score_share,
)
from .templates import MissingValueError, item_from, render_template, sample_from
from .text_metrics import text_metric

Functions = Mapping[str, Callable[[Data, Data], float]]
_SETTINGS = {
    "max_completions_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    **{name: name for name in ("temperature", "top_p", "seed", "reasoning_effort")},
}
"""Sampling parameters of model graders, and the settings of a request that they are here."""


@dataclass(frozen=True, kw_only=True)
class OpenAIGrader:
    """Grade as a grader of OpenAI's evals API without a model: string_check, text_similarity, python, or multi of these.

    Args:
        grader: The grader's JSON.
        expected: The key of the API's items that is the case's expected answer.
        graded: The key of the API's items that is the output, where items hold the outputs.
        variant: How a text metric with several definitions is computed; empty uses the usual one.
        functions: The function `grade(sample, item)` of each Python grader, by its name inside `multi`, or "".
        name: The name of the score; empty uses the grader's.

    Returns:
        A score with the grader's number as `raw`; it passes from `pass_threshold` on, a string check at 1; `unscored` if
        the item lacks a value that a template names.

    Raises:
        ConfigError: The grader cannot be used.

    >>> check = {"type": "string_check", "name": "m", "input": "{{sample.output_text}}", "reference": "{{item.city}}"}
    >>> case = Case(id="1", input={"city": "Oslo"})
    >>> OpenAIGrader(grader={**check, "operation": "ilike"})(case, Output(value="It is oslo.")).passed
    True
    """

    grader: Mapping[str, Any]
    expected: str = ""
    graded: str = ""
    variant: str = ""
    functions: Functions = field(default_factory=dict)
    name: str = ""

    def __post_init__(self) -> None:
        require_valid(self.grader)
        if not self.name:
            object.__setattr__(self, "name", str(self.grader.get("name") or self.grader["type"]))
        if missing := python_graders(self.grader).keys() - self.functions.keys():
            raise ConfigError(f"{self.name}: the code of the Python grader {min(missing) or self.name!r} is missing.")

    @property
    def fingerprint(self) -> str:
        """A hash of everything that decides a score."""
        return fingerprint("openai-grader-1", self.grader, self.expected, self.graded, self.variant)

    def __call__(self, case: Case, output: Output) -> Score:
        """Score one output."""
        try:
            data = item_from(case, self.expected, self.graded, output), sample_from(output)
            return grader_score(self.name, self.grader, grader_number(self.grader, data, self.functions, self.variant))
        except (MissingValueError, FormulaError) as error:
            return unscored(self.name, f"the grader {error}")


def grader_number(
    grader: Mapping[str, Any], data: tuple[Data, Data], functions: Functions, variant: str = "", name: str = ""
) -> float:
    """Return the number that a grader without a model gives.

    Args:
        grader: The grader's JSON.
        data: The item and the sample.
        functions: The function of each Python grader, by name.
        variant: How a text metric with several definitions is computed.
        name: The grader's name inside a `multi` grader.

    Raises:
        MissingValueError, FormulaError: there is none.
    """
    item, sample = data
    kind = grader["type"]
    if kind == CODE_GRADER:
        return float(functions[name](sample, item))
    if kind == "multi":
        inner = graders_in(grader).items()
        scores = {key: grader_number(one, data, functions, variant, key) for key, one in inner}
        return formula_value(grader["calculate_output"], scores)
    output, reference = (render_template(str(grader.get(key, "")), item, sample) for key in ("input", "reference"))
    if kind == "string_check":
        return float(OPERATIONS[grader["operation"]](output, reference))
    measure = text_metric(str(grader["evaluation_metric"]), variant)
    return 0.0 if measure is None else measure(output, reference)


@dataclass(frozen=True, kw_only=True)
class OpenAIModelGrader:
    """Ask a judge the question of a grader of OpenAI's evals API: label_model, score_model, or multi with one of these.

    The grader's messages are sent as they are, followed by how to reply.

    Args:
        grader: The grader's JSON.
        expected: The key of the API's items that is the case's expected answer.
        graded: The key of the API's items that is the output, where items hold the outputs.
        functions: The function `grade(sample, item)` of each Python grader inside `multi`, by name.
        name: The name of the score; empty uses the grader's.
        judge: A chat model for this scorer; None uses the run's judge.

    Returns:
        A score from 0 to 1 in the grader's range; a label passes if it is among `passing_labels`, a score from
        `pass_threshold` on; `unscored` if no reply can be used.

    Raises:
        ConfigError: The grader cannot be used.
    """

    grader: Mapping[str, Any]
    expected: str = ""
    graded: str = ""
    functions: Functions = field(default_factory=dict)
    name: str = ""
    judge: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        require_valid(self.grader)
        if not self.name:
            object.__setattr__(self, "name", str(self.grader.get("name") or self.grader["type"]))

    @property
    def fingerprint(self) -> str:
        """A hash of everything that decides a score."""
        return fingerprint("openai-model-grader-1", self.grader, self.expected, self.graded)

    async def __call__(self, case: Case, output: Output, judge: ChatModel) -> Score:
        """Score one output."""
        try:
            if self.grader["type"] != "multi":
                return await self._judged(self.grader, case, output, judge)
            return await self._combined(case, output, judge)
        except (MissingValueError, FormulaError) as error:
            return unscored(self.name, f"the grader {error}")

    async def _combined(self, case: Case, output: Output, judge: ChatModel) -> Score:
        """Score by the formula of a `multi` grader."""
        numbers: dict[str, float] = {}
        reasons = []
        data = item_from(case, self.expected, self.graded, output), sample_from(output)
        for key, one in graders_in(self.grader).items():
            if not needs_model(one):
                numbers[key] = grader_number(one, data, self.functions, name=key)
                continue
            score = await self._judged(one, case, output, judge)
            if score.value is None:
                return unscored(self.name, f"{key}: {score.reason}")
            low, high = range_of(one)
            numbers[key] = (
                float(bool(score.passed)) if one["type"] == "label_model" else low + score.value * (high - low)
            )
            reasons.append(f"{key}: {score.reason}")
        return grader_score(
            self.name, self.grader, formula_value(self.grader["calculate_output"], numbers), "; ".join(reasons)
        )

    async def _judged(self, grader: Mapping[str, Any], case: Case, output: Output, judge: ChatModel) -> Score:
        item, sample = item_from(case, self.expected, self.graded, output), sample_from(output)
        turns = [
            Turn(role=role, content=render_template(text, item, sample)) for role, text in messages_in(grader["input"])
        ]
        labels, (low, high) = label_options(grader), range_of(grader)
        metric = MetricFile(
            name=self.name,
            description=self.name,
            measure=Measure(kind="choice", options=labels) if labels else Measure(kind="percentage"),
            threshold=1.0 if labels else score_share(grader, low, high),
        )
        form = _LABEL_FORM.format(labels=", ".join(labels)) if labels else _SCORE_FORM.format(low=low, high=high)
        parameters = dict_or_empty(grader.get("sampling_params"))
        question = Question(
            messages=(*turns, Turn(role="user", content=form)),
            form=form,
            material=(untrusted_text("output", sample["output_text"]),),
            schema=metric.measure.schema(),
            settings={_SETTINGS[k]: value for k, value in parameters.items() if k in _SETTINGS and value is not None},
        )
        read = partial(read_verdict, measure=metric.measure) if labels else partial(_read_score, low=low, high=high)
        score = await score_output(judge, question, read, metric, 1)
        if score.value is None or metric.threshold is None:
            return score
        return replace(score, passed=meets_threshold(score.value, metric.threshold))


_LABEL_FORM = (
    'Reply with one JSON object and nothing after it: {{"reason": "...", "answer": "..."}}\n'
    "`reason` comes first: a few sentences on why. `answer` is one of these labels: {labels}"
)
_SCORE_FORM = (
    'Reply with one JSON object and nothing after it: {{"reason": "...", "score": N}}\n'
    "`reason` comes first: a few sentences on why. `score` is a number from {low:g} to {high:g}."
)


def _read_score(reply: Reply, *, low: float, high: float) -> Verdict | ReplyFault:
    """Read a score in the grader's range, as a percentage of the way from its lowest to its highest score."""
    found = reply_object(reply, KEYS["percentage"], ())
    if isinstance(found, ReplyFault):
        return found
    raw, reason = found.get(KEYS["percentage"]), found.get(REASON)
    if not is_number(raw):
        return ReplyFault(f"`score` is {describe_reply_value(raw)}, not a number")
    if not low <= raw <= high:
        return ReplyFault(
            f"`score` is {describe_reply_value(raw)}, not a number from {low:g} to {high:g}", "judge_range"
        )
    return Verdict((raw - low) / (high - low) * 100, shorten_reason(reason if isinstance(reason, str) else ""))


def grader_score(name: str, grader: Mapping[str, Any], number: float, reason: str = "") -> Score:
    """Return the score of a grader's number: it passes from `pass_threshold` on, a string check at 1."""
    least = 1.0 if grader["type"] == "string_check" else grader.get("pass_threshold")
    passed = meets_threshold(number, least) if is_number(least) else None
    value = number if 0 <= number <= 1 else None
    return Score(name=name, raw=number, value=value, passed=passed, reason=reason or f"the grader gives {number:g}")


def grader_module(grader: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Return a Python file with the code of a grader, and the function `scorer` that calls it."""
    asks = needs_model(grader)
    made = "OpenAIModelGrader" if asks else "OpenAIGrader"
    parts = [f"import json as _json\n\nfrom evalmark.scorers import {made} as _Grader\n\n_functions = {{}}"]
    for name, source in python_graders(grader).items():
        parts += [source.strip(), f"_functions[{name!r}] = grade"]
    rest = {key: value for key, value in grader.items() if key != "source"}
    options = "".join(f", {key}={value!r}" for key, value in settings.items() if value)
    text = json.dumps(rest, ensure_ascii=True)
    parts.append(f"_grader = _Grader(grader=_json.loads({text!r}), functions=_functions{options})")
    head = "async def scorer(case, output, judge):" if asks else "def scorer(case, output):"
    call = "await _grader(case, output, judge)" if asks else "_grader(case, output)"
    return "\n\n\n".join([*parts, f"{head}\n    return {call}"]) + "\n"
