"""Write a BERT-like encoder as an ONNX graph over the weights of a safetensors file."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from .folder import Encoder
from .onnx import FLOAT, GraphWriter
from .tensors import TensorFile

TOKENS, MASK = "input_ids", "attention_mask"
_BLOCKED = 1e4
"""Subtracted from the attention to padding, whose share becomes exactly 0 in 32 bits."""

Linear = Callable[[GraphWriter, str, str, int, int], str]
"""Adds the product of rows and the weights of a name, plus the bias; the numbers are those of inputs and outputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shared:
    """Values that all layers use."""

    heads: str
    """The shape of tokens split into heads."""
    blocked: str
    """Added to the attention to each position."""
    linear: Linear


def write_graph(
    weights: TensorFile, encoder: Encoder, *, inline: bool = False, linear: Linear = GraphWriter.linear
) -> bytes:
    """Build an ONNX model from tokens and their mask to one vector for each text.

    `inline` copies the weights into the model; `linear` adds a linear layer.

    Raises:
        ModelError: The weights do not match the configuration.
    """
    g = GraphWriter(weights, inline=inline)
    mask = g.op("Cast", MASK, to=FLOAT)
    blocked = g.op("Mul", g.op("Unsqueeze", g.op("Sub", mask, g.number(1.0)), g.integers(1, 2)), g.number(_BLOCKED))
    heads = g.op("Concat", g.op("Shape", TOKENS), g.integers(encoder.heads, encoder.hidden // encoder.heads), axis=0)
    rows = g.op("Reshape", _embedded(g, encoder), g.integers(-1, encoder.hidden))
    shared = _Shared(heads=heads, blocked=blocked, linear=linear)
    for number in range(encoder.layers):
        rows = _layer(g, encoder, f"{encoder.prefix}encoder.layer.{number}.", rows, shared)
    states = g.op("Reshape", rows, g.op("Concat", g.op("Shape", TOKENS), g.integers(encoder.hidden), axis=0))
    pooled = _pooled(g, encoder, states, mask)
    output = g.op("LpNormalization", pooled, axis=1, p=2) if encoder.normalise else pooled
    return g.model((TOKENS, MASK), output, encoder.hidden)


def _embedded(g: GraphWriter, encoder: Encoder) -> str:
    """Add the sum of word, position and type embeddings."""
    names = f"{encoder.prefix}embeddings."
    places = g.weight(f"{names}position_embeddings.weight", encoder.places, encoder.hidden)
    types = g.weight(f"{names}token_type_embeddings.weight", encoder.types, encoder.hidden)
    fixed = g.op("Add", places, g.op("Gather", types, g.index(0), axis=0))
    first = g.integers(encoder.first_place)
    end = g.op("Add", g.op("Shape", TOKENS, start=1, end=2), first)
    words = g.op("Gather", g.weight(f"{names}word_embeddings.weight", encoder.vocabulary, encoder.hidden), TOKENS)
    return _norm(g, encoder, f"{names}LayerNorm", g.op("Add", words, g.op("Slice", fixed, first, end, g.integers(0))))


def _layer(g: GraphWriter, encoder: Encoder, names: str, rows: str, shared: _Shared) -> str:
    """Add a layer over all tokens as rows; only the attention separates the texts."""
    h, wide = encoder.hidden, encoder.intermediate
    seen = _attention(g, encoder, f"{names}attention.self.", rows, shared)
    seen = g.op("Add", rows, shared.linear(g, f"{names}attention.output.dense", seen, h, h))
    rows = _norm(g, encoder, f"{names}attention.output.LayerNorm", seen)
    inner = _activated(g, encoder, shared.linear(g, f"{names}intermediate.dense", rows, h, wide))
    outer = g.op("Add", rows, shared.linear(g, f"{names}output.dense", inner, wide, h))
    return _norm(g, encoder, f"{names}output.LayerNorm", outer)


def _attention(g: GraphWriter, encoder: Encoder, names: str, rows: str, shared: _Shared) -> str:
    h = encoder.hidden

    def split(kind: str, order: list[int]) -> str:
        product = shared.linear(g, names + kind, rows, h, h)
        return g.op("Transpose", g.op("Reshape", product, shared.heads), perm=order)

    query, key, value = split("query", [0, 2, 1, 3]), split("key", [0, 2, 3, 1]), split("value", [0, 2, 1, 3])
    scale = g.number(1 / math.sqrt(h // encoder.heads))
    scores = g.op("Add", g.op("Mul", g.op("MatMul", query, key), scale), shared.blocked)
    mixed = g.op("MatMul", g.op("Softmax", scores, axis=-1), value)
    return g.op("Reshape", g.op("Transpose", mixed, perm=[0, 2, 1, 3]), g.integers(-1, h))


def _pooled(g: GraphWriter, encoder: Encoder, states: str, mask: str) -> str:
    if encoder.pooling == "cls":
        return g.op("Gather", states, g.index(0), axis=1)
    kept = g.op("Mul", states, g.op("Unsqueeze", mask, g.integers(2)))
    total = g.op("ReduceSum", kept, g.integers(1), keepdims=0)
    return g.op("Div", total, g.op("ReduceSum", mask, g.integers(1), keepdims=1))


def _norm(g: GraphWriter, encoder: Encoder, name: str, rows: str) -> str:
    weight, bias = g.weight(f"{name}.weight", encoder.hidden), g.weight(f"{name}.bias", encoder.hidden)
    return g.op("LayerNormalization", rows, weight, bias, axis=-1, epsilon=encoder.epsilon)


def _activated(g: GraphWriter, encoder: Encoder, rows: str) -> str:
    if encoder.activation == "relu":
        return g.op("Relu", rows)
    return g.op("Gelu", rows, approximate=encoder.activation)
