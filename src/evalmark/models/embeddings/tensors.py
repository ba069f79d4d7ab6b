"""Read and check the header of a safetensors file; the data stay in the file."""

import json
import math
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, TypeGuard

from evalmark.core.errors import ModelError
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import open_file

_WIDTHS = {"BOOL": 1, "U8": 1, "I8": 1, "I16": 2, "U16": 2, "F16": 2, "BF16": 2, "I32": 4, "U32": 4, "F32": 4}
_WIDTHS |= {"I64": 8, "U64": 8, "F64": 8}
_LARGEST_HEADER = 16_000_000
"""Bytes; a BERT with 100 layers has a header of 250,000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """The type, the shape and the place of a tensor in the file."""

    dtype: str
    shape: tuple[int, ...]
    offset: int
    """Bytes from the start of the file."""
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorFile:
    """A checked safetensors file."""

    path: Path
    """With symbolic links resolved."""
    tensors: Mapping[str, Tensor]

    def tensor(self, name: str, *shape: int) -> Tensor:
        """Return the tensor of this name, and check that it has this shape and holds floats.

        Raises:
            ModelError: It is missing, or has another shape or type.
        """
        found = self.tensors.get(name)
        if found is None:
            raise ModelError(
                f"{self.path}: there is no tensor {name!r}. The model is not of a family evalmark can run."
            )
        if found.shape != shape or found.dtype not in ("F32", "F16", "BF16"):
            raise ModelError(
                f"{self.path}: tensor {name!r} is {found.dtype} {list(found.shape)}, "
                f"but config.json requires floats (F32, F16 or BF16) {list(shape)}."
            )
        return found


@contextmanager
def open_model_file(path: Path) -> Iterator[BufferedReader]:
    """Open a file of a model for reading.

    Raises:
        ModelError: It cannot be opened, or is not a regular file.
    """
    try:
        file = open_file(path)
    except PlacedError as fault:
        raise ModelError(f"{path}: cannot be read: {fault.message}") from fault
    with file:
        yield file


def read_tensor_file(path: Path) -> TensorFile:
    """Read and check the header of a safetensors file.

    Raises:
        ModelError: The file is missing or truncated, or its header is inconsistent.
    """
    try:
        with open_model_file(path) as file:
            start = file.read(8)
            size = path.stat().st_size
            length = struct.unpack("<Q", start)[0] if len(start) == 8 else -1
            if not 2 <= length <= min(size - 8, _LARGEST_HEADER):
                raise ModelError(f"{path}: not a safetensors file: it announces a header of {length} bytes in {size}.")
            header = json.loads(file.read(length).decode("utf-8"))
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: not a safetensors file: its header is not JSON: {error}.") from error
    return TensorFile(path=path.resolve(), tensors=_checked(header, path, 8 + length, size))


def _checked(header: Any, path: Path, base: int, size: int) -> dict[str, Tensor]:
    """Read the tensors of a header, and check that they fill the file without gaps or overlaps."""
    if not isinstance(header, dict):
        raise ModelError(f"{path}: not a safetensors file: its header is a {type(header).__name__}.")
    tensors = {name: _tensor(name, row, path, base) for name, row in header.items() if name != "__metadata__"}
    end = base
    for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].offset, item[1].length)):
        if tensor.offset != end:
            raise ModelError(
                f"{path}: tensor {name!r} starts at byte {tensor.offset}, but the one before ends at {end}."
            )
        end += tensor.length
    if end != size:
        raise ModelError(f"{path}: the tensors end at byte {end}, but the file has {size}; it is truncated or damaged.")
    return tensors


def _tensor(name: str, row: Any, path: Path, base: int) -> Tensor:
    fault = ModelError(f"{path}: the entry of tensor {name!r} is damaged: {str(row)[:200]!r}.")
    if not isinstance(row, dict):
        raise fault
    dtype, shape, offsets = str(row.get("dtype")), row.get("shape"), row.get("data_offsets")
    if dtype not in _WIDTHS or not _naturals(shape) or not _naturals(offsets) or len(offsets) != 2:
        raise fault
    if offsets[1] - offsets[0] != math.prod(shape) * _WIDTHS[dtype]:
        raise fault
    return Tensor(dtype=dtype, shape=tuple(shape), offset=base + offsets[0], length=offsets[1] - offsets[0])


def _naturals(given: Any) -> TypeGuard[list[int]]:
    return isinstance(given, list) and all(type(n) is int and 0 <= n < 2**48 for n in given)
