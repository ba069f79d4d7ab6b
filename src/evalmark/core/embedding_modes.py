"""How an embedder computes, and how its fingerprint says so."""

from typing import Literal, get_args

EmbeddingMode = Literal["exact", "fast", "int8"]
"""The arithmetic of the local embedding model: 32-bit floats, bf16 where the processor has it, or 8-bit integers."""
EMBEDDING_MODES: tuple[EmbeddingMode, ...] = get_args(EmbeddingMode)
_LOCAL = "local:"


def fingerprint_in_mode(model: str, mode: EmbeddingMode) -> str:
    """The fingerprint of a local model's vectors in a mode; `model` is the hash of all else that they depend on."""
    return f"{_LOCAL}{model}{'' if mode == 'exact' else f':{mode}'}"


def model_and_mode(fingerprint: str) -> tuple[str, EmbeddingMode]:
    """The fingerprint of the same embedder in exact mode, and its mode; an embedder of any other kind is exact.

    >>> model_and_mode("local:3fa9:int8"), model_and_mode("local:3fa9"), model_and_mode("remote:a/b:fast")
    (('local:3fa9', 'int8'), ('local:3fa9', 'exact'), ('remote:a/b:fast', 'exact'))
    """
    model, _, said = fingerprint.rpartition(":")
    mode = next((mode for mode in EMBEDDING_MODES if mode == said and model.startswith(_LOCAL)), None)
    return (model, mode) if mode else (fingerprint, "exact")
