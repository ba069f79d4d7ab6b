"""Local embedding models: tokenize, batch and embed texts in threads."""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalmark.core.embedding_modes import EMBEDDING_MODES, EmbeddingDevice, EmbeddingMode
from evalmark.core.errors import ConfigError, ModelError
from evalmark.core.lazy import LazyModule, need

from .folder import HASHED, ModelFolder, read_folder, sha256, verify_hashes
from .runtime import check_device, has_bf16, open_exact, open_int8, open_openvino, processor_count
from .vectors import clean_texts

if TYPE_CHECKING:
    import numpy as np

    from evalmark.core.protocols import Vectors

    from .runtime import Infer, Tokens

    Tokenizer = Callable[[list[str]], Any]
else:
    np = LazyModule("numpy")


BUDGET = 512
"""Most tokens of one batch, padding included, so that its numbers fit into the cache of a processor."""
_GPU_BUDGET, _GPU_WORKERS = 8_192, 2
"""The same for a GPU, which needs more work at a time; while one batch runs, the next is prepared."""


def _padded(rows: list[list[int]], folder: ModelFolder) -> "tuple[Tokens, Tokens]":
    width = max(len(row) for row in rows)
    tokens = np.zeros((len(rows), width), np.int32)
    mask = np.zeros((len(rows), width), np.int32)
    for index, row in enumerate(rows):
        tokens[index, : len(row)] = row
        mask[index, : len(row)] = 1
    if tokens.max(initial=0) >= folder.encoder.vocabulary:
        raise ModelError(
            f"{folder.path}: tokenizer.json gives token {tokens.max()}, but the model has only "
            f"{folder.encoder.vocabulary}. The two files do not belong together."
        )
    return tokens, mask


_OPEN: "Mapping[EmbeddingMode, Callable[[ModelFolder, EmbeddingDevice], Infer]]" = {
    "exact": open_exact,
    "fast": open_openvino,
    "int8": open_int8,
}


