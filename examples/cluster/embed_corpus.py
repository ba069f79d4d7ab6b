"""Embeds the `text` of every row of a JSONL file with Ray Data, and writes the rows with their vectors as Parquet.

Call: embed_corpus.py CORPUS.jsonl FOLDER
"""

import asyncio
import sys
from typing import Any

import ray

from evalmark.core.settings import Settings
from evalmark.models.embeddings.load import load_embedder


class Embedder:
    """Holds the model; Ray makes one for each actor."""

    def __init__(self) -> None:
        self.model = load_embedder("all-MiniLM-L6-v2", Settings())

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The batch with a column of vectors; the same text has the same vector."""
        batch["vector"] = asyncio.run(self.model([str(text) for text in batch["text"]]))
        return batch


def main(corpus: str, folder: str) -> None:
    """Read, embed and write in one stream: never is the whole corpus in memory."""
    rows = ray.data.read_json(corpus, lines=True)
    rows.map_batches(
        Embedder, batch_size=1_000, compute=ray.data.ActorPoolStrategy(min_size=1, max_size=4)
    ).write_parquet(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
