"""Read the arguments and the return value of a guarded function as a case and an output."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.core.foreign.binding import signature_of
from evalmark.core.values.case import Case, Output
from evalmark.runs.targets.output import as_output

from .assess import read_contexts

QUESTION = ("question", "query", "input", "prompt", "message")
"""Names of the parameter with the question, by priority; otherwise it is the first parameter."""
RETURNED = ("contexts", "retrieval_scores")
"""Fields that are read besides `answer` from a returned mapping or object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedCall:
    """One call of a guarded function."""

    question: Any
    contexts: tuple[str, ...] | None = None
    """The contexts in the arguments, or None."""
    run_id: Any = None

    def case(self) -> Case:
        """Return the case for the checks."""
        return Case(id="guarded", input=self.question, contexts=self.contexts)


def question_parameter(function: Callable[..., Any], name: str) -> str:
    """Return the name of the parameter with the question.

    Raises:
        ConfigError: there is none.
    """
    try:
        parameters = [p for p in signature_of(function).parameters.values() if p.name not in ("self", "cls")]
    except (TypeError, ValueError):
        raise ConfigError(f"Guard: {name} does not expose its parameters; wrap it: lambda question: ….") from None
    names = [p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    if not names:
        raise ConfigError(f"Guard: {name} has no parameter for the question.")
    return next((name for name in QUESTION if name in names), names[0])


def read_call(
    function: Callable[..., Any], question: str, args: tuple[Any, ...], named: Mapping[str, Any]
) -> GuardedCall:
    """Read the arguments of a call by their names.

    Raises:
        ConfigError: `contexts` are not texts.
        TypeError: the arguments do not fit the function.
    """
    arguments = signature_of(function).bind_partial(*args, **named).arguments
    contexts = arguments.get("contexts")
    return GuardedCall(
        question=arguments.get(question),
        contexts=None if contexts is None else context_texts(contexts),
        run_id=arguments.get("run_id"),
    )


def read_output(returned: Any, seconds: float | None = None) -> Output:
    """Convert a return value to an Output: a text, an Output, a chat message, or an object with an `answer`.

    >>> read_output({"answer": "Oslo", "contexts": ["Oslo is the capital."]}).contexts
    ('Oslo is the capital.',)

    Raises:
        ConfigError: the value is a stream or a coroutine, or its contexts are not texts.
    """
    if inspect.isawaitable(returned) or inspect.isgenerator(returned) or inspect.isasyncgen(returned):
        kind = type(returned).__name__
        if inspect.iscoroutine(returned):
            returned.close()
        raise ConfigError(f"Guard: the function returned a {kind}; a guard needs the whole answer. Collect it first.")
    if isinstance(returned, Output):
        return returned if returned.seconds is not None else replace(returned, seconds=seconds)
    if isinstance(returned, Mapping) and "answer" in returned:
        return _answer_output(returned["answer"], {key: returned.get(key) for key in RETURNED}, seconds)
    if hasattr(returned, "answer") and not callable(returned.answer):
        return _answer_output(returned.answer, {key: getattr(returned, key, None) for key in RETURNED}, seconds)
    return replace(as_output(returned, 0.0), seconds=seconds)


def _answer_output(answer: Any, fields: Mapping[str, Any], seconds: float | None) -> Output:
    contexts, scores = fields["contexts"], fields["retrieval_scores"]
    return Output(
        value=answer,
        seconds=seconds,
        contexts=None if contexts is None else context_texts(contexts),
        metadata={} if scores is None else {"retrieval_scores": scores},
    )


def context_texts(contexts: Any) -> tuple[str, ...]:
    """Return the texts of contexts.

    Raises:
        ConfigError: a context has no text.
    """
    texts, faults = read_contexts(contexts)
    if faults:
        raise ConfigError.of([f"Guard: {fault}" for fault in faults])
    return texts
