"""Asks a model for one JSON object: one question, and at most one more if the reply cannot be used."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from evalmark.core.context.trial_context import TrialContext, trial_context
from evalmark.core.errors import ModelCallError, ModelError, NotRecordedError
from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Reply, Request
from evalmark.core.values.case import Turn
from evalmark.prompts.specs.spec import PromptSpec
from evalmark.prompts.texts import load_texts
from evalmark.scoring.judges.delimiters import UntrustedText, delimit, delimiter_for, untrusted_text
from evalmark.scoring.judges.replies import ReplyFault, reply_object, reply_text
from evalmark.scoring.judges.template import fill, slots_in

from .stages import Stage

T = TypeVar("T")
MAX_REPLY_CHARS = 4_096
"""Characters of an unusable reply that are shown again."""


class ReplyProblem(NamedTuple):
    """What is wrong with a reply: the end of a sentence."""

    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StageQuestion:
    """One question before it is sent."""

    words: str
    """The name of the text file of the question."""
    key: str
    """The key of the result in the reply's object."""
    schema: Mapping[str, Any]
    ours: Mapping[str, str] = field(default_factory=dict)
    """Trusted texts and numbers, by slot."""
    material: Mapping[str, Sequence[UntrustedText]] = field(default_factory=dict)
    """Untrusted texts, by slot; a section with a slot without a value is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageModels:
    """The models of the stages, and how they are called."""

    models: Mapping[str, ChatModel]
    """By stage name."""
    times: Mapping[str, int] = field(default_factory=dict)
    """How often a stage was redone: each time the same question gets another reply."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""
    """The prompt, for error messages."""

    async def ask(self, stage: Stage, sheet: StageQuestion, read: Callable[[Mapping[str, Any]], T | ReplyProblem]) -> T:
        """Return what was parsed from the reply.

        Raises:
            ModelError: The model gave no reply, or twice one that cannot be used.
            RunStoppedError: No further call is allowed.
        """
        first = Request(messages=messages_of(sheet), schema=sheet.schema, settings=self.settings)
        reply = await self.send(stage, first)
        found = _read(reply, sheet.key, read)
        if not isinstance(found, ReplyProblem):
            return found
        repair = fill(
            load_texts("generation", "frame")["repair"],
            {"wrong": found.sentence, "form": load_texts("generation", sheet.words)["form"]},
        )
        turns = (
            Turn(role="assistant", content=reply_text(reply)[:MAX_REPLY_CHARS] or "-"),
            Turn(role="user", content=repair),
        )
        second = Request(messages=(*first.messages, *turns), schema=sheet.schema, settings=self.settings)
        better = _read(await self.send(stage, second), sheet.key, read)
        if isinstance(better, ReplyProblem):
            name = self.models[stage.name].name
            raise ModelError(
                f"{self.place}: the stage {stage.name}: {name} was asked twice, and its reply cannot be used: "
                f"{better.sentence}. What was made before stays; try again with --redo {stage.name}, or name another "
                f"model with --model-for {stage.name}=provider/model."
            )
        return better

    async def send(self, stage: Stage, request: Request, more: int = 0) -> Reply:
        """Return the reply of the stage's model; `more` numbers repeated calls of the same request.

        Raises:
            ModelError: There is no reply.
            RunStoppedError: No further call is allowed.
        """
        try:
            with trial_context(TrialContext(repeat=self.times.get(stage.name, 0) * 10 + more)):
                return await self.models[stage.name](request)
        except (ModelCallError, NotRecordedError) as error:
            raise ModelError(f"{self.place}: the stage {stage.name}: {error}") from error


def _read(reply: Reply, key: str, read: Callable[[Mapping[str, Any]], T | ReplyProblem]) -> T | ReplyProblem:
    found = reply_object(reply, key, ())
    if isinstance(found, ReplyFault):
        return ReplyProblem("it refuses" if found.kind == "judge_refused" else found.sentence)
    return read(found) if key in found else ReplyProblem(f"the JSON object has no `{key}`")


def messages_of(sheet: StageQuestion) -> tuple[Turn, Turn]:
    """Return the question in two turns; untrusted texts stand between delimiters that their authors cannot know."""
    words = load_texts("generation", sheet.words)
    known = sheet.ours.keys() | {slot for slot, parts in sheet.material.items() if parts}
    sections = [section for section in words["sections"] if slots_in(section) <= known]
    used = frozenset[str]().union(*map(slots_in, sections))
    mark = delimiter_for([part for slot, parts in sheet.material.items() if slot in used for part in parts])
    values = {slot: "\n".join(delimit(part, mark) for part in parts) for slot, parts in sheet.material.items()}
    body = "\n\n".join(fill(section, {**values, **sheet.ours}).strip() for section in (*sections, words["form"]))
    system = fill(load_texts("generation", "frame")["system"], {"mark": mark})
    return Turn(role="system", content=system), Turn(role="user", content=body)


def untrusted_slots(**value: str) -> dict[str, Sequence[UntrustedText]]:
    """Return untrusted texts by slot, each labelled with its slot name; empty ones are left out."""
    return {slot: (untrusted_text(slot.replace("_", " "), text),) for slot, text in value.items() if text.strip()}


def prompt_slots(spec: PromptSpec, wishes: str = "") -> dict[str, Sequence[UntrustedText]]:
    """Return the prompt and its author's instructions for a stage; `wishes` is their key in the prompt's file."""
    body = "\n\n".join(f"{message.role}:\n{message.text}" for message in spec.prompt.messages)
    return untrusted_slots(prompt=body, wishes=spec.prompt.instructions.get(wishes, ""))
