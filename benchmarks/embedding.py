"""How fast texts become vectors, compared with sentence-transformers and with the peak of the machine.

Run: python benchmarks/embedding.py [--texts 5000] [--sentence-transformers PYTHON]

5,000 texts, 30 % of them twice, are made from the docstrings of the standard library and the licence texts of the
system. Each row of the table is a process of its own, one after the other, on the same machine. PYTHON is an interpreter
with sentence-transformers, where this one has none.

The share of the peak is what the model's matrix products come to, over the fastest product of large matrices of the same
precision that any library here makes in the same run: by the clock, and by processor time, which says less of what else
the machine does meanwhile.
"""

import argparse
import ast
import asyncio
import importlib.util
import json
import os
import random
import re
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import peaks
from rows import AddRow, add_json, row_output

from evalmark.core.settings import Settings
from evalmark.models.embeddings.bert import write_graph
from evalmark.models.embeddings.cached_embedder import CachedEmbedder
from evalmark.models.embeddings.load import load_embedder
from evalmark.models.embeddings.local import LocalEmbedder, pack_batches
from evalmark.models.embeddings.runtime import onnx_runtime, open_int8
from evalmark.store import open_store

onnxruntime = onnx_runtime()
MODEL = "all-MiniLM-L6-v2"
SEED = 20240611
READY = 0.5
"""Seconds: the goal."""
MOST_PADDING = 3
"""Percent: the goal."""
ROUNDS = "EVALMARK_BENCH_ROUNDS"
"""Where a part finds how often it is to embed all texts; the best time counts."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A row of the table."""

    title: str
    precision: str = ""
    """Whose peak its share is of; empty where not every text goes through the model."""
    over_st: float | None = None
    """Goal: how many times as fast as sentence-transformers."""
    share: float | None = None
    """Goal: percent of the peak."""


ROWS = {
    "other": Part(title="sentence-transformers, 32 a batch", precision="fp32"),
    "onnx": Part(title="ONNX Runtime by itself, 32 a batch", precision="fp32"),
    "each": Part(title="evalmark exact, every text", precision="fp32", over_st=2.9, share=72),
    "fast": Part(title="evalmark fast, every text", precision="bf16", over_st=5.2, share=67),
    "int8": Part(title="evalmark int8, every text", precision="int8"),
    "unsigned": Part(title="evalmark int8, as without VNNI", precision="int8"),
    "cold": Part(title="evalmark exact, doubles once, into the store", over_st=4.2),
    "warm": Part(title="evalmark exact, out of the store", over_st=50),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=2, help="embed all texts so often, and take the best time")
    parser.add_argument("--sentence-transformers", default=sys.executable, metavar="PYTHON")
    add_json(parser)
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.part:
        print(json.dumps(PARTS[args.part](args.folder)))
        return
    os.environ[ROUNDS] = str(args.rounds)
    with tempfile.TemporaryDirectory() as folder, row_output(args.json, table=True) as add_row:
        table(Path(folder), args.texts, args.sentence_transformers, add_row)


def table(folder: Path, count: int, other: str, add_row: AddRow) -> None:
    """Measure everything and print what was found."""
    made = texts(count)
    (folder / "texts.json").write_text(json.dumps(made), encoding="utf-8")
    (folder / "model").symlink_to(local().path)
    model = run("lengths", folder)
    tokens, work = sum(model["lengths"]), flops(model["lengths"], model["config"]) / 1e9
    print(f"{count:,} texts, {len(set(made)):,} different, {tokens:,} tokens, {os.cpu_count()} processors")
    print(f"{work / tokens * 1e3:.1f} million operations a token, {work:,.0f} billion in all")
    add_row(what="padding of the batches", found=padding(model["lengths"]), unit="%", at_most=MOST_PADDING)
    cold = ready()
    print(f"ready from cold: {cold:.2f} s")
    add_row(what="the model is ready, from cold", found=cold, unit="s", at_most=READY)
    st = run_other(folder, other)
    peak = best_peaks(folder, st.get("peaks", {}), add_row)
    print(f"\n{'':46}{'texts/s':>9}{'tokens/s':>10}{'x st':>7}{'GFLOP/s':>9}{'of peak':>9}{'by cpu':>8}{'MB':>7}")
    for name, part in ROWS.items():
        found = st if name == "other" else run(name, folder)
        if "missing" in found:
            print(f"{part.title:46}  {found['missing']}")
            add_row(what=part.title, found=None, note=found["missing"])
            continue
        one = Measured(part=part, found=found, count=count, tokens=tokens, work=work)
        print(one.line(st, peak.get(part.precision)))
        one.add_rows(add_row, st, peak.get(part.precision))


