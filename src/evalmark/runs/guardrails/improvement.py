"""A better answer from a model that is told what is wrong, and only if it is better."""

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
    """An answer that is to be improved, and how it is judged."""

    asked: QualityInput
    rules: QualityRules
    strict_compat: bool
    told: tuple[str, ...]
    """Issues that the caller found by other means."""

    def issues(self, answer: str) -> list[str]:
        """What is wrong with an answer to the same question."""
        return find_issues(replace(self.asked, answer=answer), self.rules, strict_compat=self.strict_compat)


def improve_answer(  # noqa: PLR0913  the signature that Auto-Analyst's users know, and three options
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
    """The answer without its issues, if a model can write it; else the answer as it is.

    The model is told what `assess_answer` finds, and the `issues` that you found by other means.
    What it writes is assessed too and is returned where it has fewer issues, or as many where you
    named some of your own. Without any issue nothing is asked. `run_id`, lengths and issues go to the
    logger `evalmark.quality`.

    >>> improve_answer(lambda prompt: "Ida Holm [1].", "Who built it?", "Ida Holm.", ["Ida Holm built it."])
    'Ida Holm [1].'

    Raises:
        ConfigError: an argument is of the wrong kind, or a name stands for no model.
        ModelError: the model's endpoint is closed to us, or a function gave no text.
        RunStoppedError: the endpoint of a model that was named is closed to us.
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
    """`improve_answer` on the caller's own loop."""
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
        said = Rewrite(text=said.text, why="it is no better")
    _log(run_id, task, found, said, left)
    return asked.answer if said.why else said.text


def is_better(before: int, after: int, told: bool) -> bool:
    """Whether a new answer takes the place of the old one, by the number of their issues.

    As many issues as before show nothing, unless the model was also told of some that only it could mend.

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
