"""How fast texts become vectors: `python benchmarks/embedding.py [--texts 5000] [--sentence-transformers PYTHON]`.

5,000 texts, 30 % of them twice, are made from the docstrings of the standard library and the licence texts of the
system. Each row of the table is a process of its own, one after the other, on the same machine. PYTHON is an interpreter
with sentence-transformers, where this one has none.
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
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rows import Tell, add_json, telling

from evalmark.models import CachedEmbedder, load_embedder
from evalmark.settings import Settings
from evalmark.store import open_store

MODEL = "all-MiniLM-L6-v2"
SEED = 20240611
TIMES = {"each": 2.9, "fast": 5.2, "cold": 4.2, "warm": 50}
"""Goals: how many times as fast as sentence-transformers."""
READY, SHARE, ERROR = 0.5, 72, 20
"""Seconds; percent of the peak in exact mode; millionths of the cosine in fast mode."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=5000)
    parser.add_argument("--sentence-transformers", default=sys.executable, metavar="PYTHON")
    add_json(parser)
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        print(json.dumps(PARTS[given.part](given.folder)))
        return
    with tempfile.TemporaryDirectory() as folder, telling(given.json, table=True) as tell:
        table(Path(folder), given.texts, given.sentence_transformers, tell)


def table(folder: Path, count: int, other: str, tell: Tell) -> None:
    """Measure everything and print what was found."""
    made = texts(count)
    (folder / "texts.json").write_text(json.dumps(made), encoding="utf-8")
    (folder / "model").symlink_to(local().path)
    peak, lengths = run("peak", folder), run("lengths", folder)
    raw = flops(lengths["lengths"], lengths["config"]) / 1e9
    print(
        f"{count:,} texts, {len(set(made)):,} different, {sum(lengths['lengths']):,} tokens, {os.cpu_count()} processors"
    )
    cold = ready()
    print(
        f"fp32 matrix products of numpy ({peak['blas']}): {peak['gflops']:.0f} GFLOP/s; ready from cold: {cold:.2f} s\n"
    )
    print(f"{'':44}{'texts/s':>9}{'seconds':>9}{'x st':>8}{'GFLOP/s':>9}{'of peak':>9}{'MB':>7}")
    tell(what="the model is ready, from cold", found=cold, unit="s", at_most=READY)
    st = run_other(folder, other)
    for part, title in TITLES.items():
        found = st if part == "other" else run(part, folder)
        if "missing" in found:
            print(f"{title:44}  {found['missing']}")
            tell(what=title, found=None, beside=found["missing"])
            continue
        seconds, model = found["seconds"], found.get("embedded") == count
        times = f"{st['seconds'] / seconds:8.2f}" if "seconds" in st else f"{'':>8}"
        rate = f"{raw / seconds:9.0f}{raw / seconds / peak['gflops']:9.0%}" if model else f"{'':18}"
        print(f"{title:44}{count / seconds:9.0f}{seconds:9.2f}{times}{rate}{found['peak_mb']:7.0f}")
        if "error" in found:
            print(f"{'':4}cosine error against exact: {found['error']:.1e} in the mean")
            tell(what=f"{title}: cosine error, mean", found=found["error"] * 1e6, unit="millionths", at_most=ERROR)
        tell(what=title, found=count / seconds, unit="texts/s", beside=f"{found['peak_mb']:.0f} MB")
        if "seconds" in st and part != "other":
            times_st = st["seconds"] / seconds
            tell(what=f"{title}: over sentence-transformers", found=times_st, unit="x", at_least=TIMES.get(part))
        if model and part == "each":
            share, said = raw / seconds / peak["gflops"], f"{raw / seconds:.0f} of {peak['gflops']:.0f} GFLOP/s (numpy)"
            tell(what=f"{title}: share of the peak", found=share * 100, unit="%", at_least=SHARE, beside=said)


def run(part: str, folder: Path) -> dict:
    """Run one part in a process of its own."""
    return output([sys.executable, str(Path(__file__)), "--part", part, "--folder", str(folder)])