def padding(lengths: list[int]) -> float:
    """Tokens of padding over those of texts, in percent."""
    batches = [[lengths[index] for index in batch] for batch in pack_batches(lengths)]
    return 100 * (sum(max(batch) * len(batch) for batch in batches) / sum(lengths) - 1)


def best_peaks(folder: Path, others: dict, add_row: AddRow) -> dict[str, float]:
    """The rate of the fastest library for each precision."""
    runs = [run("peak", folder, OPENBLAS_NUM_THREADS="1")]
    if "avx512f" in cpu_flags():
        runs.append(run("peak", folder, OPENBLAS_NUM_THREADS="1", OPENBLAS_CORETYPE="SKYLAKEX"))
    best = {}
    for precision, title in (("fp32", "32 bits"), ("bf16", "bf16"), ("int8", "8-bit integers")):
        found: dict[str, float] = {}
        for rates in (*runs, others):
            found |= {name: max(rate, found.get(name, 0)) for name, rate in rates.get(precision, {}).items()}
        said = ", ".join(f"{name} {rate:.0f}" for name, rate in found.items())
        print(f"products in {title}, GFLOP/s: {said or 'none'}")
        if found:
            best[precision] = max(found.values())
            add_row(what=f"peak: products in {title}", found=best[precision], unit="GFLOP/s", note=said)
    return best


def cpu_flags() -> set[str]:
    path = Path("/proc/cpuinfo")
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return set(text.partition("flags")[2].partition("\n")[0].split())


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What a part found, and what follows from it."""

    part: Part
    found: dict
    count: int
    tokens: int
    work: float
    """Billions of operations for all texts."""

    @property
    def seconds(self) -> float:
        return self.found["seconds"]

    def shares(self, peak: float | None) -> tuple[float, float] | None:
        """Of the peak, in percent: by the clock, by processor time."""
        if peak is None or self.found.get("embedded") != self.count:
            return None
        by_processor = self.work / self.found["cpu"] * (os.cpu_count() or 1)
        return 100 * self.work / self.seconds / peak, 100 * by_processor / peak

    def line(self, st: dict, peak: float | None) -> str:
        shares = self.shares(peak)
        times = f"{st['seconds'] / self.seconds:7.2f}" if "seconds" in st else f"{'':>7}"
        rate = f"{self.work / self.seconds:9.0f}{shares[0]:8.0f}%{shares[1]:7.0f}%" if shares else f"{'':26}"
        speeds = f"{self.count / self.seconds:9.0f}{self.tokens / self.seconds:10,.0f}"
        return f"{self.part.title:46}{speeds}{times}{rate}{self.found['peak_mb']:7.0f}"

    def add_rows(self, add_row: AddRow, st: dict, peak: float | None) -> None:
        title, shares = self.part.title, self.shares(peak)
        note = f"{self.tokens / self.seconds:,.0f} tokens/s, {self.found['peak_mb']:.0f} MB"
        add_row(what=title, found=self.count / self.seconds, unit="texts/s", note=note)
        if "seconds" in st and self.found is not st:
            by_cpu = st["cpu"] / self.found["cpu"]
            over, said = st["seconds"] / self.seconds, f"{by_cpu:.1f} x by processor time"
            add_row(
                what=f"{title}: over sentence-transformers",
                found=over,
                unit="x",
                at_least=self.part.over_st,
                floor=f"{self.count / st['seconds']:.0f} texts/s",
                note=said,
            )
        if shares:
            add_row(
                what=f"{title}: share of the peak",
                found=shares[0],
                unit="%",
                at_least=self.part.share,
                floor=f"peak {peak:.0f} GFLOP/s",
                note=f"{self.work / self.seconds:.0f} GFLOP/s; {shares[1]:.0f} % by processor time",
            )


def run(part: str, folder: Path, **env: str) -> dict:
    """Run one part in a process of its own."""
    return output([sys.executable, str(Path(__file__)), "--part", part, "--folder", str(folder)], env)


def run_other(folder: Path, python: str) -> dict:
    """Run sentence-transformers in an interpreter that has it."""
    found = subprocess.run([python, "-c", "import sentence_transformers"], capture_output=True)
    return (
        output([python, "-c", OTHER, str(folder), os.environ[ROUNDS]], {})
        if found.returncode == 0
        else {"missing": "not installed"}
    )


def output(call: list[str], env: dict[str, str]) -> dict:
    done = subprocess.run(call, capture_output=True, text=True, env=os.environ | env)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


OTHER = """
import json, resource, sys, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import torch
from sentence_transformers import SentenceTransformer
given = json.loads(Path(sys.argv[1], "texts.json").read_text(encoding="utf-8"))
model = SentenceTransformer(str(Path(sys.argv[1], "model")), device="cpu")
model.encode(given[:64], batch_size=32, show_progress_bar=False)
seconds = cpu = float("inf")
for _ in range(int(sys.argv[2])):
    start, used = time.perf_counter(), time.process_time()
    model.encode(given, batch_size=32, show_progress_bar=False)
    seconds, cpu = min(seconds, time.perf_counter() - start), min(cpu, time.process_time() - used)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
