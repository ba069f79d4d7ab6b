"""A prompt as a value: the checked content of a prompt file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from evalmark.core.values.plain_data import fingerprint

InputType = Literal["string", "integer", "number", "boolean", "array", "object", "thread", "image", "audio", "file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message before its variables are filled."""

    role: str
    """`system`, `user` or `assistant`."""
    text: str
    """The template."""
    line: int = 1
    """The line of the file where its text starts."""
    on_one_line: bool = field(default=False, compare=False)
    """Whether the whole text is on that line, as with a quoted YAML text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A variable of the messages."""

    name: str
    type: InputType | None = None
    """None if the file does not declare it; then any plain data is accepted."""
    description: str = ""
    default: Any = None
    """The value if none is given; None: there is no default."""
    required: bool = True
    """Whether a value must be given: by default if there is no default."""
    choices: tuple[Any, ...] = ()
    """The allowed values; empty allows all."""
    example: Any = None
    """An example for readers; never used as a value."""
    declared: bool = True
    """Whether the file declares it, or only a message uses it."""
    line: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSample:
    """Values for the inputs that the prompt's author wrote."""

    values: Mapping[str, Any]
    rest: Mapping[str, Any] = field(default_factory=dict)
    """Values that belong to no input, such as an expected answer."""
    line: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A way in which the prompt is used, as in PromptPex."""

    name: str
    instructions: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Values of some inputs."""
    line: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Messages with variables, their inputs, and how to call the model."""

    name: str
    messages: tuple[Message, ...]
    file: str = field(compare=False)
    """The file it was read from, for messages; not part of the fingerprint."""
    description: str = ""
    inputs: tuple[Input, ...] = ()
    """Declared inputs in the order of the file, then those that only a message uses."""
    samples: tuple[PromptSample, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    instructions: Mapping[str, str] = field(default_factory=dict)
    """PromptPex's instructions for its stages: `intent`, `inputSpec`, `outputRules`, …"""
    model: str | None = None
    """The model that the file names, unchanged; None if it names none."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """`temperature`, `top_p`, `max_tokens`, `seed`, `stop` under these names in all formats; other settings unchanged."""
    schema: Mapping[str, Any] | None = None
    """JSON Schema of the requested object; None for free text."""
    tags: tuple[str, ...] = ()
    rest: Mapping[str, Any] = field(default_factory=dict)
    """All other keys of the file, without `connection` and `configuration`, which may hold secrets."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """Remarks on the file for the user, one sentence each."""

    @property
    def place(self) -> str:
        """`file:line` of the first message."""
        return f"{self.file}:{self.messages[0].line}"

    @property
    def fingerprint(self) -> str:
        """A hash of all that can change the request; positions and file names do not count."""
        return fingerprint(
            "prompt-1",
            [[message.role, message.text] for message in self.messages],
            [
                [variable.name, variable.type, variable.default, variable.required, variable.choices]
                for variable in self.inputs
            ],
            [self.model, self.settings, self.schema],
        )
