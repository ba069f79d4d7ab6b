"""A suite as a value: what a suite file says once it has been checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from evalmark.core.values.run import Gate

SESSIONS_PREFIX = "sessions:"
"""How the name of a dataset begins that is no file: the labelled answers of a recorded project."""
MetricKind = Literal["name", "object", "file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSpec:
    """A file of cases, and how to read it; or a recorded project."""

    path: Path
    """As the suite names it where it is no file."""
    name: str
    named: bool = False
    """Whether the suite gives the name; else it is the file's, and a name that the file gives itself is better."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What else stands beside `path` and `name`: an encoding, which column is the input."""
    place: str = ""
    project: str = ""
    """The project whose labelled answers are the cases; empty where these are in a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSpec:
    """A model under test: the input of a case is the user's message, its history the turns before."""

    models: tuple[str, ...] = ()
    """As the suite names them, `provider/model`; empty: the one that the prompt names."""
    prompt: Path | None = None
    """The prompt file that is under test with each of the models; None: they are asked what the rows say."""
    system: str | None = None
    """What a model is told before the conversation; None: nothing."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """`temperature`, `top_p`, `max_tokens`, `seed`, `stop`; others go to the provider as they are."""
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSpec:
    """A model that judges."""

    model: str
    """As the suite names it, `provider/model`."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """As for `TargetSpec`."""
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSpec:
    """A metric as the suite asks for it, not yet looked up."""

    name: str
    """A built-in's or a plug-in's name, `package.module:attribute`, or a file as the suite writes it."""
    kind: MetricKind = "name"
    settings: Mapping[str, Any] = field(default_factory=dict)
    """As written, without threshold, judge and repeat. `name` among them is what reports call the metric."""
    threshold: float | None = None
    """The least value of a case that passes (the most, where lower is better); None: the metric's own."""
    judges: tuple[JudgeSpec, ...] = ()
    """Who judges by this metric; empty: the suite's judges."""
    repeat: int | None = None
    """How often a judge is asked about one output; None: as often as the metric itself wants."""
    path: Path | None = None
    """Where a metric of kind `file` lies."""
    place: str = ""

    @property
    def label(self) -> str:
        """What reports call the metric."""
        return str(self.settings.get("name") or self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Everything a suite file says; paths are resolved, defaults are filled in."""

    name: str
    path: Path
    datasets: tuple[DatasetSpec, ...]
    metrics: tuple[MetricSpec, ...]
    target: str | TargetSpec | None = None
    """`package.module:attribute`, or a model; None: the answers that rows bring along are judged."""
    target_place: str = ""
    repeat: int = 1
    gate: Gate | None = None
    gate_flags: bool = False
    """Whether the interpretation limits of the RAG metrics in use are gate thresholds too."""
    until_decided: bool = False
    """Whether a run stops as soon as its gate is decided either way."""
    baseline: str | None = None
    lock: Path | None = None
    """The file of learned thresholds; None: the settings' one, if they name one."""
    judges: tuple[JudgeSpec, ...] = ()
    """The models that metrics ask for a judgement; several judge each for itself."""
    embeddings: str | None = None
    timeout: float | None = None
    notes: tuple[str, ...] = ()
    """What a reader should know, one sentence each."""