processors = torch.get_num_threads()
torch.set_num_threads(1)
def taken(a, b):
    found, end = [], time.perf_counter() + 3
    while time.perf_counter() < end:
        start = time.perf_counter()
        torch.mm(a, b)
        found.append(time.perf_counter() - start)
    return found
peaks = {}
for precision, kind in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
    a, b = torch.rand(1024, 4096).to(kind), torch.rand(4096, 1024).to(kind)
    torch.mm(a, b)
    with ThreadPoolExecutor(processors) as pool:
        used = time.process_time()
        found = [one for many in pool.map(lambda _: taken(a, b), range(processors)) for one in many]
        used = time.process_time() - used
    peaks[precision] = {"torch": processors * 2 * 1024 * 1024 * 4096 / 1e9 / min(*found, used / len(found))}
print(json.dumps({"seconds": seconds, "cpu": cpu, "embedded": len(given), "peak_mb": peak, "peaks": peaks}))
"""


def ready() -> float:
    """Seconds from the start of Python to the first vector, the best of five, less what bare Python takes."""
    code = (
        "import asyncio; from evalmark.models.embeddings.load import load_embedder; from evalmark.core.settings import Settings\n"
        f"asyncio.run(load_embedder({MODEL!r}, Settings())(['ready']))\n"
        "import sys; assert 'torch' not in sys.modules"
    )

    def seconds(program: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True)
        return time.perf_counter() - start

    return min(seconds(code) for _ in range(5)) - min(seconds("pass") for _ in range(5))


# The parts


def lengths_part(folder: Path) -> dict:
    embedder = local()
    lengths = [len(e.ids) for e in embedder.tokenizer(given_texts(folder))]
    return {"lengths": lengths, "config": json.loads((embedder.path / "config.json").read_text(encoding="utf-8"))}


def given_texts(folder: Path) -> list[str]:
    return json.loads((folder / "texts.json").read_text(encoding="utf-8"))


def peak_part(folder: Path) -> dict:
    return peaks.peaks()


def onnx_part(folder: Path) -> dict:
    """The model's graph with the runtime's own settings; 32 texts of about one length at a time, as the library has it."""
    embedder = local()
    model = write_graph(embedder.folder.weights, embedder.folder.encoder, inline=True)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])

    def encode(given: Sequence[str]) -> None:
        every = sorted((e.ids for e in embedder.tokenizer(list(given))), key=len, reverse=True)
        for start in range(0, len(every), 32):
            rows = every[start : start + 32]
            tokens = np.zeros((len(rows), max(map(len, rows))), np.int32)
            for row, ids in zip(tokens, rows, strict=True):
                row[: len(ids)] = ids
            mask = np.arange(tokens.shape[1]) < np.array([[len(ids)] for ids in rows])
            session.run(None, {"input_ids": tokens, "attention_mask": mask.astype(np.int32)})

    return speed(encode, given_texts(folder))


def each_part(folder: Path, mode: str = "exact") -> dict:
    """Every text, the doubles too: the bare speed of the model."""
    embedder = local(mode)
    if embedder.mode_in_force != mode:
        return {"missing": embedder.notes()[0]}
    return speed(lambda given: asyncio.run(embedder(given)), given_texts(folder))


def fast_part(folder: Path) -> dict:
    if importlib.util.find_spec("openvino") is None:
        return {"missing": "not measured: the extra `openvino` is not installed"}
    return each_part(folder, "fast")


def int8_part(folder: Path) -> dict:
    return each_part(folder, "int8")


def unsigned_part(folder: Path) -> dict:
    """The way of the int8 mode where products with signed weights come out wrong; the results are the same."""
    model = local("int8")
    unsigned = LocalEmbedder(model.path, "int8")
    vars(unsigned)["infer"] = open_int8(model.folder, unsigned=True)  # in place of the model it would load
    return speed(lambda given: asyncio.run(unsigned(given)), given_texts(folder))


def speed(encode: Callable[[Sequence[str]], object], given: list[str]) -> dict:
    """Seconds for all texts, of the clock and of processors, the best of some rounds."""
    encode(given[:64])
    return timed(lambda: encode(given), int(os.environ[ROUNDS])) | {"embedded": len(given)} | memory()


def cold_part(folder: Path) -> dict:
    """As a run does it: doubles once, vectors kept in a store."""
    return stored(folder)


def warm_part(folder: Path) -> dict:
    """The same in a new process: everything is in the store."""
    return stored(folder)


def stored(folder: Path) -> dict:
    given = given_texts(folder)
    with open_store(folder / "evalmark.db") as store:
        embedder = CachedEmbedder(local(), store)
        return timed(lambda: asyncio.run(embedder(given)), 1) | memory()


PARTS = {
    "lengths": lengths_part,
    "peak": peak_part,
    "onnx": onnx_part,
    "each": each_part,
    "fast": fast_part,
    "int8": int8_part,
    "unsigned": unsigned_part,
    "cold": cold_part,
    "warm": warm_part,
}


def local(mode: str = "exact"):
    return load_embedder(MODEL, Settings(embedding_mode=mode))


def timed(work: Callable[[], object], times: int) -> dict:
    seconds = cpu = float("inf")
    for _ in range(times):
        start, used = time.perf_counter(), time.process_time()
        work()
        seconds, cpu = min(seconds, time.perf_counter() - start), min(cpu, time.process_time() - used)
    return {"seconds": seconds, "cpu": cpu}


def memory() -> dict:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"peak_mb": peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)}


def flops(lengths: list[int], config: dict) -> float:
    """The multiplications and additions of the matrix products, without padding."""
    h, inner, layers = config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]
    return sum(layers * (2 * n * (4 * h * h + 2 * h * inner) + 4 * n * n * h) for n in lengths)


# The texts


def texts(count: int) -> list[str]:
    """Sentences and paragraphs of English, 30 % of them twice, always the same on the same system."""
    rng = random.Random(SEED)  # noqa: S311  any texts will do
    paragraphs = [p for p in dict.fromkeys(prose()) if is_prose(p)]
    sentences = [s for p in paragraphs for s in re.split(r"(?<=[.!?])\s+", p)]
    short = [s for s in dict.fromkeys(sentences) if 4 <= len(s.split()) <= 45]
    long = [p for p in paragraphs if 20 <= len(p.split()) <= 150]
    rng.shuffle(short)
    rng.shuffle(long)
    different = round(count * 0.7)
    chosen = short[: round(different * 0.54)]
    chosen += long[: different - len(chosen)]
    chosen += [rng.choice(chosen) for _ in range(count - len(chosen))]
    rng.shuffle(chosen)
    return chosen


def prose() -> Iterator[str]:
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
        if not {"site-packages", "test", "idlelib"} & set(path.parts):
            yield from docstrings(path)
    for path in sorted(Path("/usr/share/common-licenses").glob("*")):
        yield from split(path.read_text(encoding="utf-8", errors="ignore"))


def docstrings(path: Path) -> Iterator[str]:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module | ast.AsyncFunctionDef):
            yield from split(ast.get_docstring(node) or "")


def split(text: str) -> Iterator[str]:
    yield from (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))


def is_prose(text: str) -> bool:
    return len(text.split()) >= 4 and sum(c.isalpha() or c == " " for c in text) > 0.8 * len(text)


if __name__ == "__main__":
    main()
