"""How far the modes of the local embedder are from the exact one: cosines, and verdicts near a threshold and of examples/.

Run: python benchmarks/precision.py [--texts 2000]

Cosines are compared of all pairs of different texts, and of each text and its first half and its first three quarters, which
are as near to each other as answers to the same question. Of those that are within 0.1 of a threshold in exact mode it is
counted how many fall on its other side. Then every example that compares texts by their vectors is run in each mode, in a copy of its folder
and with a store of its own, and what its scores say is held against what they say in exact mode.
"""

import argparse
import asyncio
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from embedding import local, texts
from rows import AddRow, add_json, row_output

from evalmark.store import open_store

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
COMMANDS = {
    "similarity": ("-m evalmark run suite.yaml", "-m evalmark run suite-v2.yaml"),
    "rag": ("-m evalmark rag --dataset questions.json", "-m evalmark rag --dataset awkward.json"),
    "unit_tests": ("check.py", "check.py --changed"),
    "regression": (
        "record.py",
        "-m evalmark note --file labels.csv",
        "-m evalmark calibrate shop --metric similarity --max-false-pass 0.1",
        "-m evalmark run suite.yaml",
        "-c \"open('prompt.txt', 'a').write('Answer as short as you can.')\"",
        "-m evalmark run suite.yaml",
    ),
}
"""In the folder of each example, in this order."""
WORDS = (0, 1, 3)
"""Exit codes that are verdicts."""
BY_THRESHOLD = ("context_sufficiency", "answer_hallucination")
"""RAG metrics that count texts above or below a threshold."""
PARTS = (0.5, 0.75)
THRESHOLDS = (0.4, 0.5, 0.7, 0.8, 0.9)
NEAR = 0.1
ERROR = 20
"""The goal of fast mode: the mean error of a cosine, in millionths."""
ALONE = 100
"""Texts that are embedded once more, each by itself."""
Verdicts = dict[tuple, tuple]


def modes() -> list[str]:
    """Those that this machine can run, besides the exact one."""
    fast = importlib.util.find_spec("openvino") is not None and local("fast").mode_in_force == "fast"
    return ["fast", "int8"] if fast else ["int8"]


def vectors(mode: str, given: list[str]) -> np.ndarray:
    return asyncio.run(local(mode)(given)).astype(np.float64)


def pairs(found: np.ndarray) -> np.ndarray:
    """Cosines of all pairs of texts, then of each text and its parts."""
    found = found / np.linalg.norm(found, axis=1, keepdims=True)
    some, *parts = np.split(found, 1 + len(PARTS))
    return np.concatenate(
        [(some @ some.T)[np.triu_indices(len(some), 1)], *((some * part).sum(axis=1) for part in parts)]
    )


def with_parts(given: list[str]) -> list[str]:
    """The texts, then the beginning of each."""
    return given + [
        " ".join(text.split()[: max(1, round(len(text.split()) * part))]) for part in PARTS for text in given
    ]


def cosines(mode: str, given: list[str], exact: np.ndarray, add_row: AddRow) -> None:
    """`given` are texts and their parts, `exact` their vectors."""
    found = vectors(mode, given)
    off = 1 - (exact * found).sum(axis=1) / np.linalg.norm(found, axis=1) / np.linalg.norm(exact, axis=1)
    add_row(
        what=f"{mode}: error of a vector, mean",
        found=off.mean() * 1e6,
        unit="millionths",
        at_most=ERROR if mode == "fast" else None,
        note=f"at most {off.max() * 1e6:,.0f}; 1 - cosine to the exact vector",
    )
    then, now = pairs(exact), pairs(found)
    moved = 1e3 * np.abs(now - then)
    said = f"at most {moved.max():.1f}, of {len(moved):,} pairs"
    add_row(what=f"{mode}: error of a cosine, mean", found=moved.mean(), unit="thousandths", note=said)
    near = flipped = 0
    parts = []
    for threshold in THRESHOLDS:
        close = np.abs(then - threshold) <= NEAR
        turned = int(((then >= threshold) != (now >= threshold))[close].sum())
        near, flipped = near + int(close.sum()), flipped + turned
        parts.append(f"{threshold}: {turned:,} of {close.sum():,}")
    share = 100 * flipped / max(near, 1)
    add_row(
        what=f"{mode}: verdicts within {NEAR} of a threshold that flip", found=share, unit="%", note="; ".join(parts)
    )
    alone = np.concatenate([vectors(mode, [text]) for text in given[:ALONE]])
    apart = np.abs(alone - found[:ALONE]).max()
    add_row(what=f"{mode}: a number of a vector, alone and among others", found=apart * 1e6, unit="millionths")


def verdicts(mode: str, folder: Path) -> Verdicts:
    """What each score of each run says."""
    found: Verdicts = {}
    for example, commands in COMMANDS.items():
        place = folder / mode / example
        shutil.copytree(EXAMPLES / example, place, ignore=shutil.ignore_patterns("__pycache__", ".evalmark"))
        env = os.environ | {"EVALMARK_EMBEDDING_MODE": mode, "EVALMARK_STORE": str(place / "store.db")}
        for command in commands:
            call = [sys.executable, *shlex.split(command)]
            done = subprocess.run(call, cwd=place, env=env, capture_output=True, text=True, check=False)
            if done.returncode not in WORDS:
                raise SystemExit(f"{example}, {command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
            found[example, command, len(found)] = (done.returncode,)
        with open_store(place / "store.db", read_only=True) as store:
            for number, run in enumerate(reversed(store.runs())):
                for result in run.results:
                    for score in result.scores:
                        key = (example, number, result.trial.case.id, result.trial.repeat, score.name)
                        counted = score.raw if score.name in BY_THRESHOLD else None
                        found[key] = (score.status, score.passed, counted)
    return found


def examples(mode: str, exact: Verdicts, folder: Path, add_row: AddRow) -> None:
    found = verdicts(mode, folder)
    if exact.keys() != found.keys():
        raise SystemExit(
            f"The examples have other results in {mode} mode: {sorted(map(str, exact.keys() ^ found.keys()))}"
        )
    changed = [key for key in exact if exact[key] != found[key]]
    judged = sum(words[-1] is not None or True in words or False in words for words in exact.values())
    said = "; ".join(f"{key[0]}: {key[2]} {key[-1]}" if len(key) > 3 else f"{key[0]}: {key[1]}" for key in changed)
    goal = 0 if mode == "fast" else None
    add_row(
        what=f"{mode}: verdicts of examples/ that change",
        found=len(changed),
        at_most=goal,
        note=f"of {judged:,}{f': {said}' if said else ''}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=2000)
    add_json(parser)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, row_output(args.json) as add_row:
        some = with_parts(list(dict.fromkeys(texts(args.texts))))
        exact = vectors("exact", some)
        as_exact = verdicts("exact", Path(name))
        for mode in modes():
            cosines(mode, some, exact, add_row)
            examples(mode, as_exact, Path(name), add_row)


if __name__ == "__main__":
    main()
