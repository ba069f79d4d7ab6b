"""Peak speed of this machine: products of large matrices in 32 bits, bf16 and 8-bit integers, by each library.

The best of them is taken for the machine's peak. A library may use fewer instructions than the processor has: numpy's
OpenBLAS takes those of AVX2 on some processors with AVX-512, unless OPENBLAS_CORETYPE says otherwise.
"""

import importlib.util
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from evalmark.models.embeddings.onnx import FLOAT, INT8, UINT8, GraphWriter
from evalmark.models.embeddings.runtime import onnx_runtime, openvino_runtime, processor_count
from evalmark.models.embeddings.tensors import TensorFile

onnxruntime = onnx_runtime()
ROWS, INNER = 1024, 4096
"""A product takes some milliseconds, so that one of hundreds is made without a break whatever else the machine does."""
SHAPES = ((ROWS, INNER), (INNER, ROWS))
SECONDS = 3
"""For each library."""
Rates = dict[str, float]
"""By name of library, billions of operations a second, with as many threads as there are processors, each of which makes
products of its own."""


def best_rate(product: Callable[[], object]) -> float:
    """The best product of all, or the mean by processor time, whichever is more: where others are at work, the second.

    `product` is made by one thread.
    """
    together = threading.Barrier(processor_count() + 1)

    def seconds() -> list[float]:
        taken = []
        together.wait()
        end = time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            began = time.perf_counter()
            product()
            taken.append(time.perf_counter() - began)
        return taken

    product()
    with ThreadPoolExecutor(processor_count()) as pool:
        futures = [pool.submit(seconds) for _ in range(processor_count())]
        together.wait()
        used = time.process_time()
        taken = [one for future in futures for one in future.result()]
        used = time.process_time() - used
    return processor_count() * 2 * ROWS * ROWS * INNER / 1e9 / min(*taken, used / len(taken))


def floats() -> tuple["np.ndarray", "np.ndarray"]:
    rng = np.random.default_rng(0)
    one, other = (rng.standard_normal(shape, np.float32) for shape in SHAPES)
    return one, other


def of_numpy() -> Rates:
    """One thread a product, if OPENBLAS_NUM_THREADS says so."""
    a, b = floats()
    core = os.environ.get("OPENBLAS_CORETYPE")
    return {f"numpy{f' ({core})' if core else ''}": best_rate(lambda: np.matmul(a, b))}


def of_onnxruntime(kind: str) -> Rates:
    """Both matrices stand in the graph, and nothing is worked out beforehand."""
    g = GraphWriter(TensorFile(path=Path(), tensors={}))
    rng = np.random.default_rng(0)
    if kind == "fp32":
        a, b = (g.array(FLOAT, matrix.shape, matrix.tobytes()) for matrix in floats())
        out = g.op("MatMul", a, b)
    else:
        a = g.array(UINT8, SHAPES[0], rng.integers(0, 255, SHAPES[0], np.uint8).tobytes())
        b = g.array(INT8, SHAPES[1], rng.integers(-127, 127, SHAPES[1], np.int8).tobytes())
        out = g.op("Cast", g.op("MatMulInteger", a, b), to=FLOAT)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(g.model(("unused",), out, ROWS), options, providers=["CPUExecutionProvider"])
    nothing = {"unused": np.zeros((1, 1), np.int32)}
    return {"onnxruntime": best_rate(lambda: session.run(None, nothing))}


def of_openvino() -> Rates:
    """In bf16; {} where the processor or the package has none."""
    if importlib.util.find_spec("openvino") is None:
        return {}
    ov = openvino_runtime()
    from openvino import opset13 as ops  # noqa: PLC0415

    core = ov.Core()
    if "BF16" not in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        return {}
    rows, weights = floats()
    given = ops.parameter(list(rows.shape), np.float32)
    product = ops.matmul(given, ops.constant(weights), False, False)
    hints = {
        "INFERENCE_PRECISION_HINT": "bf16",
        "NUM_STREAMS": processor_count(),
        "INFERENCE_NUM_THREADS": processor_count(),
    }
    compiled = core.compile_model(ov.Model([product], [given]), "CPU", hints)
    own = threading.local()

    def run() -> None:
        if not hasattr(own, "request"):
            own.request = compiled.create_infer_request()
            own.request.set_input_tensor(ov.Tensor(rows, shared_memory=True))
        own.request.infer()

    return {"openvino": best_rate(run)}


def peaks() -> dict[str, Rates]:
    """By precision. Torch is measured too if it is installed."""
    return {"fp32": of_numpy() | of_onnxruntime("fp32"), "bf16": of_openvino(), "int8": of_onnxruntime("int8")}
