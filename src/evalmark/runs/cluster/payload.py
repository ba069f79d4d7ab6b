"""What a hand in another process has to know: the plan, packed without anything that lives or that is secret."""

import io
import os
import pickle
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from evalmark.core.errors import ConfigError
from evalmark.core.foreign.import_guard import guard_imports
from evalmark.core.protocols import ChatModel, Embedder
from evalmark.core.settings import Settings
from evalmark.runs.engine.pipeline import Limits
from evalmark.runs.planning.models import Models
from evalmark.runs.planning.plan import Plan

if TYPE_CHECKING:
    from types import ModuleType

_SECRET = re.compile("KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_MIN_SECRET = 8
"""Characters of a variable that may be a secret; shorter ones stand in any text by chance."""
_OURS = "evalmark.models.providers."


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """What each hand is told once."""

    plan: Plan
    """Without its datasets, its embedder and the run whose outputs it judges anew: the desk has those."""
    limits: Limits
    embeds: str
    """The fingerprint of the embedding model; empty where none is needed."""
    pooled: bool
    """Whether the actors of a pool embed; else the desk does, with a model behind a server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderSpec:
    """What an actor of a pool is sent: the embedder, and what it has to be."""

    embedder: Embedder
    fingerprint: str
    """Of the model where the run was started; with other files, the embedder is another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """Something on its way to a worker, and what it takes to open it there."""

    content: bytes
    settings: Settings
    """Where to keep results is no business of a worker, and the address may hold a password: it is left out."""
    folder: str
    """The working directory of the desk."""
    path: tuple[str, ...]
    """Where the desk looks for modules."""
    version: str
    """Of evalmark."""


def job_spec(plan: Plan, limits: Limits) -> JobSpec:
    """The brief of a plan."""
    return JobSpec(
        plan=replace(plan, sources=(), embedder=None, models=None, kept=None),
        limits=limits,
        embeds="" if plan.embedder is None else plan.embedder.fingerprint,
        pooled=plan.embedder is not None and not type(plan.embedder).__module__.startswith(_OURS),
    )


def make_payload(
    thing: object, settings: Settings, cloudpickle: "ModuleType", environ: Mapping[str, str] = os.environ
) -> Payload:
    """The thing, ready to be sent.

    Raises:
        ConfigError: something of it cannot be sent, or the value of a secret variable is part of it.
    """
    return Payload(
        content=pickle_checked(thing, cloudpickle, environ),
        settings=replace(settings, store=Settings().store),
        folder=str(Path.cwd()),
        path=tuple(sys.path),
        version=version("evalmark"),
    )


def pickle_checked(thing: object, cloudpickle: "ModuleType", environ: Mapping[str, str]) -> bytes:
    """The thing as bytes: models go by their names, and are opened where they are asked.

    Raises:
        ConfigError: something of it cannot be sent, or the value of a secret variable is part of it.
    """
    into = io.BytesIO()
    try:
        _pickler(cloudpickle)(into).dump(thing)
    except (TypeError, AttributeError, ValueError, pickle.PicklingError, RecursionError) as error:
        raise ConfigError(
            f"The target or a scorer cannot be sent to a worker: {error}. Make what it holds inside the function, or "
            "name it as 'module:attribute'."
        ) from error
    content = into.getvalue()
    if found := _secret_in(content, environ):
        raise ConfigError(
            f"The target, a scorer or a judge holds the value of {found}, and secrets are not sent to workers. Read the "
            "variable where it is used, and set it in the environment of the workers."
        )
    return content


def _pickler(cloudpickle: "ModuleType") -> Any:
    class Packer(cloudpickle.CloudPickler):  # type: ignore[misc, name-defined]
        def persistent_id(self, thing: object) -> tuple[str, ...] | None:
            if isinstance(thing, Models):
                return ("models",)
            if isinstance(thing, ChatModel) and type(thing).__module__.startswith(_OURS):
                return ("chat", thing.name, thing.identity)
            return None

    return Packer


class _Unpacker(pickle.Unpickler):
    def __init__(self, source: BinaryIO, models: Models) -> None:
        super().__init__(source)
        self._models = models

    def persistent_load(self, known: tuple[str, ...]) -> object:
        return self._models if known[0] == "models" else _checked_model(self._models, *known[1:])


def _checked_model(models: Models, name: str, identity: str) -> ChatModel:
    """The model of a name, which has to be the one that the desk means.

    Raises:
        ConfigError: here the name stands for another address.
    """
    model = models.chat(name)
    if model.identity != identity:
        raise address_mismatch(name, model.identity, identity)
    return model


def address_mismatch(name: str, there: str, here: str) -> ConfigError:
    """What is said where a worker would ask a model elsewhere than the desk."""
    return ConfigError(
        f"{name} is {there} for a worker, and {here} where the run was started; set the variables that "
        "say so, such as OPENAI_BASE_URL, in the environment of the workers."
    )


def unpack(pack: Payload, models: Models) -> Any:
    """What was packed, with its models opened by `models`.

    Only what the user's own desk has packed is ever read here.
    """
    return _Unpacker(io.BytesIO(pack.content), models).load()


def adopt_environment(pack: Payload) -> None:
    """Find modules and files as the desk does, where they are here at all."""
    guard_imports()
    sys.path.extend(place for place in pack.path if place not in sys.path)
    if Path(pack.folder).is_dir():
        os.chdir(pack.folder)


def _secret_in(content: bytes, environ: Mapping[str, str]) -> str | None:
    """The name of a variable whose value is part of the content."""
    return next(
        (
            name
            for name, value in environ.items()
            if _SECRET.search(name) and len(value) >= _MIN_SECRET and value.encode() in content
        ),
        None,
    )


def embedder_spec(embedder: Embedder) -> EmbedderSpec:
    """What an actor is sent of an embedder: nothing that it has loaded."""
    bare = replace(embedder) if hasattr(embedder, "__dataclass_fields__") else embedder  # type: ignore[type-var]
    return EmbedderSpec(embedder=bare, fingerprint=embedder.fingerprint)
