"""Read and check the JSON of graders of OpenAI's evals API."""

from collections.abc import Callable, Mapping
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.interop.shared.items import dict_or_empty, is_number, list_or_empty
from evalmark.scoring.binding.text import preview
from evalmark.scoring.judges.measure import Option

from .formula import FormulaError, check_formula
from .templates import unknown_slots
from .text_metrics import text_metric

Data = dict[str, Any]
MODEL_GRADERS = ("label_model", "score_model")
CODE_GRADER = "python"
_ROLES = {"developer": "system", "system": "system", "user": "user", "assistant": "assistant"}
_TEXT_PARTS = ("input_text", "output_text", "text")


class GraderError(Exception):
    """A grader cannot be used here; the text completes a sentence that begins with its name."""


def check_grader(grader: Mapping[str, Any]) -> None:
    """Check that a grader, with those inside it, can be used.

    Raises:
        GraderError: it cannot.
    """
    kind = str(grader.get("type"))
    if kind not in _CHECKS:
        raise GraderError(f"is of the type {kind!r:.40}, which evalmark does not have")
    for text in (grader.get("input"), grader.get("reference")):
        if isinstance(text, str) and (strange := unknown_slots(text)):
            raise GraderError(f"has {strange[0]!r:.60} in a text, which is no value of an item or sample")
    _CHECKS[kind](grader)


def graders_in(grader: Mapping[str, Any]) -> dict[str, Data]:
    """Return the graders inside a `multi` grader by name; empty for others."""
    inner = grader.get("graders")
    if isinstance(inner, list):
        return {str(one.get("name")): one for one in inner if isinstance(one, dict)}
    return {name: one for name, one in dict_or_empty(inner).items() if isinstance(one, dict)}


def needs_model(grader: Mapping[str, Any]) -> bool:
    """Tell whether a grader, or one inside it, asks a model."""
    return grader.get("type") in MODEL_GRADERS or any(map(needs_model, graders_in(grader).values()))


def python_graders(grader: Mapping[str, Any], name: str = "") -> dict[str, str]:
    """Return the source of each Python grader, by the name under which a `multi` grader has it."""
    if grader.get("type") == CODE_GRADER:
        return {name: str(grader.get("source", ""))}
    return {key: text for inner, one in graders_in(grader).items() for key, text in python_graders(one, inner).items()}


def messages_in(messages: Any) -> list[tuple[str, str]]:
    """Return the role and the text of each message of a grader or a prompt.

    Raises:
        GraderError: a message has something else than texts, such as an image.
    """
    found = []
    for message in map(dict_or_empty, list_or_empty(messages)):
        role = _ROLES.get(str(message.get("role", "user")))
        if role is None:
            raise GraderError(f"has a message of the role {message.get('role')!r:.40}")
        content = message.get("content")
        parts = content if isinstance(content, list) else [content]
        found.append((role, "\n".join(map(_part_text, parts))))
    return found


def _part_text(part: Any) -> str:
    text = part.get("text") if isinstance(part, dict) and part.get("type", "text") in _TEXT_PARTS else part
    if not isinstance(text, str):
        kind = part.get("type") if isinstance(part, dict) else part
        raise GraderError(f"has {preview(kind)} in a message, and only texts can be sent")
    return text


def range_of(grader: Mapping[str, Any]) -> tuple[float, float]:
    """Return the lowest and the highest score of a `score_model` grader."""
    numbers = [number for number in list_or_empty(grader.get("range")) if is_number(number)]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (0.0, 1.0)


def score_share(grader: Mapping[str, Any], low: float, high: float) -> float | None:
    least = grader.get("pass_threshold")
    return (least - low) / (high - low) if is_number(least) else None


def label_options(grader: Mapping[str, Any]) -> dict[str, Option]:
    if grader["type"] != "label_model":
        return {}
    passing = list_or_empty(grader.get("passing_labels"))
    return {str(label): Option(float(label in passing)) for label in list_or_empty(grader.get("labels"))}


def require_valid(grader: Mapping[str, Any]) -> None:
    try:
        check_grader(grader)
    except (GraderError, FormulaError) as error:
        raise ConfigError(f"the grader {grader.get('name')!r:.60} {error}.") from None


def _check_string(grader: Mapping[str, Any]) -> None:
    if str(grader.get("operation")) not in OPERATIONS:
        raise GraderError(f"asks for the operation {grader.get('operation')!r:.40}")


def _check_similarity(grader: Mapping[str, Any]) -> None:
    metric = grader.get("evaluation_metric")
    if metric == "cosine":
        raise GraderError("compares embeddings with something else than the expected answer")
    if not isinstance(metric, str) or text_metric(metric) is None:
        raise GraderError(f"measures by {metric!r:.40}, which evalmark does not have")


def _check_code(grader: Mapping[str, Any]) -> None:
    if "def grade(" not in str(grader.get("source", "def grade(")):
        raise GraderError("has no function `grade`")


def _check_labels(grader: Mapping[str, Any]) -> None:
    if len(label_options(grader)) < 2:
        raise GraderError("names fewer than two labels")
    _check_messages(grader)


def _check_scores(grader: Mapping[str, Any]) -> None:
    low, high = range_of(grader)
    if not low < high:
        raise GraderError(f"has the range {grader.get('range')!r:.40}, which is not two numbers in order")
    _check_messages(grader)


def _check_messages(grader: Mapping[str, Any]) -> None:
    messages = messages_in(grader.get("input"))
    if not any(text.strip() for _, text in messages):
        raise GraderError("asks its model nothing")
    if strange := [slot for _, text in messages for slot in unknown_slots(text)]:
        raise GraderError(f"has {strange[0]!r:.60} in a message, which is no value of an item or sample")


def _check_multi(grader: Mapping[str, Any]) -> None:
    inner = graders_in(grader)
    for name, one in inner.items():
        if one.get("type") == "multi":
            raise GraderError(f"has another multi grader inside, {name!r:.40}")
        check_grader(one)
    check_formula(grader.get("calculate_output"), set(inner))


OPERATIONS: Mapping[str, Callable[[str, str], bool]] = {
    "eq": lambda found, reference: found == reference,
    "ne": lambda found, reference: found != reference,
    "like": lambda found, reference: reference in found,
    "ilike": lambda found, reference: reference.casefold() in found.casefold(),
}
_CHECKS: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
    "string_check": _check_string,
    "text_similarity": _check_similarity,
    CODE_GRADER: _check_code,
    "label_model": _check_labels,
    "score_model": _check_scores,
    "multi": _check_multi,
}
