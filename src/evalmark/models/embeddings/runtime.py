"""The two runtimes that can run a graph: ONNX Runtime for the modes `exact` and `int8`, OpenVINO for `fast`.

Both run it on the processor. On a GPU, ONNX Runtime runs `exact` with its CUDA provider, OpenVINO `fast` with its device GPU.
"""

import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from evalmark.core.embedding_modes import EmbeddingDevice, EmbeddingMode
from evalmark.core.errors import ConfigError, ModelError
from evalmark.core.lazy import LazyModule, need

from .bert import write_graph
from .folder import ModelFolder
from .quantization import PROBE_INPUT, QuantizedLinear, saturation_probe

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from evalmark.core.protocols import Vectors

    Tokens = npt.NDArray[np.int32]
    Infer = Callable[[Tokens, Tokens], Vectors]
else:
    np = LazyModule("numpy")


_REPORTS = "openvino_telemetry"
_CUDA, _CPU = "CUDAExecutionProvider", "CPUExecutionProvider"


def onnx_runtime() -> Any:
    """Import ONNX Runtime with its telemetry switched off.

    From version 1.29 its packages for Linux and macOS store an id of the machine in the home directory and report usage. The
    variable is read when the library is loaded, so this has no effect if it was loaded before.
    """
    is_silent = os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1") == "1"  # the user may have set the variable
    ort = need("onnxruntime", "")
    if is_silent:
        ort.disable_telemetry_events()  # on Windows the variable has no effect
    return ort


def openvino_runtime() -> Any:
    """Import OpenVINO with its telemetry switched off.

    It reports its import and stores an id in the home directory if the package `openvino_telemetry` can be imported, so that
    import is blocked. There is no variable for it.

    Raises:
        MissingExtraError: OpenVINO is not installed.
    """
    if _REPORTS in sys.modules:
        return need("openvino", "openvino")
    sys.modules[_REPORTS] = None  # type: ignore[assignment]  # makes the import fail
    try:
        return need("openvino", "openvino")
    finally:
        sys.modules.pop(_REPORTS, None)


