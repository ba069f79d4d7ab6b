"""The five RAG metrics over 200 items: one batch for all, against each metric embedding for itself, item by item.

Run: python benchmarks/rag.py [--items 200] [--sentence-transformers PYTHON]

The other way is that of Auto-Analyst: five functions, each embedding its own texts, for one item after the other.
It is measured with sentence-transformers where PYTHON has it, and with evalmark's model in any case.
"""

import argparse
import asyncio
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from embedding import MODEL, is_prose, local, prose
from rows import Tell, add_json, telling

from evalmark.api import Conduct, RagJob, execute, plan_rag
from evalmark.settings import Settings
from evalmark.store import open_store

SEED = 20240611
GOAL = 15
"""Times as fast as the other way with sentence-transformers."""
ONE_BY_ONE = """
import json, re, sys, time

def measure(encode, items):
    started = time.perf_counter()
    for item in items:
        sentences = [s for s in re.split(r"[.!?]", item["answer"]) if s.strip()]
        encode([item["question"], *item["contexts"]])
        encode([item["question"], *item["contexts"]])
        encode([item["question"], item["answer"], item["reference_answer"]])
        encode([item["answer"], item["reference_answer"]])
        encode([*item["contexts"], *sentences])
    return time.perf_counter() - started
"""
OTHER = (
    ONE_BY_ONE
    + """
from sentence_transformers import SentenceTransformer
items = json.load(open(sys.argv[1]))
model = SentenceTransformer(sys.argv[2], device="cpu")
encode = lambda texts: model.encode(texts, convert_to_numpy=True, show_progress_bar=False)
encode(["warm"])
print(measure(encode, items))
"""
)


def rows(count: int) -> list[dict]:
    """Items in the shape of a RAG dataset, always the same on the same system."""
    rng = random.Random(SEED)  # noqa: S311  any texts will do
    paragraphs = [p for p in dict.fromkeys(prose()) if is_prose(p) and 20 <= len(p.split()) <= 150]
    sentences = [s for p in paragraphs for s in re.split(r"(?<=[.!?])\s+", p) if 4 <= len(s.split()) <= 45]
    rng.shuffle(paragraphs)
    pool = paragraphs[:400]
    return [
        {
            "question": f"What is meant by: {rng.choice(sentences)[:90]}?",
            "reference_answer": " ".join(rng.sample(sentences, 2)),
            "answer": " ".join(rng.choice(sentences) for _ in range(rng.randint(3, 5))),
            "contexts": rng.sample(pool, rng.randint(3, 5)),
        }
        for _ in range(count)
    ]


def one_batch(path: Path, store: Path) -> float:
    """Seconds for reading, embedding, scoring and keeping everything, as `evalmark rag` does it."""
    settings = Settings(store=str(store))
    started = time.perf_counter()
    with open_store(store) as ledger:
        plan = plan_rag(RagJob(dataset=path, model=MODEL), settings)
        asyncio.run(execute(plan, Conduct(ledger=ledger, settings=settings)))
    return time.perf_counter() - started


def one_by_one(items: list[dict]) -> float:
    """The other way, over evalmark's own model."""
    embedder = local()
    namespace: dict = {}
    exec(ONE_BY_ONE, namespace)  # noqa: S102  our own text, shared with the other interpreter
    return namespace["measure"](lambda texts: asyncio.run(embedder(texts)), items)


def other(python: str, path: Path) -> float | None:
    """The other way with sentence-transformers; None where it is not installed."""
    model = local().path
    done = subprocess.run([python, "-c", OTHER, str(path), str(model)], capture_output=True, text=True, check=False)
    return float(done.stdout.split()[-1]) if done.returncode == 0 else None


def measure(folder: Path, count: int, python: str, tell: Tell) -> None:
    items = rows(count)
    path = folder / "items.json"
    path.write_text(json.dumps(items), encoding="utf-8")
    asyncio.run(local()(["warm"]))
    ours = min(one_batch(path, folder / f"{n}.db") for n in range(2))
    again = one_batch(path, folder / "0.db")
    mine, theirs = one_by_one(items), other(python, path)
    tell(what=f"`evalmark rag`, {count} items, into a new store", found=ours, unit="s")
    tell(what="the same with its vectors in the store", found=again, unit="s")
    tell(
        what="item by item, evalmark's model, over `evalmark rag`", found=mine / ours, unit="x", beside=f"{mine:.1f} s"
    )
    tell(
        what="item by item, sentence-transformers, over `evalmark rag`",
        found=theirs / ours if theirs else None,
        unit="x",
        at_least=GOAL,
        beside=f"{theirs:.1f} s" if theirs else "not installed",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--sentence-transformers", default=sys.executable, metavar="PYTHON")
    add_json(parser)
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, telling(said.json) as tell:
        measure(Path(name), said.items, said.sentence_transformers, tell)


if __name__ == "__main__":
    main()
