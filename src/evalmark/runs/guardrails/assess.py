"""`assess_answer`: six checks of an answer without a model."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypedDict

from evalmark.core.errors import ConfigError
from evalmark.scoring.builtin.answer_quality import (
    DEFAULT_RULES,
    QualityInput,
    QualityRules,
    describe_type,
    find_issues,
    parse_scores,
)

LOG = logging.getLogger("evalmark.quality")


class Passage(Protocol):
    """A context object with a text."""

    @property
    def text(self) -> str: ...


class Assessment(TypedDict):
    """The result of `assess_answer`.

    Example:
        >>> Assessment(is_good_enough=True, issues=[])["issues"]
        []
    """

    is_good_enough: bool
    """Whether there are no issues."""
    issues: list[str]
    """One sentence per failed check, in the order of the checks."""


def assess_answer(  # noqa: PLR0913  the signature of Auto-Analyst's function, and two options
    question: str,
    answer: str,
    contexts: Sequence[str | Passage] | None,
    run_id: str | None = None,
    retrieval_scores: Iterable[float] | None = None,
    *,
    rules: QualityRules = DEFAULT_RULES,
    strict_compat: bool = False,
) -> Assessment:
    """Check an answer without a model: present, supported, cited, no refusal, relevant, and a list if one is requested.

    Lengths, issues and `run_id` go to the logger `evalmark.quality`; texts do not.

    Args:
        question: The user's question.
        answer: The answer to check; an empty text if there is none.
        contexts: The retrieved texts, or objects with a `text`; None counts as no contexts.
        run_id: An id for the log line.
        retrieval_scores: The scores of the contexts, as finite numbers.
        rules: The thresholds and phrases of the checks.
        strict_compat: Return exactly the results of Auto-Analyst's function of this name.

    Returns:
        `is_good_enough`, and `issues`: one sentence per failed check.

    Raises:
        ConfigError: an argument has the wrong type, or a retrieval score is not a finite number.

    Example:
        >>> assess_answer("Who built the bridge?", "Ida Holm [1].", ["Ida Holm built the bridge."])
        {'is_good_enough': True, 'issues': []}
    """
    texts, faults = read_contexts(contexts)
    scores, more = parse_scores(retrieval_scores)
    faults = [*check_texts(question=question, answer=answer), *faults, *more, *check_rules(rules)]
    if faults:
        raise ConfigError.of(faults)
    material = QualityInput(question=question, answer=answer, contexts=texts, scores=scores)
    issues = find_issues(material, rules, strict_compat=strict_compat)
    LOG.info(
        "assess_answer run_id=%r question=%d characters, answer=%d characters, contexts=%d, relevance=%s, issues=%s",
        run_id,
        len(question),
        len(answer),
        len(texts),
        None if material.relevance is None else f"{material.relevance:z.4f}",
        issues,
    )
    return {"is_good_enough": not issues, "issues": issues}


def check_rules(rules: Any) -> list[str]:
    """Return an error if this is not a Rules object."""
    if isinstance(rules, QualityRules):
        return []
    return [f"rules is {describe_type(rules)}; pass a QualityRules object: QualityRules(min_relevance=0.3)."]


def check_texts(**arguments: Any) -> list[str]:
    """Return the errors of arguments that have to be texts."""
    return [
        f"{name} is {describe_type(value)}; pass a text, or '' if there is none."
        for name, value in arguments.items()
        if not isinstance(value, str)
    ]


def read_contexts(contexts: Any) -> tuple[tuple[str, ...], list[str]]:
    """Return the texts of the contexts, and errors for contexts without a text."""
    if contexts is None:
        return (), []
    if isinstance(contexts, str | bytes):
        return (), ["contexts is a single text; pass a list of texts."]
    if isinstance(contexts, Mapping) or not isinstance(contexts, Iterable):
        return (), [f"contexts is {describe_type(contexts)}; pass a list of texts."]
    items = list(contexts)
    texts = [item if isinstance(item, str) else getattr(item, "text", None) for item in items]
    faults = [
        f"contexts[{index}] is {describe_type(item)}; pass a text, or an object with a text in `.text`."
        for index, (item, text) in enumerate(zip(items, texts, strict=True))
        if not isinstance(text, str)
    ]
    return tuple(text for text in texts if isinstance(text, str)), faults
