"""`improve_answer`: let a model rewrite an answer, and use the new one only if it is better."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from evalmark.core.errors import ConfigError
from evalmark.core.sync import run_sync
from evalmark.scoring.builtin.answer_quality import DEFAULT_RULES, QualityInput, QualityRules, find_issues

from .assess import Passage, check_rules, check_texts, read_contexts
from .rewrite_prompt import build_rewrite_prompt
from .writer import Rewrite, Writer, ask_writer, check_writer

LOG = logging.getLogger("evalmark.quality")


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
    """Run `improve_answer` on the caller's event loop; arguments, result and errors are the same.

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
        On a running event loop::

            better = await improve_answer_async("openai/NAME", question, answer, contexts)
    """
    texts, faults = read_contexts(contexts)
    faults = [*check_writer(llm), *check_texts(question=question, answer=answer), *faults, *check_rules(rules)]
    if not isinstance(issues, list | tuple) or not all(isinstance(issue, str) for issue in issues):
        faults.append(f"issues is of type {type(issues).__name__}; pass a list of texts.")
    if faults:
        raise ConfigError.of(faults)
    material = QualityInput(question=question, answer=answer, contexts=texts)
    before = find_issues(material, rules, strict_compat=strict_compat)
    after: list[str] = []
    if not (before or issues):
        rewrite = Rewrite(why="there is no issue")
    else:
        rewrite = await ask_writer(llm, build_rewrite_prompt(question, answer, texts, [*before, *issues]))
    if not rewrite.why:
        after = find_issues(replace(material, answer=rewrite.text), rules, strict_compat=strict_compat)
        if not is_better(len(before), len(after), bool(issues)):
            rewrite = rewrite._replace(why="it is not better")
    LOG.info(
        "improve_answer run_id=%r answer=%d characters, issues=%s, issues of the caller=%d, new answer=%d characters, issues=%s, %s",
        run_id,
        len(answer),
        before,
        len(issues),
        len(rewrite.text),
        after,
        f"the old answer is kept: {rewrite.why}" if rewrite.why else "the new answer is taken",
    )
    return answer if rewrite.why else rewrite.text


def is_better(before: int, after: int, has_other_issues: bool) -> bool:
    """Return whether a new answer replaces the old one, by their numbers of issues.

    With equal numbers it does only if the model also got issues of the caller, which are not checked again.

    >>> is_better(2, 1, False), is_better(1, 1, False), is_better(0, 0, True), is_better(0, 1, True)
    (True, False, True, False)
    """
    return after < before or (has_other_issues and after == before)
