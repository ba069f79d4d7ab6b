"""Read a model folder in Hugging Face layout, and check that evalmark can run the model."""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalmark.core.embedding_modes import EmbeddingMode, fingerprint_in_mode
from evalmark.core.errors import ModelError
from evalmark.core.values.plain_data import fingerprint

from .tensors import TensorFile, open_model_file, read_tensor_file

WEIGHTS = "model.safetensors"
HASHED = (WEIGHTS, "tokenizer.json")
"""The files that are part of the fingerprint of the model."""
_FAMILIES = {"bert": 0, "roberta": 1, "xlm-roberta": 1, "camembert": 1}
"""Model types, and the offset of the first position after `pad_token_id` (BERT: positions start at 0)."""
_ACTIVATIONS = {"gelu": "none", "gelu_new": "tanh", "gelu_fast": "tanh", "gelu_pytorch_tanh": "tanh", "relu": "relu"}
_GRAPH_VERSION = 1
"""Increased when the graph computes other vectors for the same weights."""
_LARGEST_JSON = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """The architecture of a BERT-like model, and its pooling."""

    prefix: str
    layers: int
    heads: int
    hidden: int
    intermediate: int
    vocabulary: int
    places: int
    first_place: int
    types: int
    epsilon: float
    activation: str
    """`none` (GELU by erf), `tanh` (its approximation) or `relu`."""
    pooling: str
    """`mean` or `cls`."""
    normalise: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFolder:
    """A folder with a model that evalmark can run."""

    path: Path
    encoder: Encoder
    weights: TensorFile
    longest: int
    """Most tokens of a text; the rest is cut off."""
    lower_case: bool

    def fingerprint(self, mode: EmbeddingMode, hashes: Mapping[str, str], arithmetic: str = "exact") -> str:
        """Return the identity of the vectors: hashes of weights and tokenizer, pooling, length and mode.

        `arithmetic` distinguishes vectors of one mode that are computed in different ways.
        """
        content = [hashes[name] for name in HASHED]
        model = fingerprint(_GRAPH_VERSION, content, self.encoder, self.longest, self.lower_case, arithmetic)
        return fingerprint_in_mode(model, mode)


def read_folder(path: Path) -> ModelFolder:
    """Read a model folder; only safetensors weights are accepted, and no code of the folder is run.

    Raises:
        ModelError: A file is missing or damaged, or the model has an unsupported architecture.
    """
    _refuse_missing(path)
    config, modules = _json(path / "config.json"), _modules(path)
    weights = read_tensor_file(path / WEIGHTS)
    encoder = _encoder(config, modules, weights, path)
    sentence = _json(path / "sentence_bert_config.json", optional=True)
    tokenizer = _json(path / "tokenizer_config.json", optional=True)
    positions = encoder.places - encoder.first_place
    limit = sentence.get("max_seq_length") or tokenizer.get("model_max_length") or positions
    return ModelFolder(
        path=path,
        encoder=encoder,
        weights=weights,
        longest=max(3, min(positions, int(limit))) if _is_number(limit) else positions,
        lower_case=sentence.get("do_lower_case") is True,
    )


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file.

    Raises:
        ModelError: It cannot be read.
    """
    try:
        with open_model_file(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}.") from error


def verify_hashes(path: Path, pins: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the hashes of the pinned files of a folder.

    Raises:
        ModelError: A file has another hash.
    """
    found = {name: sha256(path / name) for name, _ in pins}
    for name, expected in pins:
        if found[name] != expected:
            raise ModelError(
                f"{path / name}: not the known file: expected SHA-256 {expected}, found {found[name]}. "
                "Remove it and run: evalmark models get"
            )
    return found


def _refuse_missing(path: Path) -> None:
    missing = [name for name in ("config.json", "tokenizer.json", WEIGHTS) if not (path / name).is_file()]
    if WEIGHTS in missing and (other := _other_weights(path)):
        raise ModelError(
            f"{path}: the weights are in {other}, but evalmark reads only {WEIGHTS} in one piece "
            "(pickled weights can run code). Save the model with safe_serialization=True."
        )
    if missing:
        raise ModelError(
            f"{path}: missing files: {', '.join(missing)}. A model folder needs config.json, tokenizer.json and {WEIGHTS}."
        )


def _other_weights(path: Path) -> str | None:
    endings = (".bin", ".pt", ".pth", ".pkl", ".ckpt", ".h5", ".safetensors", ".safetensors.index.json")
    return next((p.name for p in sorted(path.iterdir()) if p.name.endswith(endings)), None) if path.is_dir() else None


