"""A prompt and a model as the target: the case fills the inputs of the prompt."""

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
    """Sends a prompt, filled with the values of a case, to a model.

    The input of a case is a mapping of the prompt's inputs, or the value of the only required one.
    """

    brings_contexts: ClassVar[bool] = False

    prompt: Prompt
    model: ChatModel
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings such as `temperature`; they override those of the prompt."""
    label: str = ""
    """Its name in reports; empty: that of the model, since all models of most runs get the same prompt."""

    @property
    def name(self) -> str:
        """The label, or else the name of the model."""
        return self.label or self.model.name

    @property
    def fingerprint(self) -> str:
        """Changes with the prompt, the model, its endpoint and the settings."""
        return fingerprint(self.prompt.fingerprint, self.model.identity, self.settings)

    async def __call__(self, case: Case) -> Output:
        """Return the model's output; a truncated, refused or empty reply is an error.

        Raises:
            ConfigError: the case lacks an input of the prompt.
            ModelCallError: the call failed.
            RunStoppedError: no further call may be made in this run.
        """
        return await ask_for_output(self.model, self.request(case))

    def unfit(self, case: Case) -> str | None:
        """Return why the case does not fit the prompt, or None if it does."""
        try:
            self.request(case)
        except ConfigError as fault:
            return str(fault)
        return None

    def request(self, case: Case) -> Request:
        """Build the request of a case.

        Raises:
            ConfigError: the case lacks inputs of the prompt; the message names all of them.
        """
        messages = render(self.prompt, input_values(self.prompt, case.input))
        return Request(
            messages=(*messages, *case.history),
            schema=self.prompt.schema,
            settings={**self.prompt.settings, **self.settings},
        )


def input_values(prompt: Prompt, value: Any) -> Mapping[str, Any]:
    """Map the input of a case to the inputs of a prompt.

    A mapping is used by name. Any other value fills the first required input, or else the first one.
    """
    if isinstance(value, Mapping):
        return value
    if value is None or not prompt.inputs:
        return {}
    required = [known for known in prompt.inputs if known.required]
    return {(required or prompt.inputs)[0].name: value}
