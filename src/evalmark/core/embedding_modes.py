"""The arithmetic modes and the devices of the local embedding model, and how a fingerprint names them."""

from typing import Literal, get_args

EmbeddingMode = Literal["exact", "fast", "int8"]
"""The arithmetic of the local embedding model: 32-bit floats, bf16 where the processor has it, or 8-bit integers."""
EMBEDDING_MODES: tuple[EmbeddingMode, ...] = get_args(EmbeddingMode)
EmbeddingDevice = Literal["cpu", "gpu"]
"""Where the local embedding model runs: on the processor, or on a GPU."""
EMBEDDING_DEVICES: tuple[EmbeddingDevice, ...] = get_args(EmbeddingDevice)
_LOCAL = "local:"


def fingerprint_in_mode(model: str, mode: EmbeddingMode) -> str:
    """Make the fingerprint of a local model in a mode. `model` is the hash of everything else its vectors depend on."""
    return f"{_LOCAL}{model}{'' if mode == 'exact' else f':{mode}'}"


def model_and_mode(fingerprint: str) -> tuple[str, EmbeddingMode]:
    """Split a fingerprint into that of the same model in exact mode, and the mode. Other embedders are always exact.

    >>> model_and_mode("local:3fa9:int8"), model_and_mode("local:3fa9"), model_and_mode("remote:a/b:fast")
    (('local:3fa9', 'int8'), ('local:3fa9', 'exact'), ('remote:a/b:fast', 'exact'))
    """
    model, _, suffix = fingerprint.rpartition(":")
    mode = next((mode for mode in EMBEDDING_MODES if mode == suffix and model.startswith(_LOCAL)), None)
    return (model, mode) if mode else (fingerprint, "exact")
