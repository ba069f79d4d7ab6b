"""The fast mode where there is no hardware for it is the exact one, and says so."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from evalmark.errors import MissingExtraError
from evalmark.models.embeddings.cached_embedder import CachedEmbedder
from evalmark.models.embeddings.local import LocalEmbedder

from .tiny import Tiny


def test_without_bf16_fast_is_exact_and_says_so_once(tmp_path: Path):
    folder = Tiny().write(tmp_path)
    exact, fast = LocalEmbedder(folder), LocalEmbedder(folder, "fast", bf16=lambda: False)
    assert fast.fingerprint == exact.fingerprint
    np.testing.assert_array_equal(asyncio.run(fast(["a"])), asyncio.run(exact(["a"])))
    assert exact.notes() == ()
    cached = CachedEmbedder(fast)
    asyncio.run(cached(["a", "b"]))
    assert cached.notes() == ("Embeddings ran in exact mode: this processor has no bf16, which fast mode needs.",)


def test_with_bf16_fast_has_a_fingerprint_of_its_own(tmp_path: Path):
    folder = Tiny().write(tmp_path)
    fast = LocalEmbedder(folder, "fast", bf16=lambda: True)
    assert fast.fingerprint != LocalEmbedder(folder).fingerprint
    assert fast.notes() == ()


def test_fast_without_its_runtime_says_what_to_install(tmp_path: Path):
    try:
        import openvino  # noqa: F401
    except ImportError:
        with pytest.raises(MissingExtraError, match=r"evalmark\[openvino\]"):
            _ = LocalEmbedder(Tiny().write(tmp_path), "fast").fingerprint
    else:
        assert LocalEmbedder(Tiny().write(tmp_path), "fast").mode_in_force in ("fast", "exact")
