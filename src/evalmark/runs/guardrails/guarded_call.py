"""What a guarded function was asked and what it gave, read as a case and an output."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.core.values.case import Case, Output
from evalmark.runs.targets.output import as_output

from .assess import read_contexts

QUESTION = ("question", "query", "input", "prompt", "message")
"""Parameters that hold the question, the first of these that a function has; else its first parameter does."""
RETURNED = ("contexts", "retrieval_scores")
"""What is read beside `answer` from a mapping or an object that a function returned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedCall:
    """One question to a guarded function."""

    question: Any
    contexts: tuple[str, ...] | None = None
    """Those that the question came with; None where it came with none."""
    run_id: Any = None

    def case(self) -> Case:
        """The question as the checks see it."""
        return Case(id="guarded", input=self.question, contexts=self.contexts)


def question_parameter(function: Callable[..., Any], name: str) -> str:
    """The name of the parameter that holds the question.

    Raises:
        ConfigError: there is none.
    """
    try:
        parameters = [p for p in inspect.signature(function).parameters.values() if p.name not in ("self", "cls")]
    except (TypeError, ValueError):
        raise ConfigError(f"Guard: {name} does not show its parameters; wrap it: lambda question: ….") from None
    named = [p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    if not named:
        raise ConfigError(f"Guard: {name} takes no parameter that could hold the question.")
    return next((wanted for wanted in QUESTION if wanted in named), named[0])


def read_call(
    function: Callable[..., Any], question: str, args: tuple[Any, ...], named: Mapping[str, Any]
) -> GuardedCall:
    """What a function is asked, by the names of its parameters.

    Raises:
        ConfigError: its `contexts` are no texts.
        TypeError: it cannot be called like this.
    """
    given = inspect.signature(function).bind_partial(*args, **named).arguments
    contexts = given.get("contexts")
    return GuardedCall(
        question=given.get(question),
        contexts=None if contexts is None else context_texts(contexts),
        run_id=given.get("run_id"),
    )


def read_output(returned: Any, seconds: float | None = None) -> Output:
    """What a function returned, as an Output: a text, an Output, a chat message, or something with an `answer`.

    >>> read_answer({"answer": "Oslo", "contexts": ["Oslo is the capital."]}).contexts
    ('Oslo is the capital.',)

    Raises:
        ConfigError: it is a stream or a coroutine, or its contexts are no texts.
    """
    if inspect.isawaitable(returned) or inspect.isgenerator(returned) or inspect.isasyncgen(returned):
        kind = type(returned).__name__
        if inspect.iscoroutine(returned):
            returned.close()
        raise ConfigError(
            f"Guard: the function returned a {kind}; a guard has to see the whole answer. Gather it first."
        )
    if isinstance(returned, Output):
        return returned if returned.seconds is not None else replace(returned, seconds=seconds)
    if isinstance(returned, Mapping) and "answer" in returned:
        return _answer_output(returned["answer"], {key: returned.get(key) for key in RETURNED}, seconds)
    if hasattr(returned, "answer") and not callable(returned.answer):
        return _answer_output(returned.answer, {key: getattr(returned, key, None) for key in RETURNED}, seconds)
    return replace(as_output(returned, 0.0), seconds=seconds)


def _answer_output(answer: Any, beside: Mapping[str, Any], seconds: float | None) -> Output:
    contexts, scores = beside["contexts"], beside["retrieval_scores"]
    return Output(
        value=answer,
        seconds=seconds,
        contexts=None if contexts is None else context_texts(contexts),
        metadata={} if scores is None else {"retrieval_scores": scores},
    )


def context_texts(contexts: Any) -> tuple[str, ...]:
    """The texts of contexts.

    Raises:
        ConfigError: they have none.
    """
    read, faults = read_contexts(contexts)
    if faults:
        raise ConfigError.of([f"Guard: {fault}" for fault in faults])
    return read