def processor_count() -> int:
    """Return the number of processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # pragma: no cover  macOS and Windows


def check_device(mode: EmbeddingMode, device: EmbeddingDevice) -> None:
    """Check that the runtime of a mode can use a device here. The processor can always be used.

    Raises:
        ConfigError: There is no such device, or the runtime does not support it.
        MissingExtraError: The runtime is not installed.
    """
    if device == "cpu":
        return
    leave_out = "Leave --device out to run the model on the processor."
    if mode == "int8":
        raise ConfigError(f"--device gpu: mode int8 runs on the processor only; use mode exact or fast. {leave_out}")
    if mode == "fast" and not any(name.startswith("GPU") for name in openvino_runtime().Core().available_devices):
        raise ConfigError(f"--device gpu: OpenVINO finds no Intel GPU, which mode fast needs. {leave_out}")
    if mode == "exact" and _CUDA not in onnx_runtime().get_available_providers():
        raise ConfigError(
            "--device gpu: this ONNX Runtime cannot use an NVIDIA GPU; install onnxruntime-gpu in place of onnxruntime. "
            f"{leave_out}"
        )


def open_exact(folder: ModelFolder, device: EmbeddingDevice = "cpu") -> "Infer":
    """Run the model with ONNX Runtime in 32 bits; one thread for each call is faster than several threads in one call.

    The weights stay in their file, which the runtime maps into memory.

    Raises:
        ModelError: The runtime rejects the model.
    """
    return _inference(folder, write_graph(folder.weights, folder.encoder), device)


def open_int8(folder: ModelFolder, _device: EmbeddingDevice = "cpu", *, unsigned: bool | None = None) -> "Infer":
    """Run the model with ONNX Runtime and most matrix products in 8-bit integers, one thread for each call.

    The vectors are the same on every processor up to rounding of 32-bit floats. `unsigned` uses unsigned weights; None: if
    this processor needs them.

    Raises:
        ModelError: The runtime rejects the model.
    """
    products = QuantizedLinear(unsigned=saturates_signed_products(folder) if unsigned is None else unsigned)
    return _inference(folder, write_graph(folder.weights, folder.encoder, linear=products))


def saturates_signed_products(folder: ModelFolder) -> bool:
    """Whether products with signed 8-bit weights are wrong on this processor, as on x86 without VNNI.

    There the instruction adds two products in 16 bits and saturates. The runtime uses another instruction for unsigned
    weights.
    """
    session = _session(folder, saturation_probe(folder.weights))
    rows = [np.full((count, 64), 255, np.int32) for count in (1, 8)]  # a single row uses other code
    return any((session.run(None, {PROBE_INPUT: many})[0] != 64 * 255 * 127).any() for many in rows)


def _inference(folder: ModelFolder, graph: bytes, device: EmbeddingDevice = "cpu") -> "Infer":
    session = _session(folder, graph, device)
    names = [node.name for node in session.get_inputs()]

    def infer(tokens: "Tokens", mask: "Tokens") -> "Vectors":
        vectors: Vectors = session.run(None, dict(zip(names, (tokens, mask), strict=True)))[0]
        return vectors

    return infer


def _session(folder: ModelFolder, graph: bytes, device: EmbeddingDevice = "cpu") -> Any:
    ort = onnx_runtime()
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only; they come as exceptions too
    options.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", str(folder.weights.path.parent)
    )
    # TF32 would round the numbers of products to 10 bits.
    providers = [(_CUDA, {"use_tf32": "0"}), _CPU] if device == "gpu" else [_CPU]
    if device == "gpu" and hasattr(ort, "preload_dlls"):
        ort.preload_dlls()  # finds CUDA and cuDNN in the packages of pip
    try:
        session = ort.InferenceSession(graph, options, providers=providers)
    except Exception as error:  # the runtime has many exception classes
        raise ModelError(f"{folder.path}: ONNX Runtime cannot run this model: {error}") from error
    if device == "gpu" and _CUDA not in session.get_providers():  # it would run on the processor without a word
        raise ModelError(
            "--device gpu: ONNX Runtime cannot start CUDA here. Check the driver, and that CUDA and cuDNN have the versions "
            "that onnxruntime-gpu names, or leave --device out."
        )
    return session


def has_bf16() -> bool:
    """Whether this processor has bf16 instructions, according to OpenVINO."""
    capabilities = openvino_runtime().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    return "BF16" in capabilities


def open_openvino(folder: ModelFolder, device: EmbeddingDevice = "cpu", *, precision: str = "bf16") -> "Infer":
    """Run the model with OpenVINO: in bf16 if the processor supports it, in 16-bit floats on a GPU.

    Raises:
        ModelError: The runtime rejects the model.
        MissingExtraError: OpenVINO is not installed.
    """
    core = openvino_runtime().Core()
    workers = str(processor_count())
    hints = {"INFERENCE_PRECISION_HINT": precision, "NUM_STREAMS": workers, "INFERENCE_NUM_THREADS": workers}
    if device == "gpu":
        hints = {"INFERENCE_PRECISION_HINT": "f16"}
    graph = write_graph(folder.weights, folder.encoder, inline=True)
    try:
        compiled: Any = core.compile_model(core.read_model(graph), device.upper(), hints)
    except Exception as error:  # the runtime raises RuntimeError itself
        raise ModelError(f"{folder.path}: OpenVINO cannot run this model: {error}") from error
    one = np.ones((1, 1), np.int32)
    # The binding initializes itself with the first array. Two threads that do so at the same time deadlock, so it is done
    # here in one thread.
    np.array(compiled.create_infer_request().infer([one - 1, one])[0])
    own = threading.local()  # a request serves one thread at a time

    def infer(tokens: "Tokens", mask: "Tokens") -> "Vectors":
        if not hasattr(own, "request"):
            own.request = compiled.create_infer_request()
        return np.array(own.request.infer([tokens, mask])[0], dtype=np.float32)

    return infer
