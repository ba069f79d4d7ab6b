"""Load an embedder by its name."""

from collections.abc import Sequence
from pathlib import Path

from evalmark.core.errors import ConfigError, ModelError
from evalmark.core.foreign.allowed_folders import AllowedFolders
from evalmark.core.foreign.named_objects import is_named_object, load_object
from evalmark.core.lazy import need
from evalmark.core.protocols import Embedder
from evalmark.core.settings import Settings

from .adapters import as_embedder, sentence_transformer
from .folder import read_folder
from .local import open_local
from .model_cache import fetch_model
from .runtime import check_device
from .weights import KNOWN_MODELS, Progress, known_model

_SENTENCE_TRANSFORMERS = "sentence-transformers:"


def load_embedder(
    name: str, settings: Settings, folders: Sequence[Path] = (), progress: Progress | None = None
) -> Embedder:
    """Return the embedder of a name.

    The name is that of a known model (its weights are fetched if they are missing), a folder in Hugging Face layout,
    `package.module:attribute`, or `sentence-transformers:NAME`. Folders are looked up in the working directory, then in
    `folders`. The model itself is loaded at the first use.

    Raises:
        ConfigError: The name is not that of an embedder.
        ModelError: The weights cannot be fetched or used.
    """
    if model := known_model(name):
        check_device(settings.embedding_mode, settings.device)  # before 90 MB are fetched
        return open_local(fetch_model(name, settings, progress), settings.embedding_mode, model.pins, settings.device)
    if name.startswith(_SENTENCE_TRANSFORMERS):
        return _load_sentence_transformer(name.removeprefix(_SENTENCE_TRANSFORMERS), settings)
    if found := _folder(name, folders):
        read_folder(found)  # reports faults now, not at the first text
        return open_local(found, settings.embedding_mode, device=settings.device)
    if is_named_object(name):
        return as_embedder(load_object(name, folders, what="embedder"), name)
    raise ConfigError(
        f"There is no embedding model {name!r}: it is neither a known model ({', '.join(m.name for m in KNOWN_MODELS)}), "
        "nor a folder with a model, nor 'package.module:attribute', nor 'sentence-transformers:NAME'."
    )


def _folder(name: str, folders: Sequence[Path]) -> Path | None:
    places = [Path(name).expanduser(), *(folder / name for folder in folders)] if name else []
    found = next((candidate.resolve() for candidate in places if candidate.is_dir()), None)
    if found is not None and isinstance(folders, AllowedFolders):
        outside = next((candidate for candidate in (found, *found.iterdir()) if not folders.contains(candidate)), None)
        if outside is not None:
            raise ConfigError(
                f"embeddings {name!r}: {outside} {folders.outside_message}, or name it with --embeddings."
            )
    return found


def _load_sentence_transformer(name: str, settings: Settings) -> Embedder:
    library = need("sentence_transformers", "sentence-transformers")
    try:
        model = library.SentenceTransformer(name, local_files_only=settings.offline)
    except Exception as error:  # errors of the library and of the hub
        raise ModelError(f"sentence-transformers cannot load {name!r}: {error}") from error
    return sentence_transformer(model, name)
