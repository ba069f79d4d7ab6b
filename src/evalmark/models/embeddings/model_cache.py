"""The known models in the cache of this machine: list them, or fetch one."""

from dataclasses import dataclass
from pathlib import Path

from evalmark.core.errors import ConfigError, ModelError
from evalmark.core.lazy import need
from evalmark.core.settings import Settings

from .folder import verify_hashes
from .weights import KNOWN_MODELS, KnownModel, Progress, cache_folder, find_weights, get_weights, known_model


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalModel:
    """A known model and the state of its files on this machine."""

    model: KnownModel
    path: Path | None
    """None if it has not been fetched."""
    fault: str = ""
    """What is wrong with its files; empty if nothing is."""

    @property
    def line(self) -> str:
        """The line of the model in `evalmark models list`."""
        size = f"{sum(file.size for file in self.model.files) / 1e6:.0f} MB"
        state = self.fault or (
            "not on this machine; run: evalmark models get" if self.path is None else f"checked, {self.path}"
        )
        return f"{self.model.name}  {size}  {self.model.licence}  {state}"


def fetch_model(name: str, settings: Settings, progress: Progress | None = None) -> Path:
    """Return the folder with the files of a known model; fetch the files if they are missing.

    Raises:
        ConfigError: No known model has this name.
        ModelError: The files cannot be fetched, or a source has other files than the pinned ones.
    """
    model = known_model(name)
    if model is None:
        raise ConfigError(f"there is no known model {name!r}; known are {', '.join(m.name for m in KNOWN_MODELS)}.")
    cache = cache_folder(settings)
    if found := find_weights(model, cache):
        return found
    sources = need("evalmark.models.embeddings.sources").weight_sources(settings)  # loads urllib, so only when needed
    return get_weights(model, cache, sources, progress)


def local_models(settings: Settings) -> tuple[LocalModel, ...]:
    """Return all known models; files on this machine are hashed and compared."""
    return tuple(_inspect(model, cache_folder(settings)) for model in KNOWN_MODELS)


def _inspect(model: KnownModel, cache: Path) -> LocalModel:
    path = find_weights(model, cache)
    try:
        verify_hashes(path or cache, model.pins if path else ())
    except ModelError as error:
        return LocalModel(model=model, path=path, fault=str(error))
    return LocalModel(model=model, path=path)
