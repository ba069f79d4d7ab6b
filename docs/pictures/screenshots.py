"""Takes the pictures of the viewer in README.md and docs/reference/viewer.md, of runs that are really made from the examples.

Run: python docs/pictures/screenshots.py; it needs what `.[dev]` installs, Debian's chromium and the local embedding model.
Dates are fixed and how long an answer took is left out, so that a picture changes only where the pages do.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import uvicorn
from draw import HERE, ROOT, worse
from playwright.sync_api import Page, sync_playwright
from shown import missing_words, with_words

from evalmark import Result
from evalmark.reports.viewer import app
from evalmark.reports.viewer.auth.server import Listener, bind
from evalmark.reports.viewer.urls.paths import run_path
from evalmark.store import Store, open_store

LIKED, WORSE, RAG = "20261121-091500-b1c2", "20261121-093000-d3e4", "20261121-100000-f5a6"
"""A bot, the same with a changed prompt, and answers to questions on passages."""
CASE = "tides-3"
QUESTIONS = """
datasets: examples/rag/questions.json
metrics:
  - context_relevance
  - context_sufficiency
  - answer_correctness
  - answer_hallucination: {threshold: 0.4}
gate: {min_pass_rate: 0}
embeddings: all-MiniLM-L6-v2
"""
"""A suite by which the output of `CASE` fails: half of it is in no context."""
LABELLED = 5
PLACES = {
    "run": (f"{run_path(WORSE)}?sort=score:contains", 980, ("light", "dark")),
    "compare": (f"/compare?run={WORSE}&baseline={LIKED}&outcome=worse", 1180, ("light", "dark")),
    "grid": (f"/grid?run={LIKED}&run={WORSE}", 940, ("light",)),
    "case": (f"{run_path(RAG)}?text={CASE}", 860, ("light",)),
    "label": (f"/label?what=run:{WORSE}&n=12", 520, ("light",)),
}
"""Where each page stands, how high its picture is, and in which schemes it is taken."""
WIDTH = 1280
LIMIT = 200_000
"""Bytes of a picture."""


def made(folder: Path) -> Path:
    """A store with the runs as they were made: the bot of a library before and after a change, and answers held to passages."""
    worse(folder)
    shutil.copytree(ROOT / "examples" / "rag", folder / "examples" / "rag")
    (folder / "questions.yaml").write_text(QUESTIONS, encoding="utf-8")
    known = os.environ | {"EVALMARK_STORE": str(folder / "library.db")}
    command = [sys.executable, "-m", "evalmark", "run", "questions.yaml", "-q"]
    subprocess.run(command, cwd=folder, env=known, capture_output=True, check=True)
    return folder / "library.db"


def dated(store: Store, to: Store) -> None:
    """The same runs with fixed ids and dates."""
    for name, run in zip((LIKED, WORSE, RAG), reversed(store.runs()), strict=True):
        day, clock = f"{name[:4]}-{name[4:6]}-{name[6:8]}", f"{name[9:11]}:{name[11:13]}"
        notes = tuple(note.replace(run.id, name).replace(run.created[:10], day) for note in run.notes)
        kept = replace(
            run, notes=notes, id=name, created=f"{day}T{clock}:00+00:00", finished=None, status="running", results=()
        )
        to.start(kept)
        asyncio.run(to.sink(name).write([untimed(result) for result in run.results]))
        to.finish(replace(kept, finished=f"{day}T{clock}:06+00:00", status="complete"))


def untimed(result: Result) -> Result:
    """A result that does not say how long it took."""
    return replace(result, output=replace(result.output, seconds=None))


@contextmanager
def viewed(store: Store) -> Iterator[Listener]:
    """The viewer over a store."""
    held = bind(0)
    pages = app.viewer_app(store, held.policy, patience=60, author="ann")
    server = uvicorn.Server(uvicorn.Config(pages, http="h11", ws="none", lifespan="off", log_config=None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": list(held.sockets)}, daemon=True)
    thread.start()
    yield held
    server.should_exit = True
    thread.join(10)


def look(page: Page, name: str, address: str) -> None:
    """Go to the place of a picture, as a person would."""
    page.goto(address, wait_until="networkidle")
    if name == "case":
        page.click("table.cases tbody a.name")
    if name == "label":
        page.click("button:text('Begin')")
        page.wait_for_selector("h1:text('Output 1 of')")
        page.wait_for_load_state("load")
        for number in range(LABELLED):
            page.keyboard.press("d" if number == 2 else "u")
            page.wait_for_selector(f"h1:text('Output {number + 2} of')")
            page.wait_for_load_state("load")  # before it no key is heard


def take(held: Listener, to: Path) -> None:
    """All pictures, each in its schemes."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("chromium-headless-shell"), args=["--no-sandbox"]
        )
        for name, (place, height, schemes) in PLACES.items():
            for scheme in schemes:
                page = browser.new_page(viewport={"width": WIDTH, "height": height}, reduced_motion="reduce")
                page.emulate_media(color_scheme=scheme)
                page.goto(held.address_of("/"))
                look(page, name, f"{held.origin}{place}")
                file = to / (f"{name}-{scheme}.png" if len(schemes) > 1 else f"{name}.png")
                text = page.inner_text("body")
                if missing := missing_words(file.name, text):
                    raise SystemExit(f"{file.name}: the page does not show {missing}")
                file.write_bytes(with_words(page.screenshot(), text))
                page.context.close()
                print(f"{file.name}: {file.stat().st_size:,} bytes")
                if file.stat().st_size > LIMIT:
                    raise SystemExit(f"{file.name} is larger than {LIMIT:,} bytes")
        browser.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with open_store(made(place), read_only=True) as store, open_store(place / "evalmark.db") as fixed:
            dated(store, fixed)
            with viewed(fixed) as held:
                take(held, HERE)


if __name__ == "__main__":
    main()
