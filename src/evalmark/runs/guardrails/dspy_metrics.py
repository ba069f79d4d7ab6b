"""`dspy_metric`: a scorer as a DSPy metric, for `Evaluate` and for optimizers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from evalmark.core.errors import ConfigError, EvalmarkError
from evalmark.core.lazy import need
from evalmark.core.sync import run_sync
from evalmark.core.values.case import Case, Output
from evalmark.core.values.score import Score
from evalmark.runs.targets.program import CONTEXT_FIELDS, REASONING_FIELDS, read_prediction

from .checks import Check, Checks, Embeddings, Judge, bind_checks


@dataclass(frozen=True, slots=True, kw_only=True)
class DspyFields:
    """The fields of the answer and of the expected answer; None: detect them."""

    answer: str | None
    expected: str | None


def dspy_metric(
    scorer: Check,
    *,
    answer: str | None = None,
    expected: str | None = None,
    unscored: float | None = None,
    embeddings: Embeddings = None,
    judge: Judge = None,
) -> Callable[..., Any]:
    """Make a DSPy metric of a scorer: `metric(example, prediction, trace=None)`.

    The metric returns the score from 0 to 1, inverted if lower is better. With a trace, while an optimizer bootstraps,
    it returns whether the score passes, if the scorer decides that. For GEPA it returns the score and the reason.

    Args:
        scorer: A scorer's name, `{name: settings}`, a function, or a scorer.
        answer: The prediction's field with the answer; by default its only field besides the reasoning.
        expected: The label with the expected answer; by default the label of the same name, or the only label.
        unscored: The score, from 0 to 1, of an example that cannot be scored; None raises an error instead.
        embeddings: The embedding model of the scorer.
        judge: The judge model of the scorer.

    Returns:
        A function that DSPy accepts as a metric. It raises EvalmarkError for an example that cannot be scored, unless
        `unscored` is set.

    Raises:
        ConfigError: the scorer cannot be used or lacks its judge, or `unscored` is not a number from 0 to 1.

    Example:
        >>> dspy_metric("equals").__name__
        'equals'
    """
    if unscored is not None and not (isinstance(unscored, int | float) and 0 <= unscored <= 1):
        raise ConfigError(f"dspy_metric: `unscored` is {unscored!r}; it has to be a number from 0 to 1, or None.")
    checks = bind_checks("dspy_metric", [scorer], embeddings, judge)
    fields = DspyFields(answer=answer, expected=expected)

    def metric(example: Any, prediction: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None) -> Any:
        scores = run_sync(_scores(checks, example, prediction, fields))
        value = _value(scores, unscored)
        if pred_name is not None:
            reasons = "; ".join(score.reason for score in scores if score.reason)
            return need("dspy", "dspy").Prediction(score=value, feedback=reasons or f"The score is {value:z.3g}.")
        decided = [score.passed for score in scores if score.passed is not None]
        return all(decided) if trace is not None and decided else value

    metric.__name__ = checks.bound[0].name
    return metric


async def _scores(checks: Checks, example: Any, prediction: Any, fields: DspyFields) -> tuple[Score, ...]:
    output = read_prediction(prediction, None)
    if fields.answer is not None:
        output = replace(output, value=prediction[fields.answer])
    return await checks.scores(_case(example, prediction, output, fields), output)


def _case(example: Any, prediction: Any, output: Output, fields: DspyFields) -> Case:
    inputs, labels = dict(example.inputs().items()), dict(example.labels().items())
    passages = next(
        (inputs.get(name, labels.get(name)) for name in CONTEXT_FIELDS if name in inputs or name in labels), None
    )
    questions = {name: value for name, value in inputs.items() if name not in CONTEXT_FIELDS} or inputs
    return Case(
        id="example",
        input=next(iter(questions.values())) if len(questions) == 1 else questions,
        expected=_expected_value(labels, prediction, output, fields),
        contexts=tuple(map(str, passages)) if isinstance(passages, list | tuple) else None,
        metadata=labels,
    )


def _expected_value(labels: Mapping[str, Any], prediction: Any, output: Output, fields: DspyFields) -> Any:
    """Return the label with the expected answer.

    Raises:
        ConfigError: the example lacks the named label.
    """
    if fields.expected is not None:
        if fields.expected not in labels:
            raise ConfigError(f"dspy_metric: no label {fields.expected!r} among {sorted(labels)}.")
        return labels[fields.expected]
    answers = [fields.answer] if fields.answer else _answers(prediction, output)
    same = {name: labels[name] for name in answers if name in labels}
    if len(answers) > 1:
        return same or None
    plain = {name: value for name, value in labels.items() if name not in CONTEXT_FIELDS}
    candidates = same or (plain if len(plain) == 1 else {})
    return next(iter(candidates.values()), None)


def _answers(prediction: Any, output: Output) -> list[str]:
    """Return the names of the answer fields."""
    names = list(prediction.keys()) if hasattr(prediction, "keys") else []
    other_fields = (*REASONING_FIELDS, *(CONTEXT_FIELDS if output.contexts is not None else ()))
    return [name for name in names if name not in other_fields] or names


def _value(scores: tuple[Score, ...], unscored: float | None) -> float:
    """Return the mean of the scores, each with higher as better.

    Raises:
        EvalmarkError: a score is missing, and `unscored` is None.
    """
    missing = next((score for score in scores if score.status != "scored" or score.value is None), None)
    if missing is not None and unscored is None:
        why = missing.reason or f"the score {missing.raw} is not on a scale from 0 to 1"
        raise EvalmarkError(
            f"{missing.name} cannot score the example: {why}. Set `unscored` to give such examples a score."
        )
    values = [
        unscored if score.status != "scored" or score.value is None else _upward(score, score.value) for score in scores
    ]
    return fmean(value for value in values if value is not None)


def _upward(score: Score, value: float) -> float:
    return value if score.direction == "higher" else 1 - value