@dataclass(frozen=True)
class LocalEmbedder:
    """An embedder for a model folder; files are read at the first use.

    Raises:
        ConfigError: There is no such mode.
    """

    path: Path
    mode: EmbeddingMode = "exact"
    """`exact`, `fast` (bf16 if the processor supports it) or `int8` (8-bit integers)."""
    pins: tuple[tuple[str, str], ...] = ()
    """File names with the SHA-256 they must have."""
    bf16: Callable[[], bool] = has_bf16
    device: EmbeddingDevice = "cpu"
    """Where the model runs."""

    def __post_init__(self) -> None:
        if self.mode not in EMBEDDING_MODES:
            known = ", ".join(EMBEDDING_MODES)
            raise ConfigError(f"The local embedding model has no mode {self.mode!r}; its modes are {known}.")

    @cached_property
    def folder(self) -> ModelFolder:
        """The parsed model folder."""
        verify_hashes(self.path, [pin for pin in self.pins if pin[0] not in HASHED])
        return read_folder(self.path)

    @cached_property
    def hashes(self) -> dict[str, str]:
        """The SHA-256 of the weights and of the tokenizer."""
        return verify_hashes(self.path, [p for p in self.pins if p[0] in HASHED]) or {
            n: sha256(self.path / n) for n in HASHED
        }

    @cached_property
    def mode_in_force(self) -> EmbeddingMode:
        """The requested mode; `exact` instead of `fast` if the processor has no bf16."""
        return "exact" if self.mode == "fast" and self.device == "cpu" and not self.bf16() else self.mode

    @cached_property
    def fingerprint(self) -> str:
        """The identity of the vectors."""
        # In mode fast a GPU computes in 16-bit floats of another kind; in mode exact it rounds like any processor.
        arithmetic = "f16" if (self.device, self.mode_in_force) == ("gpu", "fast") else "exact"
        return self.folder.fingerprint(self.mode_in_force, self.hashes, arithmetic)

    @cached_property
    def tokenizer(self) -> "Tokenizer":
        """Converts texts to tokens, truncated to the limit of the model."""
        return _tokenizer(self.folder)

    @cached_property
    def infer(self) -> "Infer":
        """Runs the model, which is loaded and checked."""
        with ThreadPoolExecutor(1) as aside:  # hashing releases the interpreter lock, so it runs in parallel
            checked = aside.submit(lambda: self.hashes)
            infer = _OPEN[self.mode_in_force](self.folder, self.device)
            checked.result()
        return infer

    @cached_property
    def _fitting(self) -> set[int]:
        """Hashes of the texts of the last call that were not truncated, so that `too_long` does not tokenize them again."""
        return set()

    async def __call__(self, texts: Sequence[str]) -> "Vectors":
        """Return one vector for each text. The work runs in threads; if cancelled, they stop after the current batch."""
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self._embed, texts, stop)
        except asyncio.CancelledError:
            stop.set()
            raise

    def _embed(self, texts: Sequence[str], stop: threading.Event) -> "Vectors":
        infer, texts = self.infer, clean_texts(texts)
        encodings = self.tokenizer(texts)
        self._fitting.clear()
        self._fitting.update(
            hash(text) for text, encoding in zip(texts, encodings, strict=True) if not encoding.overflowing
        )
        rows = [encoding.ids for encoding in encodings]
        vectors = np.zeros((len(rows), self.folder.encoder.hidden), np.float32)

        def run(batch: list[int]) -> None:
            if not stop.is_set():
                vectors[batch] = infer(*_padded([rows[i] for i in batch], self.folder))

        budget, count = (BUDGET, processor_count()) if self.device == "cpu" else (_GPU_BUDGET, _GPU_WORKERS)
        with ThreadPoolExecutor(count, thread_name_prefix="evalmark-embed") as workers:
            try:
                for _ in workers.map(run, pack_batches([len(row) for row in rows], budget)):
                    pass
            finally:  # after a failure, skip the remaining batches
                stop.set()
        return vectors

    def too_long(self, texts: Sequence[str]) -> int:
        """Return how many of the texts are truncated."""
        # A token has at least one ASCII character. Other characters may be decomposed first: a Korean syllable into
        # three letters, and no Unicode character into more than eighteen.
        limit = self.longest - 3
        suspects = [
            text
            for text in clean_texts(texts)
            if len(text) * (1 if text.isascii() else 18) > limit and hash(text) not in self._fitting
        ]
        return sum(bool(encoding.overflowing) for encoding in self.tokenizer(suspects)) if suspects else 0

    @property
    def longest(self) -> int:
        """The number of tokens that the model reads of a text."""
        return self.folder.longest

    def notes(self) -> tuple[str, ...]:
        """Notes for the report."""
        if self.mode_in_force == "int8":
            return ("Embeddings ran in int8 mode: similarities differ slightly from exact mode.",)
        if self.mode == self.mode_in_force:
            return ()
        return ("Embeddings ran in exact mode: this processor has no bf16, which fast mode needs.",)


@cache
def open_local(
    path: Path, mode: EmbeddingMode, pins: tuple[tuple[str, str], ...] = (), device: EmbeddingDevice = "cpu"
) -> LocalEmbedder:
    """Return the embedder of a folder, cached so that a model is loaded once in a process.

    Raises:
        ConfigError: The device cannot be used.
    """
    check_device(mode, device)
    return LocalEmbedder(path, mode, pins, device=device)


def _tokenizer(folder: ModelFolder) -> "Tokenizer":
    try:
        tokenizer = need("tokenizers", "").Tokenizer.from_file(str(folder.path / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(folder.longest)
    except Exception as error:  # the library raises Exception itself
        raise ModelError(f"{folder.path / 'tokenizer.json'}: cannot be used: {error}.") from error

    def encode(texts: list[str]) -> Any:
        return tokenizer.encode_batch_fast([text.lower() for text in texts] if folder.lower_case else texts)

    return encode


def pack_batches(lengths: Sequence[int], budget: int = BUDGET) -> list[list[int]]:
    """Return the indices of texts in batches, longest texts first, for little padding and at most `budget` tokens a batch.

    A text longer than the budget is a batch of its own.

    >>> pack_batches([3, 9, 4, 2], budget=10)
    [[1], [2, 0], [3]]
    """
    batches: list[list[int]] = []
    longest = 0
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if not batches or longest * (len(batches[-1]) + 1) > budget:
            batches.append([])
            longest = lengths[index]
        batches[-1].append(index)
    return batches
