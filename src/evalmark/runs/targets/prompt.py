"""A prompt and a model as the target: the case fills the prompt's inputs, and the model answers it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from evalmark.core.errors import ConfigError
from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Request
from evalmark.core.values.case import Case, Output
from evalmark.core.values.plain_data import fingerprint
from evalmark.prompts.templates.prompt import Prompt
from evalmark.prompts.templates.rendering import render

from .model import ask_for_output


@dataclass(frozen=True, kw_only=True)
class PromptTarget:
    """Asks a model what a prompt says with the case's values in it.

    The input of a case is a mapping of the prompt's inputs, or the value of the only one that is open.
    """

    brings_contexts: ClassVar[bool] = False

    prompt: Prompt
    model: ChatModel
    settings: Mapping[str, Any] = field(default_factory=dict)
    """`temperature` and so on, over those of the prompt."""

    @property
    def name(self) -> str:
        """The model's: the prompt is the same for all models of a run."""
        return self.model.name

    @property
    def fingerprint(self) -> str:
        """Changes with the prompt's words, the model, its endpoint and the settings."""
        return fingerprint(self.prompt.fingerprint, self.model.identity, self.settings)

    async def __call__(self, case: Case) -> Output:
        """The model's answer; one that is cut short, refused or empty is an error.

        Raises:
            ConfigError: the case does not say what the prompt needs.
            ModelCallError: there is none.
            RunStoppedError: no further call may be made in this run.
        """
        return await ask_for_output(self.model, self.request(case))

    def unfit(self, case: Case) -> str | None:
        """Why the prompt cannot be filled with what the case says; None where it can."""
        try:
            self.request(case)
        except ConfigError as fault:
            return str(fault)
        return None

    def request(self, case: Case) -> Request:
        """What is asked for a case.

        Raises:
            ConfigError: the case does not say what the prompt needs; all that is missing is named.
        """
        messages = render(self.prompt, input_values(self.prompt, case.input))
        return Request(
            messages=(*messages, *case.history),
            schema=self.prompt.schema,
            settings={**self.prompt.settings, **self.settings},
        )


def input_values(prompt: Prompt, given: Any) -> Mapping[str, Any]:
    """The values of a prompt's inputs that the input of a case stands for.

    A mapping names them. Any other value is that of the only input without a default, or else of the first one.
    """
    if isinstance(given, Mapping):
        return given
    if given is None or not prompt.inputs:
        return {}
    open_ones = [known for known in prompt.inputs if known.required]
    return {(open_ones or prompt.inputs)[0].name: given}
