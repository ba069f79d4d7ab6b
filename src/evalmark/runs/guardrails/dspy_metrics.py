"""A scorer as the metric of a DSPy program: for its `Evaluate` and for its optimizers."""

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
    """Which fields of an example and a prediction hold what; None: as they say themselves."""

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
    """A scorer as a DSPy metric: `metric(example, prediction, trace=None)`.

    It gives the score from 0 to 1, turned round where lower is better; while an optimizer bootstraps
    (a trace is there) whether the score passes, if it can; and for GEPA score and reason. The answer is
    the prediction's only field beside its reasoning, or `answer`; the expected answer is the label of
    the same name, or `expected`, or the only label. What cannot be judged counts as `unscored`, and
    raises where that is None.

    Raises:
        ConfigError: the scorer cannot be used or lacks its judge, or `unscored` is no number from 0 to 1.
    """
    if unscored is not None and not (isinstance(unscored, int | float) and 0 <= unscored <= 1):
        raise ConfigError(f"dspy_metric: `unscored` is {unscored!r}; it has to be a number from 0 to 1, or None.")
    checks = bind_checks("dspy_metric", [scorer], embeddings, judge)
    fields = DspyFields(answer=answer, expected=expected)

    def metric(example: Any, prediction: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None) -> Any:
        scores = run_sync(_scores(checks, example, prediction, fields))
        value = _value(scores, unscored)
        if pred_name is not None:
            told = "; ".join(score.reason for score in scores if score.reason)
            return need("dspy", "dspy").Prediction(score=value, feedback=told or f"The score is {value:z.3g}.")
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
    given, labels = dict(example.inputs().items()), dict(example.labels().items())
    passages = next(
        (given.get(name, labels.get(name)) for name in CONTEXT_FIELDS if name in given or name in labels), None
    )
    asked = {name: value for name, value in given.items() if name not in CONTEXT_FIELDS} or given
    return Case(
        id="example",
        input=next(iter(asked.values())) if len(asked) == 1 else asked,
        expected=_expected(labels, prediction, output, fields),
        contexts=tuple(map(str, passages)) if isinstance(passages, list | tuple) else None,
        metadata=labels,
    )


def _expected(labels: Mapping[str, Any], prediction: Any, output: Output, fields: DspyFields) -> Any:
    """The label that stands beside the answer.

    Raises:
        ConfigError: a field is named that the example does not have.
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
    found = same or (plain if len(plain) == 1 else {})
    return next(iter(found.values()), None)


def _answers(prediction: Any, output: Output) -> list[str]:
    """The names of the fields that make up the answer."""
    names = list(prediction.keys()) if hasattr(prediction, "keys") else []
    aside = (*REASONING_FIELDS, *(CONTEXT_FIELDS if output.contexts is not None else ()))
    return [name for name in names if name not in aside] or names


def _value(scores: tuple[Score, ...], unscored: float | None) -> float:
    """The mean of the scores, each turned so that higher is better.

    Raises:
        EvalmarkError: one says nothing, and nothing was said to stand for it.
    """
    silent = next((score for score in scores if score.status != "scored" or score.value is None), None)
    if silent is not None and unscored is None:
        why = silent.reason or f"the score {silent.raw} is on no scale from 0 to 1"
        raise EvalmarkError(f"{silent.name} cannot judge the example: {why}. Set `unscored` to count it as a number.")
    known = [
        unscored if score.status != "scored" or score.value is None else _upward(score, score.value) for score in scores
    ]
    return fmean(value for value in known if value is not None)


def _upward(score: Score, value: float) -> float:
    return value if score.direction == "higher" else 1 - value
