"""The values of a checked suite file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from evalmark.core.values.run import Gate

SESSIONS_PREFIX = "sessions:"
"""The prefix of datasets that are the labelled answers of a recorded project."""
MetricKind = Literal["name", "object", "file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSpec:
    """A dataset: a file of cases with its reading options, or a recorded project."""

    path: Path
    """The file, or the name in the suite if the dataset is not a file."""
    name: str
    named: bool = False
    """Whether the suite sets the name; if not, a name in the file's header replaces it."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The reading options: an encoding, or which column is the input."""
    cluster: str = ""
    """The field of a case by which cases depend on each other; empty: each case is independent."""
    place: str = ""
    project: str = ""
    """The recorded project whose labelled answers are the cases; empty for a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSpec:
    """Models under test: the input of a case is the user's message, and its history the turns before."""

    models: tuple[str, ...] = ()
    """As `provider/model`; empty: the model that the prompt names."""
    prompt: Path | None = None
    """The prompt file to test with each model; None: the rows are the messages."""
    system: str | None = None
    """The system message; None: no system message."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """`temperature`, `top_p`, `max_tokens`, `seed`, `stop`; others are sent to the provider unchanged."""
    name: str = ""
    """Its name in reports; empty: that of the model."""
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSpec:
    """An HTTP service under test: one request for each trial."""

    url: str
    """A template: the case may fill its path and its query."""
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    """`${NAME}` in a value is an environment variable, which is read when a request is sent."""
    body: Any = None
    """A template, or data whose texts are templates; None: the input of the case."""
    queries: Mapping[str, str] = field(default_factory=dict)
    """The JSONPath of each part of the response: `output`, `contexts`, `tool_calls`, `usage` and `cost`."""
    name: str = ""
    """Its name in reports; empty: its address."""
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSpec:
    """A program under test: started once for each trial, without a shell."""

    words: tuple[str, ...]
    """The program and its arguments; arguments are templates."""
    folder: Path
    """The folder of the suite, in which the program runs unless it has a workspace."""
    stdin: Any = None
    """A template, or data whose texts are templates; None: the input of the case."""
    queries: Mapping[str, str] = field(default_factory=dict)
    """As for `HttpSpec`: the parts of what the program prints."""
    workspace: Path | None = None
    """The folder of which each trial gets a copy to work in; None: the program runs in the folder of the suite."""
    is_cached: bool = False
    """Whether a later run may reuse what the program printed."""
    name: str = ""
    """Its name in reports; empty: the command."""
    place: str = ""


SuiteTarget: TypeAlias = str | TargetSpec | HttpSpec | CommandSpec
"""One target: `package.module:attribute`, models, a service or a command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSpec:
    """A judge model."""

    model: str
    """As `provider/model`."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """As for `TargetSpec`."""
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSpec:
    """A metric of a suite, before its scorer is loaded."""

    name: str
    """The name of a built-in or plug-in, `package.module:attribute`, or a file as the suite names it."""
    kind: MetricKind = "name"
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The settings without threshold, judge and repeat. `name` is the metric's name in reports."""
    threshold: float | None = None
    """The least value of a case that passes (the greatest where lower is better); None: the metric's default."""
    judges: tuple[JudgeSpec, ...] = ()
    """The judges of this metric; empty: the suite's judges."""
    repeat: int | None = None
    """How often the judge scores one output; None: the metric's default."""
    path: Path | None = None
    """The file of a metric of kind `file`."""
    place: str = ""

    @property
    def label(self) -> str:
        """The metric's name in reports."""
        return str(self.settings.get("name") or self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A suite, with resolved paths and defaults."""

    name: str
    path: Path
    datasets: tuple[DatasetSpec, ...]
    metrics: tuple[MetricSpec, ...]
    target: SuiteTarget | tuple[SuiteTarget, ...] | None = None
    """What is under test, several of them side by side; None: the outputs in the rows are scored."""
    target_place: str = ""
    repeat: int = 1
    gate: Gate | None = None
    gate_flags: bool = False
    """Whether the interpretation limits of the RAG metrics are also gate thresholds."""
    cluster: str = ""
    """The field of a case by which cases depend on each other; empty: each case is independent."""
    until_decided: bool = False
    """Whether a run stops as soon as its gate is decided."""
    baseline: str | None = None
    lock: Path | None = None
    """The file of learned thresholds; None: that of the settings, if any."""
    judges: tuple[JudgeSpec, ...] = ()
    """The judge models; with several, each one scores every output."""
    embeddings: str | None = None
    timeout: float | None = None
    notes: tuple[str, ...] = ()
    """Remarks for the user, one sentence each."""
