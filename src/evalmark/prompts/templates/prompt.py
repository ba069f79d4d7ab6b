"""A prompt as a value: what a prompt file says once it has been checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from evalmark.core.values.plain_data import fingerprint

InputType = Literal["string", "integer", "number", "boolean", "array", "object", "thread", "image", "audio", "file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message before its variables have values."""

    role: str
    """`system`, `user` or `assistant`."""
    text: str
    """The template."""
    line: int = 1
    """Where its first line stands in the file."""
    on_one_line: bool = field(default=False, compare=False)
    """Whether the whole text stands on that line, as a quoted text of YAML does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A variable that the messages take."""

    name: str
    type: InputType | None = None
    """None where the file does not say; then any plain data will do."""
    description: str = ""
    default: Any = None
    """What stands in where no value is given; None when there is none."""
    required: bool = True
    """Whether it is an error to give no value: so it is without a default, unless the file says otherwise."""
    choices: tuple[Any, ...] = ()
    """The only values it takes; empty where all will do."""
    example: Any = None
    """A value for readers; never used by itself."""
    declared: bool = True
    """Whether the file declares it; otherwise a message uses it, and that is all that is known."""
    line: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSample:
    """Values for the inputs that the prompt's author wrote down."""

    values: Mapping[str, Any]
    rest: Mapping[str, Any] = field(default_factory=dict)
    """What belongs to no input: an expected answer, for example."""
    line: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A way in which the prompt is used, as PromptPex has them."""

    name: str
    instructions: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Values for some of the inputs."""
    line: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Messages with variables, what the variables take, and how the model is to be asked."""

    name: str
    messages: tuple[Message, ...]
    file: str = field(compare=False)
    """The file it was read from, for messages; not part of the fingerprint."""
    description: str = ""
    inputs: tuple[Input, ...] = ()
    """Declared ones first, in the order of the file, then those that only a message names."""
    samples: tuple[PromptSample, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    instructions: Mapping[str, str] = field(default_factory=dict)
    """What PromptPex is told for its stages: `intent`, `inputSpec`, `outputRules`, …"""
    model: str | None = None
    """The model that the file names, in the file's words; None when it names none."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """`temperature`, `top_p`, `max_tokens`, `seed`, `stop` under these names, whatever the format calls them; others
    as they are."""
    schema: Mapping[str, Any] | None = None
    """JSON Schema of the object that the prompt asks for; None when it asks for free text."""
    tags: tuple[str, ...] = ()
    rest: Mapping[str, Any] = field(default_factory=dict)
    """All other keys of the file; without `connection` and `configuration`, which may hold keys."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """What a reader should know about the file, one sentence each."""

    @property
    def place(self) -> str:
        """`file:line` of the first message."""
        return f"{self.file}:{self.messages[0].line}"

    @property
    def fingerprint(self) -> str:
        """Changes whenever a model could be asked something else; not when lines or files move."""
        return fingerprint(
            "prompt-1",
            [[message.role, message.text] for message in self.messages],
            [[known.name, known.type, known.default, known.required, known.choices] for known in self.inputs],
            [self.model, self.settings, self.schema],
        )
