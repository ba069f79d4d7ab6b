"""The two runtimes that can run a graph: ONNX Runtime for the modes `exact` and `int8`, OpenVINO for `fast`."""

import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from evalmark.core.errors import ModelError
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


def onnx_runtime() -> Any:
    """The module of ONNX Runtime, which sends nothing home.

    From 1.29 on its packages for Linux and macOS note an id of the machine in the home directory and report to its
    makers what is run. It looks at the variable when it is loaded, so whoever has loaded it before has decided that.
    """
    is_silent = os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1") == "1"  # a user may want it otherwise
    ort = need("onnxruntime", "")
    if is_silent:
        ort.disable_telemetry_events()  # on Windows, where the variable says nothing
    return ort


def openvino_runtime() -> Any:
    """The module of OpenVINO, which sends nothing home.

    It reports that it was imported, and notes an id in the home directory, where it finds a package for that beside it;
    where that cannot be imported, it does without. There is no variable for it.

    Raises:
        MissingExtraError: OpenVINO is not installed.
    """
    if _REPORTS in sys.modules:
        return need("openvino", "openvino")
    sys.modules[_REPORTS] = None  # type: ignore[assignment]  # Python's way to say that there is no such module
    try:
        return need("openvino", "openvino")
    finally:
        sys.modules.pop(_REPORTS, None)


def processor_count() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # pragma: no cover  macOS and Windows


def open_exact(folder: ModelFolder) -> "Infer":
    """ONNX Runtime in 32 bits, one thread a call: many calls at once are faster than many threads in one.

    The weights stay in their file, which the runtime maps into memory.

    Raises:
        ModelError: the runtime refuses the model.
    """
    return _inference(folder, write_graph(folder.weights, folder.encoder))


def open_int8(folder: ModelFolder, *, unsigned: bool | None = None) -> "Infer":
    """ONNX Runtime with most matrix products in 8-bit integers, one thread a call.

    The vectors are the same on every processor but for the rounding of 32-bit floats. `unsigned` has the weights without
    a sign; None: where this processor needs it.

    Raises:
        ModelError: the runtime refuses the model.
    """
    products = QuantizedLinear(unsigned=saturates_signed_products(folder) if unsigned is None else unsigned)
    return _inference(folder, write_graph(folder.weights, folder.encoder, linear=products))


def saturates_signed_products(folder: ModelFolder) -> bool:
    """Whether products with signed 8-bit weights come out wrong here, as they do on x86 processors without VNNI.

    Their instruction adds two products in 16 bits, which is too few for the largest. The runtime takes another one for
    weights without a sign.
    """
    session = _session(folder, saturation_probe(folder.weights))
    rows = [np.full((count, 64), 255, np.int32) for count in (1, 8)]  # one row alone goes through code of its own
    return any((session.run(None, {PROBE_INPUT: many})[0] != 64 * 255 * 127).any() for many in rows)


def _inference(folder: ModelFolder, graph: bytes) -> "Infer":
    session = _session(folder, graph)
    names = [node.name for node in session.get_inputs()]

    def infer(tokens: "Tokens", mask: "Tokens") -> "Vectors":
        vectors: Vectors = session.run(None, dict(zip(names, (tokens, mask), strict=True)))[0]
        return vectors

    return infer


def _session(folder: ModelFolder, graph: bytes) -> Any:
    ort = onnx_runtime()
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only; they come as exceptions too
    options.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", str(folder.weights.path.parent)
    )
    try:
        return ort.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # foreign code: the runtime has one exception class for each of its faults
        raise ModelError(f"{folder.path}: ONNX Runtime cannot run this model: {error}") from error


def has_bf16() -> bool:
    """Whether this processor multiplies bf16 numbers itself, as OpenVINO sees it."""
    capabilities = openvino_runtime().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    return "BF16" in capabilities


def open_openvino(folder: ModelFolder, precision: str = "bf16") -> "Infer":
    """OpenVINO, which multiplies in bf16 where the processor can.

    Raises:
        ModelError: the runtime refuses the model.
        MissingExtraError: OpenVINO is not installed.
    """
    core = openvino_runtime().Core()
    workers = str(processor_count())
    hints = {"INFERENCE_PRECISION_HINT": precision, "NUM_STREAMS": workers, "INFERENCE_NUM_THREADS": workers}
    graph = write_graph(folder.weights, folder.encoder, inline=True)
    try:
        compiled: Any = core.compile_model(core.read_model(graph), "CPU", hints)
    except Exception as error:  # foreign code: the runtime raises bare RuntimeErrors
        raise ModelError(f"{folder.path}: OpenVINO cannot run this model: {error}") from error
    one = np.ones((1, 1), np.int32)
    # The binding sets itself up when it first touches an array; two threads that do so at the same time wait for each
    # other for ever, so it is made to do it here, where there is one.
    np.array(compiled.create_infer_request().infer([one - 1, one])[0])
    own = threading.local()  # a request serves one thread at a time

    def infer(tokens: "Tokens", mask: "Tokens") -> "Vectors":
        if not hasattr(own, "request"):
            own.request = compiled.create_infer_request()
        return np.array(own.request.infer([tokens, mask])[0], dtype=np.float32)

    return infer
