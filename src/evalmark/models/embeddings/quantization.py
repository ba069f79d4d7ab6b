"""Matrix products of 8-bit integers in place of floats, so that a text's vector is the same whatever stands beside it.

Each row of what goes into a product, which is one token, has a scale and a place of zero of its own, from its least and
its largest number; each output of the weights has a scale of its own. What is multiplied and summed are whole numbers,
which come out alike on every processor and in every batch.
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
"""The product whose error weighs most: each of its rows goes into every token that looks there. It stays in 32 bits, for
a twelfth of the work, and the vectors are twice as near."""
_LEAST = 1e-30
"""The least step between two integers: a row of zeros is divided by it."""


@dataclass(frozen=True, slots=True)
class _QuantizedRows:
    """What is known of rows that are integers now: rows = step * integers + shift."""

    integers: str
    step: str
    shift: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantizedLinear:
    """Writes a linear part of the graph in 8-bit integers."""

    unsigned: bool
    """Weights without a sign, for processors whose faster instruction cuts sums off; the results are the same."""
    _rows: dict[str, _QuantizedRows] = field(default_factory=dict)

    def __call__(self, g: GraphWriter, name: str, rows: str, inputs: int, outputs: int) -> str:
        """The rows times the weights of this name, plus their bias.

        Raises:
            ModelError: the weights are not those that the configuration describes, or not finite.
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
        """Rows times weights, exactly."""
        shape = integers.T.shape
        if not self.unsigned:
            return g.op("MatMulInteger", rows, g.array(INT8, shape, integers.T.astype(np.int8).tobytes()))
        weights = g.array(UINT8, shape, (integers.T + 128).astype(np.uint8).tobytes())
        return g.op("MatMulInteger", rows, weights, g.array(UINT8, [], b"\0"), g.array(UINT8, [], b"\x80"))


def _in_integers(g: GraphWriter, rows: str) -> _QuantizedRows:
    """Each row from 0 to 255, by its own least and largest number."""
    zero, columns = g.number(0.0), g.integers(1)
    low = g.op("Min", g.op("ReduceMin", rows, columns, keepdims=0), zero)
    high = g.op("Max", g.op("ReduceMax", rows, columns, keepdims=0), zero)
    step = g.op("Max", g.op("Mul", g.op("Sub", high, low), g.number(1 / 255)), g.number(_LEAST))
    place = g.op("Round", g.op("Neg", g.op("Div", low, step)))
    integers = g.op("QuantizeLinear", rows, step, g.op("Cast", place, to=UINT8), axis=0)
    return _QuantizedRows(integers, step, g.op("Unsqueeze", g.op("Neg", g.op("Mul", place, step)), columns))


def read_matrix(weights: TensorFile, name: str, *shape: int) -> "Matrix":
    """The numbers of a tensor, in 32 bits.

    Raises:
        ModelError: there is no such tensor of this shape, or its numbers are not finite.
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
        raise ModelError(f"{weights.path}: tensor {name!r} holds numbers that are not finite.")
    return matrix.reshape(shape)


def saturation_probe(weights: TensorFile) -> bytes:
    """A model of one product whose sums are the largest there are: 64 times 255 x 127 where nothing is cut off."""
    g = GraphWriter(weights)
    table = g.array(INT8, [64, 32], bytes([127]) * (64 * 32))
    product = g.op("MatMulInteger", g.op("Cast", PROBE_INPUT, to=UINT8), table)
    return g.model((PROBE_INPUT,), g.op("Cast", product, to=FLOAT), 32)


PROBE_INPUT = "rows"
