"""The five RAG metrics over 1,000 items: one batch for all, against each metric embedding for itself, item by item.

Run: python benchmarks/rag.py [--items 1000] [--other-items 200] [--sentence-transformers PYTHON]

The other way is that of Auto-Analyst: five functions, each embedding its own texts, for one item after the other.
It is measured with sentence-transformers where PYTHON has it, and with evalmark's model in any case. `--other-items` takes
that many of the items, by a fixed seed, and scales their time to all; the rows say so.

Processor time outside the model is that of the process less that of its threads inside the model, in exact mode, where the model runs
in the threads that call it; the same work is done beside a faster model in the other modes.
"""

import argparse
import asyncio
import gc
import importlib.util
import json
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from embedding import MODEL, is_prose, local, prose
from rows import AddRow, add_json, row_output

from evalmark.cli import GARBAGE
from evalmark.core.settings import Settings
from evalmark.runs.execution.execute import execute
from evalmark.runs.execution.options import RunOptions
from evalmark.runs.execution.rag import RagJob, plan_rag
from evalmark.store import open_store

SEED = 20240611
GOALS = {"exact": 15, "fast": 27}
"""Times as fast as the other way with sentence-transformers."""
OUTSIDE = 5
"""Goal: percent of the processor time outside the model, with a new store."""
WARM = 0.5
"""Goal: milliseconds of processor time an item, with its vectors in the store."""


@dataclass(frozen=True)
class Took:
    """Seconds: of the clock, of processors, and of those in the model."""

    clock: float
    processor: float
    model: float = 0.0

    @classmethod
    def since(cls, clock: float, processor: float) -> "Took":
        return cls(time.perf_counter() - clock, time.process_time() - processor)

    def times(self, factor: float) -> "Took":
        return Took(self.clock * factor, self.processor * factor)


