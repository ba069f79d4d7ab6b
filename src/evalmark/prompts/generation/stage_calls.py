"""Asks a model for one JSON object: one question, and at most one more if the reply cannot be used."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar, cast

from evalmark.core.context.trial_context import TrialContext, trial_context
from evalmark.core.errors import ModelCallError, ModelError, NotRecordedError
from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Reply, Request
from evalmark.prompts.specs.spec import PromptSpec
from evalmark.prompts.texts import load_texts
from evalmark.scoring.judges.delimiters import UntrustedText, untrusted_text
from evalmark.scoring.judges.judge_calls import ask_judge
from evalmark.scoring.judges.question import Question, QuestionTemplate
from evalmark.scoring.judges.replies import ReplyFault, reply_object

from .stages import Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class StageQuestion:
    """One question before it is sent."""

    texts: str
    """The name of the text file of the question."""
    key: str
    """The key of the result in the reply's object."""
    schema: Mapping[str, Any]
    trusted: Mapping[str, str] = field(default_factory=dict)
    """Trusted texts and numbers, by slot."""
    material: Mapping[str, Sequence[UntrustedText]] = field(default_factory=dict)
    """Untrusted texts, by slot; a section with a slot without a value is left out."""

    def question(self, settings: Mapping[str, Any]) -> Question:
        texts, frame = load_texts("generation", self.texts), load_texts("generation", "frame")
        template = QuestionTemplate(
            sections=texts["sections"],
            form=texts["form"],
            trusted=self.trusted,
            material=self.material,
            system=frame["system"],
            repair=frame["repair"],
        )
        return template.question(self.schema, settings)


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

    async def ask(
        self, stage: Stage, question: StageQuestion, read: Callable[[Mapping[str, Any]], T | ReplyFault]
    ) -> T:
        """Return what was parsed from the reply.

        Raises:
            ModelError: The model gave no reply, or twice one that cannot be used.
            RunStoppedError: No further call is allowed.
        """
        read_reply = partial(_read, key=question.key, read=read)
        answer = await ask_judge(partial(self.send, stage), question.question(self.settings), read_reply)
        if answer.fault is not None:
            name = self.models[stage.name].name
            raise ModelError(
                f"{self.place}: the stage {stage.name}: {name} gave an unusable reply twice: "
                f"{answer.fault.sentence}. Results of earlier stages are kept; try again with --redo {stage.name}, or name "
                f"another model with --model-for {stage.name}=provider/model."
            )
        return cast("T", answer.found)

    async def send(self, stage: Stage, request: Request, repeat: int = 0) -> Reply:
        """Return the reply of the stage's model; `repeat` numbers repeated calls of the same request.

        Raises:
            ModelError: There is no reply.
            RunStoppedError: No further call is allowed.
        """
        try:
            with trial_context(TrialContext(repeat=self.times.get(stage.name, 0) * 10 + repeat)):
                return await self.models[stage.name](request)
        except (ModelCallError, NotRecordedError) as error:
            raise ModelError(f"{self.place}: the stage {stage.name}: {error}") from error


def _read(reply: Reply, key: str, read: Callable[[Mapping[str, Any]], T | ReplyFault]) -> T | ReplyFault:
    found = reply_object(reply, key, ())
    if isinstance(found, ReplyFault):
        return ReplyFault("it refuses") if found.kind == "judge_refused" else found
    return read(found) if key in found else ReplyFault(f"the JSON object has no `{key}`")


def untrusted_slots(**value: str) -> dict[str, Sequence[UntrustedText]]:
    """Return untrusted texts by slot, each labelled with its slot name; empty ones are left out."""
    return {slot: (untrusted_text(slot.replace("_", " "), text),) for slot, text in value.items() if text.strip()}


def prompt_slots(spec: PromptSpec, wishes: str = "") -> dict[str, Sequence[UntrustedText]]:
    """Return the prompt and its author's instructions for a stage; `wishes` is their key in the prompt's file."""
    body = "\n\n".join(f"{message.role}:\n{message.text}" for message in spec.prompt.messages)
    return untrusted_slots(prompt=body, wishes=spec.prompt.instructions.get(wishes, ""))
