"""What a judge is asked: our words, the author's words, and the material inside its fence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalmark.core.values.call import Request
from evalmark.core.values.case import Case, Output, Turn
from evalmark.scoring.binding.text import text_of

from .delimiters import UntrustedText, delimit, delimiter_for, untrusted_text
from .template import common_prompt, fill, slots_in

ROLES = ("user", "assistant", "system", "tool")
MATERIAL = ("input", "output", "expected", "history", "contexts")
"""Slots that show what others wrote."""
EMPTY_PLACEHOLDER = "(nothing)"
"""What stands for material that there is none of, and for an empty reply."""
MAX_REPLY_CHARS = 4_096
"""Characters of a reply that are kept and shown again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question, ready to be asked."""

    messages: tuple[Turn, ...]
    form: str
    """How to reply; told again when a reply cannot be used."""
    material: tuple[UntrustedText, ...]
    """What stands inside the fence."""
    schema: Mapping[str, Any] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    logprobs: int = 0

    @property
    def request(self) -> Request:
        """The question as a model takes it."""
        return Request(messages=self.messages, schema=self.schema, settings=self.settings, logprobs=self.logprobs)

    def again(self, said: str, wrong: str) -> Request:
        """The question, what was said, and what was wrong with it."""
        repair = fill(common_prompt().repair, {"wrong": wrong, "form": self.form})
        turns = (
            Turn(role="assistant", content=said[:MAX_REPLY_CHARS] or EMPTY_PLACEHOLDER),
            Turn(role="user", content=repair),
        )
        return Request(
            messages=self.messages + turns, schema=self.schema, settings=self.settings, logprobs=self.logprobs
        )

    @property
    def cut(self) -> dict[str, list[int]]:
        """Of texts that were too long: how many characters the judge was shown, and how many there are."""
        return {part.label: [len(part.text), part.length] for part in self.material if part.is_cut}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionTemplate:
    """What goes into a question: sections with slots, and what fills them."""

    sections: Sequence[str]
    form: str
    ours: Mapping[str, str]
    """What the metric's author and this package say."""
    material: Mapping[str, Sequence[UntrustedText]]
    """What others wrote, by slot; a slot without any stands in no mapping."""

    def question(self, schema: Mapping[str, Any] | None, settings: Mapping[str, Any], logprobs: int = 0) -> Question:
        """The question; sections with a slot that nothing fills are left out, unless they show the output."""
        known = self.ours.keys() | self.material.keys()
        shown = [s for s in self.sections if slots_in(s) <= known or "output" in slots_in(s)]
        used = frozenset[str]().union(*map(slots_in, shown))
        parts = tuple(part for slot, parts in self.material.items() if slot in used for part in parts)
        mark = delimiter_for(parts)
        values = {slot: "\n".join(delimit(part, mark) for part in parts) for slot, parts in self.material.items()}
        filled = {**dict.fromkeys(used, EMPTY_PLACEHOLDER), **values, **self.ours}
        body = "\n\n".join(fill(section, filled).strip() for section in (*shown, self.form))
        return Question(
            messages=(
                Turn(role="system", content=fill(common_prompt().system, {"mark": mark})),
                Turn(role="user", content=body),
            ),
            form=fill(self.form, self.ours),
            material=parts,
            schema=schema,
            settings=settings,
            logprobs=logprobs,
        )


def material_of(case: Case, output: Output, *, expected: bool, history: bool) -> dict[str, Sequence[UntrustedText]]:
    """What is known of an output, by slot; the expected answer and the history only when asked for."""
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
    role = turn.role if turn.role in ROLES else "other"  # roles come from files, and this is a line of ours
    return untrusted_text(f"history {number}, {role}", text_of(turn.content))
