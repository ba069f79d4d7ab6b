"""`improve_answer`: let a model rewrite an answer, and use the new one only if it is better."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.core.sync import run_sync
from evalmark.scoring.builtin.answer_quality import DEFAULT_RULES, QualityInput, QualityRules, find_issues

from .assess import Passage, check_rules, check_texts, read_contexts
from .rewrite_prompt import build_rewrite_prompt
from .writer import Rewrite, Writer, ask_writer, check_writer

LOG = logging.getLogger("evalmark.quality")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImprovementTask:
    """An answer to improve, with the rules of its checks."""

    asked: QualityInput
    rules: QualityRules
    strict_compat: bool
    told: tuple[str, ...]
    """Issues from the caller."""

    def issues(self, answer: str) -> list[str]:
        """Return the issues of an answer to the same question."""
        return find_issues(replace(self.asked, answer=answer), self.rules, strict_compat=self.strict_compat)


def improve_answer(  # noqa: PLR0913  the signature of Auto-Analyst's function, and three options
    llm: Writer,
    question: str,
    answer: str,
    contexts: Sequence[str | Passage] | None,
    run_id: str | None = None,
    *,
    issues: Sequence[str] = (),
    rules: QualityRules = DEFAULT_RULES,
    strict_compat: bool = False,
) -> str:
    """Let a model rewrite an answer that has issues, and return the better of the two answers.

    The model gets the issues that `assess_answer` finds, and `issues`. Its answer is checked as well. It is returned if it
    has fewer issues, or equally many if `issues` is not empty. Without issues, no model is called. Lengths, issues and
    `run_id` go to the logger `evalmark.quality`.

    Args:
        llm: A model's name, a chat model, or a function from a prompt to a text.
        question: The user's question.
        answer: The answer to improve.
        contexts: The retrieved texts, or objects with a `text`; None counts as no contexts.
        run_id: An id for the log line.
        issues: Further issues, one sentence each.
        rules: The thresholds and phrases of the checks.
        strict_compat: Check exactly as Auto-Analyst's function does.

    Returns:
        The new answer, or the old one unchanged.

    Raises:
        ConfigError: an argument has the wrong type, or a model's name is unknown.
        ModelError: the endpoint rejects the model call, or a function returned no text.
        RunStoppedError: the endpoint of a named model rejects all calls.

    Example:
        >>> improve_answer(lambda prompt: "Ida Holm [1].", "Who built it?", "Ida Holm.", ["Ida Holm built it."])
        'Ida Holm [1].'
    """
    return run_sync(
        improve_answer_async(
            llm, question, answer, contexts, run_id, issues=issues, rules=rules, strict_compat=strict_compat
        )
    )


async def improve_answer_async(  # noqa: PLR0913  as `improve_answer`
    llm: Writer,
    question: str,
    answer: str,
    contexts: Sequence[str | Passage] | None,
    run_id: str | None = None,
    *,
    issues: Sequence[str] = (),
    rules: QualityRules = DEFAULT_RULES,
    strict_compat: bool = False,
) -> str:
    """`improve_answer`, on the caller's event loop."""
    texts, faults = read_contexts(contexts)
    faults = [*check_writer(llm), *check_texts(question=question, answer=answer), *faults, *check_rules(rules)]
    told, more = _read_issues(issues)
    if faults or more:
        raise ConfigError.of([*faults, *more])
    asked = QualityInput(question=question, answer=answer, contexts=texts)
    return await _improve(
        llm, ImprovementTask(asked=asked, rules=rules, strict_compat=strict_compat, told=told), run_id
    )


async def _improve(llm: Writer, task: ImprovementTask, run_id: str | None) -> str:
    asked = task.asked
    found = task.issues(asked.answer)
    if not (found or task.told):
        _log(run_id, task, found, Rewrite(why="there is no issue"), [])
        return asked.answer
    issues = [*found, *task.told]
    said = await ask_writer(llm, build_rewrite_prompt(asked.question, asked.answer, asked.contexts, issues))
    left = [] if said.why else task.issues(said.text)
    if not said.why and not is_better(len(found), len(left), bool(task.told)):
        said = Rewrite(text=said.text, why="it is not better")
    _log(run_id, task, found, said, left)
    return asked.answer if said.why else said.text


def is_better(before: int, after: int, told: bool) -> bool:
    """Return whether a new answer replaces the old one, by their numbers of issues.

    Equal numbers decide nothing, unless the model also got issues of the caller, which are not checked again.

    >>> is_better(2, 1, False), is_better(1, 1, False), is_better(0, 0, True), is_better(0, 1, True)
    (True, False, True, False)
    """
    return after < before or (told and after == before)


def _read_issues(issues: Any) -> tuple[tuple[str, ...], list[str]]:
    if isinstance(issues, list | tuple) and all(isinstance(issue, str) for issue in issues):
        return tuple(issues), []
    return (), [f"issues is of type {type(issues).__name__}; pass a list of texts."]


def _log(run_id: str | None, task: ImprovementTask, found: Sequence[str], said: Rewrite, left: Sequence[str]) -> None:
    LOG.info(
        "improve_answer run_id=%r answer=%d characters, issues=%s, told=%d, new answer=%d characters, issues=%s, %s",
        run_id,
        len(task.asked.answer),
        list(found),
        len(task.told),
        len(said.text),
        list(left),
        f"the old answer is kept: {said.why}" if said.why else "the new answer is taken",
    )
