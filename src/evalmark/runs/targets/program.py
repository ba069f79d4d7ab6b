"""DSPy programs as targets, with named input and output fields."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalmark.core.context.clock import Stopwatch
from evalmark.core.context.trial_context import current_trial_context
from evalmark.core.foreign.binding import signature_of
from evalmark.core.foreign.copying import copy_value
from evalmark.core.foreign.identity import describe_object
from evalmark.core.foreign.threads import DaemonThreads
from evalmark.core.values.case import Case, Output
from evalmark.core.values.plain_data import fingerprint

from .output import as_output

FIELD_VALUES: Mapping[str, Callable[[Case], Any]] = {
    **dict.fromkeys(("contexts", "context"), lambda case: None if case.contexts is None else list(case.contexts)),
    "metadata": lambda case: case.metadata,
}
"""Input fields that get another part of the case than its input."""
REASONING_FIELDS = ("reasoning", "rationale", "trajectory")
"""Output fields that DSPy adds."""
CONTEXT_FIELDS = ("contexts", "context")
"""Output fields with the retrieved contexts."""


@dataclass(frozen=True, kw_only=True)
class ProgramTarget:
    """A `dspy.Module`, called in a thread, or on the event loop if it only has `aforward`."""

    name: str
    program: Any
    fields: tuple[str, ...] | None
    """Its input fields, or None if it takes any."""
    needed: tuple[str, ...]
    """The input fields without a default."""
    fingerprint: str
    threads: DaemonThreads = field(default_factory=DaemonThreads, repr=False, compare=False)

    async def __call__(self, case: Case) -> Output:
        """Call the program with a case. Raises the program's error.

        Raises:
            ValueError: the input of the case does not match the fields.
        """
        inputs = {name: copy_value(value) for name, value in self.inputs(case).items()}
        uses = current_trial_context()
        clock = uses.clock()
        if callable(getattr(type(self.program), "forward", None)):
            returned = await self.threads.run(lambda _: self._called(inputs, clock))
        else:
            with clock:
                returned = await self.program.acall(**inputs)
        return read_prediction(returned, uses.active_seconds())

    def _called(self, inputs: Mapping[str, Any], clock: Stopwatch) -> Any:
        with clock:
            return self.program(**inputs)

    def inputs(self, case: Case) -> dict[str, Any]:
        """Return the input fields of a case: the items of a mapping, or the input as the only field.

        Raises:
            ValueError: the input does not match the fields.
        """
        given, fields = case.input, self.fields
        if isinstance(given, Mapping) and all(isinstance(key, str) for key in given):
            if fields is None:
                return dict(given)
            if set(self.needed) <= set(given):
                return {name: given[name] for name in fields if name in given}
        offered = {name: FIELD_VALUES[name](case) for name in fields or () if name in FIELD_VALUES}
        offered = {name: value for name, value in offered.items() if value is not None or name in self.needed}
        open_fields = [name for name in self.needed or (fields or ())[:1] if name not in offered]
        if len(open_fields) != 1:
            required = f"the fields {', '.join(self.needed)}" if self.needed else "fields by name"
            raise ValueError(f"the program takes {required}; make the input of the case a mapping of them")
        return {**offered, open_fields[0]: given}


def is_program(thing: Any) -> bool:
    """Return whether the object is a DSPy program, without importing DSPy."""
    return any(
        kind.__name__ == "Module" and kind.__module__.partition(".")[0] == "dspy" for kind in type(thing).__mro__
    )


def program_target(program: Any, name: str) -> ProgramTarget:
    """Create the target of a program, without calling it."""
    fields, needed = _fields(program)
    identity = fingerprint(name, describe_object(program), describe_object(program.dump_state()))
    return ProgramTarget(name=name, program=program, fields=fields, needed=needed, fingerprint=identity)


def _fields(program: Any) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the input fields and the required ones, from the parameters of `forward` or from the signature."""
    kind = type(program)  # reading `forward` of the object makes DSPy warn
    forward = getattr(kind, "forward", None) or getattr(kind, "aforward", None)
    parameters = [] if forward is None else list(signature_of(forward).parameters.values())[1:]
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    if named:
        return tuple(p.name for p in named), tuple(p.name for p in named if p.default is p.empty)
    predictors = program.predictors()
    holder = program if hasattr(program, "signature") else predictors[0] if len(predictors) == 1 else None
    if holder is None:
        return None, ()
    found = holder.signature.input_fields
    return tuple(found), tuple(name for name, item in found.items() if item.is_required())


def read_prediction(returned: Any, seconds: float | None) -> Output:
    """Convert the return value of a program to an Output.

    The value of a prediction with one field is that field's value, otherwise the mapping of its fields. Reasoning,
    trajectory and token usage become metadata; texts in a field `context` become the contexts.
    """
    if not is_prediction(returned):
        return as_output(returned, seconds)
    plain = returned.toDict()
    fields = {name: plain[name] for name in returned.keys()}  # noqa: SIM118  a prediction is not a mapping
    contexts = next((tuple(fields[name]) for name in CONTEXT_FIELDS if _are_texts(fields.get(name))), None)
    aside = [name for name in fields if name in REASONING_FIELDS or (contexts is not None and name in CONTEXT_FIELDS)]
    answer = {name: value for name, value in fields.items() if name not in aside} or fields
    metadata = {name: fields[name] for name in aside if name in REASONING_FIELDS and name not in answer}
    usage = getattr(returned, "get_lm_usage", lambda: None)()
    return Output(
        value=next(iter(answer.values())) if len(answer) == 1 else answer,
        seconds=seconds,
        contexts=contexts,
        metadata={**metadata, "usage": usage} if usage else metadata,
    )


def is_prediction(thing: Any) -> bool:
    """Return whether the object is a DSPy prediction."""
    return any(
        kind.__name__ == "Prediction" and kind.__module__.partition(".")[0] == "dspy" for kind in type(thing).__mro__
    )


def _are_texts(found: Any) -> bool:
    return isinstance(found, Sequence) and not isinstance(found, str) and all(isinstance(text, str) for text in found)
