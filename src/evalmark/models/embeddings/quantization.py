"""Matrix products with 8-bit integers, whose results do not depend on the other texts of a batch.

Each input row (a token) has its own scale and zero point, from its smallest and largest number; each output of the weights has
its own scale. Integers are multiplied and summed, so results are the same on every processor and in every batch.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evalmark.core.errors import ModelError
from evalmark.core.lazy import LazyModule

from .onnx import FLOAT, INT8, UINT8, GraphWriter
from .tensors import TensorFile, open_model_file

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Matrix = npt.NDArray[np.float32]
else:
    np = LazyModule("numpy")


_EXEMPT = ".self.value"
"""This product stays in 32 bits: its rows affect all other tokens, so its error matters most. It is a twelfth of the work
and halves the error of the vectors."""
_LEAST = 1e-30
"""The smallest step between two integers, used for rows of zeros."""


@dataclass(frozen=True, slots=True)
class _QuantizedRows:
    """The names of quantized rows in the graph: rows = step * integers + shift."""

    integers: str
    step: str
    shift: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantizedLinear:
    """Adds a linear layer with 8-bit integers to the graph."""

    unsigned: bool
    """Use unsigned weights, for processors whose signed instruction saturates; the results are the same."""
    _rows: dict[str, _QuantizedRows] = field(default_factory=dict)

    def __call__(self, g: GraphWriter, name: str, rows: str, inputs: int, outputs: int) -> str:
        """Add the product of rows and the weights of this name, plus the bias.

        Raises:
            ModelError: The weights do not match the configuration, or are not finite.
        """
        if name.endswith(_EXEMPT):
            return g.linear(name, rows, inputs, outputs)
        if rows not in self._rows:
            self._rows[rows] = _in_integers(g, rows)
        row = self._rows[rows]
        weights = read_matrix(g.weights, f"{name}.weight", outputs, inputs)
        scales = np.maximum(np.abs(weights).max(axis=1), _LEAST) / 127
        integers = np.rint(weights / scales[:, None]).astype(np.int16)
        sums = integers.sum(axis=1) * scales
        product = g.op("DequantizeLinear", self._product(g, row.integers, integers), row.step, axis=0)
        scaled = g.op("Mul", product, g.array(FLOAT, [outputs], scales.astype("<f4").tobytes()))
        shifts = g.array(FLOAT, [1, outputs], sums.astype("<f4").tobytes())
        return g.op("Add", scaled, g.op("Gemm", row.shift, shifts, g.weight(f"{name}.bias", outputs)))

    def _product(self, g: GraphWriter, rows: str, integers: "npt.NDArray[np.int16]") -> str:
        shape = integers.T.shape
        if not self.unsigned:
            return g.op("MatMulInteger", rows, g.array(INT8, shape, integers.T.astype(np.int8).tobytes()))
        weights = g.array(UINT8, shape, (integers.T + 128).astype(np.uint8).tobytes())
        return g.op("MatMulInteger", rows, weights, g.array(UINT8, [], b"\0"), g.array(UINT8, [], b"\x80"))


def _in_integers(g: GraphWriter, rows: str) -> _QuantizedRows:
    """Quantize each row to 0 … 255 by its smallest and largest number."""
    zero, columns = g.number(0.0), g.integers(1)
    low = g.op("Min", g.op("ReduceMin", rows, columns, keepdims=0), zero)
    high = g.op("Max", g.op("ReduceMax", rows, columns, keepdims=0), zero)
    step = g.op("Max", g.op("Mul", g.op("Sub", high, low), g.number(1 / 255)), g.number(_LEAST))
    place = g.op("Round", g.op("Neg", g.op("Div", low, step)))
    integers = g.op("QuantizeLinear", rows, step, g.op("Cast", place, to=UINT8), axis=0)
    return _QuantizedRows(integers, step, g.op("Unsqueeze", g.op("Neg", g.op("Mul", place, step)), columns))


def read_matrix(weights: TensorFile, name: str, *shape: int) -> "Matrix":
    """Read a tensor as 32-bit floats.

    Raises:
        ModelError: There is no such tensor of this shape, or its numbers are not finite.
    """
    tensor = weights.tensor(name, *shape)
    with open_model_file(weights.path) as file:
        file.seek(tensor.offset)
        data = file.read(tensor.length)
    if tensor.dtype == "BF16":
        matrix = (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
    else:
        matrix = np.frombuffer(data, "<f4" if tensor.dtype == "F32" else "<f2").astype(np.float32)
    if not np.isfinite(matrix).all():
        raise ModelError(f"{weights.path}: tensor {name!r} contains numbers that are not finite.")
    return matrix.reshape(shape)


def saturation_probe(weights: TensorFile) -> bytes:
    """Build a model of one product with the largest possible sums: 64 times 255 x 127 unless the processor saturates."""
    g = GraphWriter(weights)
    table = g.array(INT8, [64, 32], bytes([127]) * (64 * 32))
    product = g.op("MatMulInteger", g.op("Cast", PROBE_INPUT, to=UINT8), table)
    return g.model((PROBE_INPUT,), g.op("Cast", product, to=FLOAT), 32)


PROBE_INPUT = "rows"