ONE_BY_ONE = """
import json, re, sys, time

def measure(encode, items):
    started, used = time.perf_counter(), time.process_time()
    for item in items:
        sentences = [s for s in re.split(r"[.!?]", item["answer"]) if s.strip()]
        encode([item["question"], *item["contexts"]])
        encode([item["question"], *item["contexts"]])
        encode([item["question"], item["answer"], item["reference_answer"]])
        encode([item["answer"], item["reference_answer"]])
        encode([*item["contexts"], *sentences])
    return time.perf_counter() - started, time.process_time() - used
"""
OTHER = (
    ONE_BY_ONE
    + """
from sentence_transformers import SentenceTransformer
items = json.load(open(sys.argv[1]))
model = SentenceTransformer(sys.argv[2], device="cpu")
encode = lambda texts: model.encode(texts, convert_to_numpy=True, show_progress_bar=False)
encode(["warm"])
print(json.dumps(measure(encode, items)))
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


class TimedModel:
    """The function that runs a model, with the processor time of the threads in it."""

    def __init__(self, infer: Callable) -> None:
        self.infer, self.seconds, self.lock = infer, 0.0, threading.Lock()

    def __call__(self, tokens: object, mask: object) -> object:
        before = time.thread_time()
        try:
            return self.infer(tokens, mask)
        finally:
            taken = time.thread_time() - before
            with self.lock:
                self.seconds += taken


def one_batch(path: Path, store: Path, mode: str = "exact") -> Took:
    """Reading, embedding, scoring and keeping everything, as `evalmark rag` does it."""
    gc.set_threshold(*GARBAGE)  # as the command sets it
    settings = Settings(store=str(store), embedding_mode=mode)
    embedder = local(mode)
    asyncio.run(embedder(["warm"]))
    timed = vars(embedder)["infer"] = TimedModel(getattr(embedder.infer, "infer", embedder.infer))
    began = time.perf_counter(), time.process_time()
    with open_store(store) as ledger:
        plan = plan_rag(RagJob(dataset=path, model=MODEL), settings)
        asyncio.run(execute(plan, RunOptions(store=ledger, settings=settings)))
    took = Took.since(*began)
    return Took(took.clock, took.processor, timed.seconds)


def one_by_one(items: list[dict]) -> Took:
    """The other way, over evalmark's own model."""
    embedder = local()
    namespace: dict = {}
    exec(ONE_BY_ONE, namespace)  # noqa: S102  our own text, shared with the other interpreter
    return Took(*namespace["measure"](lambda texts: asyncio.run(embedder(texts)), items))


def other(python: str, path: Path) -> Took | None:
    """The other way with sentence-transformers; None where it is not installed."""
    model = local().path
    done = subprocess.run([python, "-c", OTHER, str(path), str(model)], capture_output=True, text=True, check=False)
    return Took(*json.loads(done.stdout.splitlines()[-1])) if done.returncode == 0 else None


def modes() -> list[str]:
    """Those that this machine can run."""
    fast = importlib.util.find_spec("openvino") is not None and local("fast").mode_in_force == "fast"
    return ["exact", *(["fast"] if fast else []), "int8"]


def measure(folder: Path, args: argparse.Namespace, add_row: AddRow) -> None:
    items = rows(args.items)
    path, some = folder / "items.json", folder / "some.json"
    path.write_text(json.dumps(items), encoding="utf-8")
    taken = items[: args.other_items or None]  # they are drawn by a seed, so the first are as good as any
    some.write_text(json.dumps(taken), encoding="utf-8")
    ours = {mode: one_batch(path, folder / f"{mode}.db", mode) for mode in modes()}
    again = one_batch(path, folder / "exact.db")
    scale, scaled = len(items) / len(taken), f", of {len(taken):,} items, scaled" if len(taken) < len(items) else ""
    st = other(args.sentence_transformers, some)
    theirs = st.times(scale) if st else None
    mine = one_by_one(taken).times(scale)
    for mode, took in ours.items():
        what = f"`evalmark rag`, {args.items:,} items, {mode}, into a new store"
        add_row(what=what, found=took.clock, unit="s", note=f"{took.processor:.1f} s of processor time")
    outside = ours["exact"].processor - ours["exact"].model
    for mode, took in ours.items():
        if mode != "int8":
            note = f"{outside * 1_000 / len(items):.2f} ms an item"
            what = f"`evalmark rag`, {mode}: processor time outside the model"
            add_row(what=what, found=100 * outside / took.processor, unit="%", at_most=OUTSIDE, note=note)
    add_row(what="the same in exact mode, with its vectors in the store", found=again.clock, unit="s")
    found = again.processor * 1_000 / len(items)
    add_row(what="processor time an item, with its vectors in the store", found=found, unit="ms", at_most=WARM)
    for mode, took in ours.items():
        what = f"item by item, sentence-transformers, over `evalmark rag`, {mode}"
        if theirs is None:
            add_row(what=what, found=None, unit="x", at_least=GOALS.get(mode), note="not installed")
        else:
            add_row(
                what=what,
                found=theirs.clock / took.clock,
                unit="x",
                at_least=GOALS.get(mode),
                floor=f"{took.clock:.1f} s in one batch",
                note=said(theirs, took, scaled),
            )
    what = "item by item, evalmark's model, over `evalmark rag`, exact"
    add_row(what=what, found=mine.clock / ours["exact"].clock, unit="x", note=said(mine, ours["exact"], scaled))


def said(theirs: Took, ours: Took, scaled: str) -> str:
    by_processor = theirs.processor / ours.processor
    return f"{theirs.clock:.0f} s{scaled}; {by_processor:.1f} x by processor time"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument(
        "--other-items", type=int, default=0, help="how many the other way is measured with (default: all)"
    )
    parser.add_argument("--sentence-transformers", default=sys.executable, metavar="PYTHON")
    add_json(parser)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, row_output(args.json) as add_row:
        measure(Path(name), args, add_row)


if __name__ == "__main__":
    main()
