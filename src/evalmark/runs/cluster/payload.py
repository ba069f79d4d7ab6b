"""The job spec of a worker: the plan, pickled without open models and without secrets."""

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
from evalmark.runs.engine.work import Limits
from evalmark.runs.planning.models import ModelFactory
from evalmark.runs.planning.plan import Plan

if TYPE_CHECKING:
    from types import ModuleType

_SECRET = re.compile("KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_MIN_SECRET = 8
"""The minimum length of a secret; shorter values occur in any text by chance."""
_OURS = "evalmark.models.providers."


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """What each worker gets once."""

    plan: Plan
    """Without datasets, embedder and earlier run: only the coordinator needs those."""
    limits: Limits
    embedding_fingerprint: str
    """The fingerprint of the embedding model, or empty if none is needed."""
    pooled: bool
    """Whether embedding actors compute vectors; otherwise the coordinator calls an embedding server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderSpec:
    """What an embedding actor gets: the embedder and its expected fingerprint."""

    embedder: Embedder
    fingerprint: str
    """The fingerprint on the machine that started the run; other model files give another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """A pickled object for a worker, and what the worker needs to unpickle it."""

    content: bytes
    settings: Settings
    """Without the store: workers do not need it, and its address may hold a password."""
    folder: str
    """The working directory of the coordinator."""
    path: tuple[str, ...]
    """The import path of the coordinator."""
    version: str
    """The version of evalmark."""


def job_spec(plan: Plan, limits: Limits) -> JobSpec:
    """Build the job spec of a plan."""
    return JobSpec(
        plan=replace(plan, sources=(), embedder=None, models=None, rescored=None),
        limits=replace(limits, write_interval=0.0),  # the coordinator gathers the results of all workers
        embedding_fingerprint="" if plan.embedder is None else plan.embedder.fingerprint,
        pooled=plan.embedder is not None and not type(plan.embedder).__module__.startswith(_OURS),
    )


def make_payload(
    value: object, settings: Settings, cloudpickle: "ModuleType", environ: Mapping[str, str] = os.environ
) -> Payload:
    """Pickle an object for workers.

    Raises:
        ConfigError: a part cannot be pickled, or it contains the value of a secret variable.
    """
    return Payload(
        content=pickle_checked(value, cloudpickle, environ),
        settings=replace(settings, store=Settings().store),
        folder=str(Path.cwd()),
        path=tuple(sys.path),
        version=version("evalmark"),
    )


def pickle_checked(value: object, cloudpickle: "ModuleType", environ: Mapping[str, str]) -> bytes:
    """Pickle an object; models are replaced by their names and opened by the worker.

    Raises:
        ConfigError: a part cannot be pickled, or it contains the value of a secret variable.
    """
    into = io.BytesIO()
    try:
        _pickler(cloudpickle)(into).dump(value)
    except (TypeError, AttributeError, ValueError, pickle.PicklingError, RecursionError) as error:
        raise ConfigError(
            f"The target or a scorer cannot be sent to a worker: {error}. Create the objects it holds inside the function, or "
            "name it as 'module:attribute'."
        ) from error
    content = into.getvalue()
    if variable := _secret_in(content, environ):
        raise ConfigError(
            f"The target, a scorer or a judge holds the value of {variable}, and secrets are not sent to workers. Read the "
            "variable inside the function, and set it in the environment of the workers."
        )
    return content


def _pickler(cloudpickle: "ModuleType") -> Any:
    class Packer(cloudpickle.CloudPickler):  # type: ignore[misc, name-defined]
        def persistent_id(self, value: object) -> tuple[str, ...] | None:
            if isinstance(value, ModelFactory):
                return ("models",)
            if isinstance(value, ChatModel) and type(value).__module__.startswith(_OURS):
                return ("chat", value.name, value.identity)
            return None

    return Packer


class _Unpacker(pickle.Unpickler):
    def __init__(self, source: BinaryIO, models: ModelFactory) -> None:
        super().__init__(source)
        self._models = models

    def persistent_load(self, reference: tuple[str, ...]) -> object:
        return self._models if reference[0] == "models" else _open_model(self._models, *reference[1:])


def _open_model(models: ModelFactory, name: str, identity: str) -> ChatModel:
    """Open a model by name and check that it has the coordinator's address.

    Raises:
        ConfigError: the name has another address here.
    """
    model = models.chat(name)
    if model.identity != identity:
        raise address_mismatch(name, model.identity, identity)
    return model


def address_mismatch(name: str, there: str, here: str) -> ConfigError:
    """Return the error for a model that has another address on a worker."""
    return ConfigError(
        f"{name} is {there} for a worker, and {here} where the run was started; set the variables of the "
        "address, such as OPENAI_BASE_URL, in the environment of the workers."
    )


def unpack(payload: Payload, models: ModelFactory) -> Any:
    """Unpickle a payload; `models` opens its models.

    Only payloads of the user's own coordinator are read.
    """
    return _Unpacker(io.BytesIO(payload.content), models).load()


def adopt_environment(payload: Payload) -> None:
    """Use the import path and the working directory of the coordinator, if they exist here."""
    guard_imports()
    sys.path.extend(entry for entry in payload.path if entry not in sys.path)
    if Path(payload.folder).is_dir():
        os.chdir(payload.folder)


def _secret_in(content: bytes, environ: Mapping[str, str]) -> str | None:
    """Return the name of a secret variable whose value is in the content."""
    return next(
        (
            name
            for name, value in environ.items()
            if _SECRET.search(name) and len(value) >= _MIN_SECRET and value.encode() in content
        ),
        None,
    )


def embedder_spec(embedder: Embedder) -> EmbedderSpec:
    """Return the spec of an embedder, without its loaded model."""
    bare = replace(embedder) if hasattr(embedder, "__dataclass_fields__") else embedder  # type: ignore[type-var]
    return EmbedderSpec(embedder=bare, fingerprint=embedder.fingerprint)
