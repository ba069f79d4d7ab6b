"""A tiny random model of the BERT family in a folder, and the same forward pass in plain numpy."""

import json
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import erf

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "der", "the", "cat", "dog", "##s", ".", "!"]


def tokenizer(words: list[str] = WORDS) -> dict[str, Any]:
    """A WordPiece tokenizer over these words, as tokenizer.json has it."""
    special = [
        {
            "id": i,
            "content": w,
            "special": True,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
        }
        for i, w in enumerate(words)
        if w.startswith("[")
    ]
    return {
        "version": "1.0",
        "truncation": {"max_length": 8, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
        "padding": {"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0}
        | {"pad_type_id": 0, "pad_token": "[PAD]"},
        "added_tokens": special,
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True}
        | {"strip_accents": None, "lowercase": False},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
            ],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {
                name: {"id": name, "ids": [words.index(name)], "tokens": [name]} for name in ("[CLS]", "[SEP]")
            },
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {word: i for i, word in enumerate(words)},
        },
    }


@dataclass
class Tiny:
    """A model of random weights."""

    pooling: str = "mean"
    normalise: bool = True
    act: str = "gelu"
    family: str = "bert"
    prefix: str = ""
    dtype: str = "F32"
    seed: int = 1
    lower: bool = False
    layers: int = 2
    heads: int = 2
    hidden: int = 12
    inner: int = 20
    places: int = 24
    longest: int | None = 10
    config: dict[str, Any] = field(default_factory=dict)
    """Changes to config.json."""

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        h = self.hidden
        shapes = {"word_embeddings": (len(WORDS), h), "position_embeddings": (self.places, h)}
        shapes = {f"embeddings.{k}.weight": s for k, s in (shapes | {"token_type_embeddings": (2, h)}).items()}
        shapes |= self._norm("embeddings.LayerNorm")
        for k in range(self.layers):
            at = f"encoder.layer.{k}."
            for name in ("self.query", "self.key", "self.value", "output.dense"):
                shapes |= {f"{at}attention.{name}.weight": (h, h), f"{at}attention.{name}.bias": (h,)}
            shapes |= {f"{at}intermediate.dense.weight": (self.inner, h), f"{at}intermediate.dense.bias": (self.inner,)}
            shapes |= {f"{at}output.dense.weight": (h, self.inner), f"{at}output.dense.bias": (h,)}
            shapes |= self._norm(f"{at}attention.output.LayerNorm") | self._norm(f"{at}output.LayerNorm")
        self.weights = {name: rounded(rng.normal(0.1, 0.7, shape), self.dtype) for name, shape in shapes.items()}

    def _norm(self, name: str) -> dict[str, tuple[int, ...]]:
        return {f"{name}.weight": (self.hidden,), f"{name}.bias": (self.hidden,)}

    def write(self, folder: Path) -> Path:
        """The folder in Hugging Face layout."""
        (folder / "1_Pooling").mkdir(parents=True, exist_ok=True)
        config = {
            "model_type": self.family,
            "hidden_size": self.hidden,
            "num_attention_heads": self.heads,
            "num_hidden_layers": self.layers,
            "intermediate_size": self.inner,
            "vocab_size": len(WORDS),
            "max_position_embeddings": self.places,
            "type_vocab_size": 2,
            "layer_norm_eps": 1e-5,
            "hidden_act": self.act,
            "pad_token_id": 0,
        }
        kinds = [("", "Transformer"), ("1_Pooling", "Pooling")] + [("2_Normalize", "Normalize")] * self.normalise
        files: dict[str, Any] = {
            "config.json": config | self.config,
            "tokenizer.json": tokenizer(),
            "modules.json": [{"path": p, "type": f"sentence_transformers.models.{t}"} for p, t in kinds],
            "1_Pooling/config.json": {
                f"pooling_mode_{m}": m.startswith(self.pooling) for m in ("cls_token", "mean_tokens")
            },
            "sentence_bert_config.json": {"max_seq_length": self.longest, "do_lower_case": self.lower},
        }
        for name, content in files.items():
            (folder / name).write_text(json.dumps(content), encoding="utf-8")
        tensors = {self.prefix + name: array for name, array in self.weights.items()}
        (folder / "model.safetensors").write_bytes(safetensors(tensors, self.dtype))
        return folder

    def vector(self, tokens: list[int]) -> np.ndarray:
        """One text's vector, the long way, in double precision."""
        w = self.weights
        first = 0 if self.family == "bert" else 1
        x = (
            w["embeddings.word_embeddings.weight"][tokens].astype(float)
            + w["embeddings.token_type_embeddings.weight"][0]
        )
        x = x + w["embeddings.position_embeddings.weight"][first : first + len(tokens)]
        x = self._normed(x, w, "embeddings.LayerNorm")
        for k in range(self.layers):
            at = f"encoder.layer.{k}."
            x = self._normed(x + self._attended(x, w, f"{at}attention."), w, f"{at}attention.output.LayerNorm")
            inner = self._activated(_linear(x, w, f"{at}intermediate.dense"))
            x = self._normed(x + _linear(inner, w, f"{at}output.dense"), w, f"{at}output.LayerNorm")
        pooled = x[0] if self.pooling == "cls" else x.mean(axis=0)
        return pooled / np.linalg.norm(pooled) if self.normalise else pooled

    def _attended(self, x: np.ndarray, w: dict[str, np.ndarray], at: str) -> np.ndarray:
        q, k, v = (_linear(x, w, f"{at}self.{name}") for name in ("query", "key", "value"))
        size = self.hidden // self.heads
        out = np.empty_like(x)
        for head in range(self.heads):
            part = slice(head * size, (head + 1) * size)
            scores = q[:, part] @ k[:, part].T / np.sqrt(size)
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            out[:, part] = shares / shares.sum(axis=1, keepdims=True) @ v[:, part]
        return _linear(out, w, f"{at}output.dense")

    def _normed(self, x: np.ndarray, w: dict[str, np.ndarray], name: str) -> np.ndarray:
        spread = np.sqrt(x.var(axis=1, keepdims=True) + self.config.get("layer_norm_eps", 1e-5))
        return (x - x.mean(axis=1, keepdims=True)) / spread * w[f"{name}.weight"] + w[f"{name}.bias"]

    def _activated(self, x: np.ndarray) -> np.ndarray:
        if self.act == "relu":
            return np.maximum(x, 0)
        if self.act == "gelu":
            return x * 0.5 * (1 + erf(x / np.sqrt(2)))
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def _linear(x: np.ndarray, w: dict[str, np.ndarray], name: str) -> np.ndarray:
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def rounded(array: np.ndarray, dtype: str) -> np.ndarray:
    """The numbers as the type can hold them, in 32 bits."""
    if dtype == "F16":
        return array.astype(np.float16).astype(np.float32)
    bits = array.astype(np.float32).view(np.uint32)
    return (bits & 0xFFFF0000).view(np.float32) if dtype == "BF16" else array.astype(np.float32)


def safetensors(tensors: dict[str, np.ndarray], dtype: str = "F32", **changes: Any) -> bytes:
    """A safetensors file; `changes` go into its header as they are."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    body = b""
    for name, array in tensors.items():
        data = _bytes(array, dtype)
        offsets = [len(body), len(body) + len(data)]
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": offsets}
        body += data
    text = json.dumps(header | changes).encode()
    return struct.pack("<Q", len(text)) + text + body


def _bytes(array: np.ndarray, dtype: str) -> bytes:
    if dtype == "BF16":
        return (array.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()
    return array.astype(np.float16 if dtype == "F16" else np.float32).tobytes()
