"""Write ONNX models: the few protobuf messages that a graph over an existing weight file needs.

The field numbers are those of onnx.proto and do not change. The `onnx` package would add 31 MB, and importing it takes longer
than loading the model; the tests read the written models with that package.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from .tensors import Tensor, TensorFile, open_model_file

Attribute = int | float | str | Sequence[int]

FLOAT, UINT8, INT8, INT32, INT64 = 1, 2, 3, 6, 7
_DTYPES = {"F32": FLOAT, "F16": 10, "BF16": 16}
_OPSET = 20
_IR_VERSION = 9


@dataclass(slots=True)
class GraphWriter:
    """Collects nodes and weights; each method returns the name of the value it adds."""

    weights: TensorFile
    inline: bool = False
    """Copy the weights into the model, for a runtime that cannot read them from the file."""
    _nodes: list[bytes] = field(default_factory=list)
    _initializers: dict[str, bytes] = field(default_factory=dict)

    def op(self, kind: str, *inputs: str, **attributes: Attribute) -> str:
        """Add an operator."""
        name = f"{kind}_{len(self._nodes)}"
        body = b"".join(_field(1, i) for i in inputs) + _field(2, name) + _field(3, name) + _field(4, kind)
        self._nodes.append(body + b"".join(_field(5, _attribute(key, value)) for key, value in attributes.items()))
        return name

    def weight(self, name: str, *shape: int) -> str:
        """Add a tensor of the weight file, as 32-bit floats."""
        tensor = self.weights.tensor(name, *shape)
        if name not in self._initializers:
            self._initializers[name] = _tensor(name, _DTYPES[tensor.dtype], shape) + self._data(tensor)
        return name if tensor.dtype == "F32" else self.op("Cast", name, to=FLOAT)

    def linear(self, name: str, rows: str, inputs: int, outputs: int) -> str:
        """Add the product of rows and the weights of this name, plus the bias."""
        weights, bias = self.weight(f"{name}.weight", outputs, inputs), self.weight(f"{name}.bias", outputs)
        return self.op("Gemm", rows, weights, bias, transB=1)

    def array(self, dtype: int, shape: Sequence[int], data: bytes) -> str:
        """Add an array, its numbers as bytes in little-endian order."""
        return self._constant(_tensor("", dtype, shape) + _field(9, data))

    def integers(self, *values: int) -> str:
        """Add a list of whole numbers."""
        return self._constant(_tensor("", INT64, [len(values)]) + _field(9, struct.pack(f"<{len(values)}q", *values)))

    def index(self, value: int) -> str:
        """Add one whole number without a dimension."""
        return self._constant(_tensor("", INT64, []) + _field(9, struct.pack("<q", value)))

    def number(self, value: float) -> str:
        """Add one float without a dimension."""
        return self._constant(_tensor("", FLOAT, []) + _field(9, struct.pack("<f", value)))

    def model(self, inputs: Sequence[str], output: str, width: int) -> bytes:
        """Return the finished model: token inputs of (texts, tokens), one output of (texts, width)."""
        graph = b"".join(_field(1, node) for node in self._nodes) + _field(2, "encoder")
        graph += b"".join(_field(5, body) for body in self._initializers.values())
        graph += b"".join(_field(11, _value(name, INT32, ("texts", "tokens"))) for name in inputs)
        graph += _field(12, _value(output, FLOAT, ("texts", width)))
        return _field(1, _IR_VERSION) + _field(2, "evalmark") + _field(7, graph) + _field(8, _field(2, _OPSET))

    def _constant(self, body: bytes) -> str:
        name = f"constant_{len(self._initializers)}"
        self._initializers[name] = body + _field(8, name)
        return name

    def _data(self, tensor: Tensor) -> bytes:
        if self.inline:
            with open_model_file(self.weights.path) as file:
                file.seek(tensor.offset)
                return _field(9, file.read(tensor.length))
        where = {"location": self.weights.path.name, "offset": str(tensor.offset), "length": str(tensor.length)}
        return b"".join(_field(13, _field(1, key) + _field(2, value)) for key, value in where.items()) + _field(14, 1)


def _tensor(name: str, dtype: int, shape: Sequence[int]) -> bytes:
    return b"".join(_field(1, d) for d in shape) + _field(2, dtype) + (_field(8, name) if name else b"")


def _value(name: str, dtype: int, shape: Sequence[str | int]) -> bytes:
    dimensions = b"".join(_field(1, _field(2 if isinstance(d, str) else 1, d)) for d in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, dtype) + _field(2, dimensions)))


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, float):
        return _field(1, name) + _field(2, value) + _field(20, 1)
    if isinstance(value, int):
        return _field(1, name) + _field(3, value) + _field(20, 2)
    if isinstance(value, str):
        return _field(1, name) + _field(4, value) + _field(20, 3)
    return _field(1, name) + b"".join(_field(8, number) for number in value) + _field(20, 7)


def _field(number: int, value: int | float | str | bytes) -> bytes:
    """One protobuf field: a whole number, a 32-bit float, or bytes with their length."""
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    body = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(body)) + body


def _varint(value: int) -> bytes:
    value &= 2**64 - 1  # negative numbers are written in two's complement
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