def _json(path: Path, *, optional: bool = False) -> dict[str, Any]:
    if optional and not path.exists():
        return {}
    try:
        with open_model_file(path) as file:
            text = file.read(_LARGEST_JSON + 1)
        if len(text) > _LARGEST_JSON:
            raise ModelError(f"{path}: {path.stat().st_size} bytes are too many for a configuration.")
        content = json.loads(text.decode("utf-8"))
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: not valid JSON: {error}.") from error
    if not isinstance(content, dict | list):
        raise ModelError(f"{path}: expected an object, found a value of type {type(content).__name__}.")
    return content if isinstance(content, dict) else {"modules": content}


def _modules(path: Path) -> dict[str, Any]:
    """Pooling and normalization as in `modules.json`; without that file the mean, not normalized."""
    listed = _json(path / "modules.json", optional=True).get("modules", [])
    kinds = [(str(m.get("type", "")).rpartition(".")[2], str(m.get("path", ""))) for m in listed if isinstance(m, dict)]
    other = [kind for kind, _ in kinds if kind not in ("Transformer", "Pooling", "Normalize")]
    if other:
        raise ModelError(f"{path / 'modules.json'}: evalmark cannot run the module {other[0]!r}.")
    folder = next((where for kind, where in kinds if kind == "Pooling"), None)
    pooling = _pooling(path, folder) if folder is not None else "mean"
    return {"pooling": pooling, "normalise": any(kind == "Normalize" for kind, _ in kinds)}


def _pooling(path: Path, folder: str) -> str:
    file = path / folder / "config.json"
    if not file.resolve().is_relative_to(path.resolve()):
        raise ModelError(f"{path / 'modules.json'}: the path {folder!r} leads out of the folder.")
    config = _json(file)
    modes = [
        key.removeprefix("pooling_mode_")
        for key, on in config.items()
        if key.startswith("pooling_mode_") and on is True
    ]
    named = config.get("pooling_mode")
    modes = [str(named)] if named is not None else modes
    known = {"mean_tokens": "mean", "mean": "mean", "cls_token": "cls", "cls": "cls"}
    if len(modes) != 1 or modes[0] not in known:
        raise ModelError(f"{file}: evalmark pools by mean or cls, this model by {', '.join(modes) or 'nothing'}.")
    return known[modes[0]]


def _encoder(config: Mapping[str, Any], modules: Mapping[str, Any], weights: TensorFile, path: Path) -> Encoder:
    location = path / "config.json"
    family, act = str(config.get("model_type")), str(config.get("hidden_act", "gelu"))
    if family not in _FAMILIES:
        raise ModelError(f"{location}: model_type is {family!r}; evalmark runs {', '.join(_FAMILIES)}.")
    if config.get("position_embedding_type", "absolute") != "absolute" or config.get("is_decoder"):
        raise ModelError(f"{location}: evalmark runs encoders with absolute positions only.")
    if act not in _ACTIVATIONS:
        raise ModelError(f"{location}: hidden_act is {act!r}; evalmark supports {', '.join(_ACTIVATIONS)}.")
    hidden, heads = _whole(config, "hidden_size", location), _whole(config, "num_attention_heads", location)
    if hidden % heads:
        raise ModelError(f"{location}: hidden_size {hidden} is not a multiple of num_attention_heads {heads}.")
    epsilon = config.get("layer_norm_eps", 1e-12)
    if not _is_number(epsilon) or not 0 < epsilon < 1:
        raise ModelError(f"{location}: layer_norm_eps is {epsilon!r}, expected a small positive number.")
    offset = _FAMILIES[family]
    return Encoder(
        prefix=_prefix(weights),
        layers=_whole(config, "num_hidden_layers", location),
        heads=heads,
        hidden=hidden,
        intermediate=_whole(config, "intermediate_size", location),
        vocabulary=_whole(config, "vocab_size", location),
        places=_whole(config, "max_position_embeddings", location),
        first_place=_whole(config, "pad_token_id", location, least=0) + offset if offset else 0,
        types=_whole(config, "type_vocab_size", location),
        epsilon=float(epsilon),
        activation=_ACTIVATIONS[act],
        pooling=modules["pooling"],
        normalise=modules["normalise"],
    )


def _prefix(weights: TensorFile) -> str:
    """The prefix of `embeddings.` in the names of tensors: empty, or `bert.` if a head was saved too."""
    ending = "embeddings.word_embeddings.weight"
    found = [name.removesuffix(ending) for name in weights.tensors if name.endswith(ending)]
    if len(found) != 1:
        raise ModelError(f"{weights.path}: expected one tensor `{ending}`, found {len(found)}.")
    return found[0]


def _whole(config: Mapping[str, Any], key: str, location: Path, *, least: int = 1) -> int:
    value = config.get(key)
    if type(value) is not int or not least <= value < 2**31:
        raise ModelError(f"{location}: {key} is {value!r}, expected a whole number of at least {least}.")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
