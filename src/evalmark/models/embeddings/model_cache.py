"""The known models on this machine: fetch one, or look at all."""

from dataclasses import dataclass
from pathlib import Path

from evalmark.core.errors import ConfigError, ModelError
from evalmark.core.settings import Settings

from .folder import verify_hashes
from .sources import weight_sources
from .weights import KNOWN_MODELS, KnownModel, Progress, cache_folder, find_weights, get_weights, known_model


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalModel:
    """A known model, and what of it is here."""

    model: KnownModel
    path: Path | None
    """None where it was not fetched yet."""
    fault: str = ""
    """What is wrong with its files; empty where nothing is."""

    @property
    def line(self) -> str:
        """What `evalmark models list` says of it."""
        size = f"{sum(file.size for file in self.model.files) / 1e6:.0f} MB"
        state = self.fault or ("not here; run: evalmark models get" if self.path is None else f"checked, {self.path}")
        return f"{self.model.name}  {size}  {self.model.licence}  {state}"


def fetch_model(name: str, settings: Settings, progress: Progress | None = None) -> Path:
    """The folder with the checked files of a known model, fetched where they are missing.

    Raises:
        ConfigError: no model is known by this name.
        ModelError: the files cannot be had, or a route has others than the pinned ones.
    """
    model = known_model(name)
    if model is None:
        raise ConfigError(f"evalmark knows no model {name!r}; it knows {', '.join(m.name for m in KNOWN_MODELS)}.")
    cache = cache_folder(settings)
    if found := find_weights(model, cache):
        return found
    # Asked of the package, which loads the room's network half only now.
    return get_weights(model, cache, weight_sources(settings), progress)


def local_models(settings: Settings) -> tuple[LocalModel, ...]:
    """Every known model; the files that are here are hashed and compared."""
    return tuple(_look(model, cache_folder(settings)) for model in KNOWN_MODELS)


def _look(model: KnownModel, cache: Path) -> LocalModel:
    path = find_weights(model, cache)
    try:
        verify_hashes(path or cache, model.pins if path else ())
    except ModelError as error:
        return LocalModel(model=model, path=path, fault=str(error))
    return LocalModel(model=model, path=path)
