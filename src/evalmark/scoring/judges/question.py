"""Builds the question to a judge: evalmark's texts, the metric's texts, and untrusted material between delimiters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evalmark.core.values.call import Request
from evalmark.core.values.case import Case, Output, Turn
from evalmark.scoring.binding.text import text_of

from .delimiters import UntrustedText, delimit, delimiter_for, untrusted_text
from .template import common_prompt, fill, slots_in

ROLES = ("user", "assistant", "system", "tool")
MATERIAL = ("input", "output", "expected", "history", "contexts")
"""Slots that show untrusted material."""
EMPTY_PLACEHOLDER = "(nothing)"
"""Stands for missing material and for an empty reply."""
MAX_REPLY_CHARS = 4_096
"""Characters of a reply that are stored and shown again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question, ready to be sent."""

    messages: tuple[Turn, ...]
    form: str
    """How to reply; repeated if a reply cannot be used."""
    material: tuple[UntrustedText, ...]
    """The untrusted texts of the question."""
    schema: Mapping[str, Any] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    logprobs: int = 0
    repair: str = ""
    """The template of the message on a reply that cannot be used; empty uses the one of all judges."""

    @property
    def request(self) -> Request:
        return Request(messages=self.messages, schema=self.schema, settings=self.settings, logprobs=self.logprobs)

    def repair_request(self, reply: str, fault: str) -> Request:
        """Return the question again, with the reply and its fault."""
        repair = fill(self.repair or common_prompt().repair, {"wrong": fault, "form": self.form})
        turns = (
            Turn(role="assistant", content=reply[:MAX_REPLY_CHARS] or EMPTY_PLACEHOLDER),
            Turn(role="user", content=repair),
        )
        return replace(self.request, messages=self.messages + turns)

    @property
    def cut(self) -> dict[str, list[int]]:
        """For texts that were too long: the number of characters shown, and of all characters."""
        return {part.label: [len(part.text), part.length] for part in self.material if part.is_cut}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionTemplate:
    """Sections with slots, and the values that fill them."""

    sections: Sequence[str]
    form: str
    trusted: Mapping[str, str]
    """Texts of evalmark and the metric's author, by slot."""
    material: Mapping[str, Sequence[UntrustedText]]
    """Untrusted texts, by slot; slots without one are left out."""
    system: str = ""
    """The template of the system message; empty uses the one of all judges."""
    repair: str = ""

    def question(self, schema: Mapping[str, Any] | None, settings: Mapping[str, Any], logprobs: int = 0) -> Question:
        """Return the question. A section with a slot without a value is left out, unless it shows the output."""
        known = self.trusted.keys() | self.material.keys()
        included = [s for s in self.sections if slots_in(s) <= known or "output" in slots_in(s)]
        used = frozenset[str]().union(*map(slots_in, included))
        parts = tuple(part for slot, parts in self.material.items() if slot in used for part in parts)
        mark = delimiter_for(parts)
        values = {slot: "\n".join(delimit(part, mark) for part in parts) for slot, parts in self.material.items()}
        filled = {**dict.fromkeys(used, EMPTY_PLACEHOLDER), **values, **self.trusted}
        body = "\n\n".join(fill(section, filled).strip() for section in (*included, self.form))
        return Question(
            messages=(
                Turn(role="system", content=fill(self.system or common_prompt().system, {"mark": mark})),
                Turn(role="user", content=body),
            ),
            form=fill(self.form, self.trusted),
            material=parts,
            schema=schema,
            settings=settings,
            logprobs=logprobs,
            repair=self.repair,
        )


def material_of(case: Case, output: Output, *, expected: bool, history: bool) -> dict[str, Sequence[UntrustedText]]:
    """Return the untrusted texts about an output by slot; the expected answer and the history only on request."""
    found: dict[str, Sequence[UntrustedText]] = {}
    if case.input is not None:
        found["input"] = (untrusted_text("input", text_of(case.input)),)
    if history and case.history:
        found["history"] = [_turn(number, turn) for number, turn in enumerate(case.history, 1)]
    if expected and case.references:
        found["expected"] = (untrusted_text("expected answer", text_of(case.references[0])),)
    if contexts := case.contexts_of(output):
        found["contexts"] = [untrusted_text(f"context {number}", text) for number, text in enumerate(contexts, 1)]
    found["output"] = (untrusted_text("output", text_of(output.value)),)
    return found


def _turn(number: int, turn: Turn) -> UntrustedText:
    role = turn.role if turn.role in ROLES else "other"  # roles come from files, and the label is trusted text
    return untrusted_text(f"history {number}, {role}", text_of(turn.content))
