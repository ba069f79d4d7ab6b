"""The six checks of one answer, as a function for the code that is about to show it."""

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
    """A context that is more than its text."""

    @property
    def text(self) -> str: ...


class Assessment(TypedDict):
    """Whether an answer is fit to be shown, and what is wrong with it."""

    is_good_enough: bool
    """There are no issues."""
    issues: list[str]
    """One sentence for each check that failed, in the order of the checks."""


def assess_answer(  # noqa: PLR0913  the signature that Auto-Analyst's users know, and two options
    question: str,
    answer: str,
    contexts: Sequence[str | Passage] | None,
    run_id: str | None = None,
    retrieval_scores: Iterable[float] | None = None,
    *,
    rules: QualityRules = DEFAULT_RULES,
    strict_compat: bool = False,
) -> Assessment:
    """Check an answer without a model: is it there, supported, cited, no excuse, relevant, a list where one is asked.

    `run_id` and the figures go to the logger `evalmark.quality`, the texts do not. `strict_compat`
    gives the verdicts of Auto-Analyst.

    >>> assess_answer("Who built the bridge?", "Ida Holm [1].", ["Ida Holm built the bridge."])
    {'is_good_enough': True, 'issues': []}

    Raises:
        ConfigError: an argument is of the wrong kind, or a retrieval score is no finite number.
    """
    texts, faults = read_contexts(contexts)
    scores, more = parse_scores(retrieval_scores)
    faults = [*check_texts(question=question, answer=answer), *faults, *more, *check_rules(rules)]
    if faults:
        raise ConfigError.of(faults)
    asked = QualityInput(question=question, answer=answer, contexts=texts, scores=scores)
    issues = find_issues(asked, rules, strict_compat=strict_compat)
    _log(asked, issues, run_id)
    return {"is_good_enough": not issues, "issues": issues}


def check_rules(rules: Any) -> list[str]:
    """What is wrong with rules that are none."""
    fine = isinstance(rules, QualityRules)
    return [] if fine else [f"rules is {describe_type(rules)}; pass a Rules object: Rules(min_relevance=0.3)."]


def check_texts(**given: Any) -> list[str]:
    """What is wrong with arguments that have to be texts."""
    return [
        f"{name} is {describe_type(value)}; pass a text, and '' where there is none."
        for name, value in given.items()
        if not isinstance(value, str)
    ]


def read_contexts(contexts: Any) -> tuple[tuple[str, ...], list[str]]:
    """The texts of the contexts, and what is wrong with those that have none."""
    if contexts is None:
        return (), []
    if isinstance(contexts, str | bytes):
        return (), ["contexts is one text; pass a list of texts."]
    if isinstance(contexts, Mapping) or not isinstance(contexts, Iterable):
        return (), [f"contexts is {describe_type(contexts)}; pass a list of texts."]
    items = list(contexts)
    texts = [item if isinstance(item, str) else getattr(item, "text", None) for item in items]
    faults = [
        f"contexts[{place}] is {describe_type(item)}; pass a text, or an object whose `.text` is one."
        for place, (item, text) in enumerate(zip(items, texts, strict=True))
        if not isinstance(text, str)
    ]
    return tuple(text for text in texts if isinstance(text, str)), faults


def _log(asked: QualityInput, issues: Sequence[str], run_id: str | None) -> None:
    LOG.info(
        "assess_answer run_id=%r question=%d characters, answer=%d characters, contexts=%d, relevance=%s, issues=%s",
        run_id,
        len(asked.question),
        len(asked.answer),
        len(asked.contexts),
        None if asked.relevance is None else f"{asked.relevance:z.4f}",
        list(issues),
    )