def run_other(folder: Path, python: str) -> dict:
    """Run sentence-transformers in an interpreter that has it."""
    found = subprocess.run([python, "-c", "import sentence_transformers"], capture_output=True)
    return output([python, "-c", OTHER, str(folder)]) if found.returncode == 0 else {"missing": "not installed"}


def output(call: list[str]) -> dict:
    done = subprocess.run(call, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


OTHER = """
import json, resource, sys, time
from pathlib import Path
from sentence_transformers import SentenceTransformer
given = json.loads(Path(sys.argv[1], "texts.json").read_text(encoding="utf-8"))
model = SentenceTransformer(str(Path(sys.argv[1], "model")), device="cpu")
model.encode(given[:64], batch_size=32, show_progress_bar=False)
start = time.perf_counter()
model.encode(given, batch_size=32, show_progress_bar=False)
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"seconds": seconds, "embedded": len(given), "peak_mb": peak}))
"""


def ready() -> float:
    """Seconds from the start of Python to the first vector, the best of five, less what bare Python takes."""
    code = (
        "import asyncio; from evalmark.models import load_embedder; from evalmark.settings import Settings\n"
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
    given = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
    lengths = [len(e.ids) for e in embedder.tokenizer(given)]
    return {"lengths": lengths, "config": json.loads((embedder.path / "config.json").read_text(encoding="utf-8"))}


def peak_part(folder: Path) -> dict:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((2048, 2048), dtype=np.float32) for _ in "ab")
    best, out, end = float("inf"), np.empty_like(a), time.perf_counter() + 4
    while time.perf_counter() < end:
        start = time.perf_counter()
        np.matmul(a, b, out=out)
        best = min(best, time.perf_counter() - start)
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return {"gflops": 2 * 2048**3 / best / 1e9, "blas": f"{blas['name']} {blas['version']}"}


def each_part(folder: Path, mode: str = "exact") -> dict:
    """Every text, the doubles too: the bare speed of the model."""
    embedder = local(mode)
    if embedder.mode_in_force != mode:
        return {"missing": embedder.notes()[0]}
    given = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
    asyncio.run(embedder(given[:64]))
    best, vectors = timed(lambda: asyncio.run(embedder(given)), 2)
    found = {"seconds": best, "embedded": len(given)} | memory()
    if mode == "fast":
        exact = asyncio.run(local()(given))
        found["error"] = float(np.mean(1 - (exact * vectors).sum(axis=1)))
    return found


def fast_part(folder: Path) -> dict:
    if importlib.util.find_spec("openvino") is None:
        return {"missing": "not measured: the extra `openvino` is not installed"}
    return each_part(folder, "fast")


def cold_part(folder: Path) -> dict:
    """As a run does it: doubles once, vectors kept in a store."""
    return stored(folder)


def warm_part(folder: Path) -> dict:
    """The same in a new process: everything is in the store."""
    return stored(folder)


def stored(folder: Path) -> dict:
    given = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
    with open_store(folder / "evalmark.db") as store:
        embedder = CachedEmbedder(local(), store)
        seconds, _ = timed(lambda: asyncio.run(embedder(given)), 1)
    return {"seconds": seconds} | memory()


PARTS = {
    "lengths": lengths_part,
    "peak": peak_part,
    "each": each_part,
    "fast": fast_part,
    "cold": cold_part,
    "warm": warm_part,
}
TITLES = {
    "other": "sentence-transformers, 32 a batch",
    "each": "evalmark exact, every text",
    "fast": "evalmark fast, every text",
    "cold": "evalmark exact, doubles once, into the store",
    "warm": "evalmark exact, out of the store",
}


def local(mode: str = "exact"):
    return load_embedder(MODEL, Settings(embedding_mode=mode))


def timed(work, times: int) -> tuple[float, object]:
    best, found = float("inf"), None
    for _ in range(times):
        start = time.perf_counter()
        found = work()
        best = min(best, time.perf_counter() - start)
    return best, found


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
