"""The local model on a GPU where there is one; elsewhere one sentence says what is missing, before anything is embedded."""

import asyncio
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from evalmark.core.settings import Settings
from evalmark.errors import ConfigError, ModelError
from evalmark.models.embeddings import runtime
from evalmark.models.embeddings.load import load_embedder
from evalmark.models.embeddings.local import LocalEmbedder

from .tiny import Tiny

CUDA = "CUDAExecutionProvider"


def has_cuda() -> bool:
    try:
        runtime.check_device("exact", "gpu")
    except ConfigError:
        return False
    return True


def has_intel_gpu() -> bool:
    pytest.importorskip("openvino")
    try:
        runtime.check_device("fast", "gpu")
    except ConfigError:
        return False
    return True


def test_exact_vectors_of_an_nvidia_gpu_are_those_of_the_processor(tmp_path: Path):
    if not has_cuda():
        pytest.skip("no NVIDIA GPU, or no onnxruntime-gpu")
    folder = Tiny().write(tmp_path)
    on_gpu, on_cpu = LocalEmbedder(folder, device="gpu"), LocalEmbedder(folder)
    assert on_gpu.fingerprint == on_cpu.fingerprint
    np.testing.assert_allclose(asyncio.run(on_gpu(["a", "b c"])), asyncio.run(on_cpu(["a", "b c"])), atol=1e-5)


def test_fast_vectors_of_an_intel_gpu_are_near_those_of_the_processor(tmp_path: Path):
    if not has_intel_gpu():
        pytest.skip("no Intel GPU")
    folder = Tiny().write(tmp_path)
    on_gpu, on_cpu = LocalEmbedder(folder, "fast", device="gpu"), LocalEmbedder(folder)
    np.testing.assert_allclose(asyncio.run(on_gpu(["a", "b c"])), asyncio.run(on_cpu(["a", "b c"])), atol=2e-2)


def test_vectors_that_a_gpu_computes_in_another_arithmetic_have_a_fingerprint_of_their_own(tmp_path: Path):
    folder = Tiny().write(tmp_path)
    fast = LocalEmbedder(folder, "fast", bf16=lambda: True)
    on_gpu = LocalEmbedder(folder, "fast", bf16=lambda: False, device="gpu")
    assert on_gpu.mode_in_force == "fast"  # the processor's instructions do not matter
    assert on_gpu.fingerprint != fast.fingerprint
    assert on_gpu.fingerprint.endswith(":fast")
    assert LocalEmbedder(folder, device="gpu").fingerprint == LocalEmbedder(folder).fingerprint


ABSENT = [
    pytest.param("exact", "install onnxruntime-gpu in place of onnxruntime", id="without CUDA"),
    pytest.param("fast", "OpenVINO finds no Intel GPU", id="without an Intel GPU"),
    pytest.param("int8", "mode int8 runs on the processor only", id="in int8"),
]


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runtimes that know the processor only."""
    ort = SimpleNamespace(get_available_providers=lambda: ["CPUExecutionProvider"])
    core = SimpleNamespace(available_devices=["CPU"])
    monkeypatch.setattr(runtime, "onnx_runtime", lambda: ort)
    monkeypatch.setattr(runtime, "openvino_runtime", lambda: SimpleNamespace(Core=lambda: core))


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(("mode", "message"), ABSENT)
def test_a_gpu_that_is_not_there_is_one_sentence_before_anything_is_embedded(tmp_path: Path, mode, message):
    folder = Tiny().write(tmp_path)
    with pytest.raises(ConfigError, match=message) as error:
        load_embedder(str(folder), Settings(embedding_mode=mode, device="gpu"))
    assert str(error.value).endswith("Leave --device out to run the model on the processor.")


class FakeRuntime:
    """ONNX Runtime as built for NVIDIA GPUs; it falls back to the processor where CUDA does not start."""

    class SessionOptions:
        def add_session_config_entry(self, *_entry: str) -> None: ...

    def __init__(self, *, starts: bool) -> None:
        self.starts = starts
        self.providers: list = []

    def InferenceSession(self, _graph: bytes, _options: object, providers: list) -> SimpleNamespace:  # noqa: N802
        self.providers = providers
        used = [CUDA, "CPUExecutionProvider"] if self.starts else ["CPUExecutionProvider"]
        return SimpleNamespace(get_providers=lambda: used, get_inputs=list)


def test_cuda_is_asked_for_products_in_full_precision(tmp_path: Path, monkeypatch):
    ort = FakeRuntime(starts=True)
    monkeypatch.setattr(runtime, "onnx_runtime", lambda: ort)
    runtime.open_exact(LocalEmbedder(Tiny().write(tmp_path)).folder, "gpu")
    assert ort.providers == [(CUDA, {"use_tf32": "0"}), "CPUExecutionProvider"]


def test_a_runtime_that_would_quietly_use_the_processor_is_refused(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(runtime, "onnx_runtime", lambda: FakeRuntime(starts=False))
    with pytest.raises(ModelError, match="cannot start CUDA here"):
        runtime.open_exact(LocalEmbedder(Tiny().write(tmp_path)).folder, "gpu")
