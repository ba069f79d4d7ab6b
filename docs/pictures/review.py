"""Takes every page of the viewer at three widths in both themes, and puts the pictures beside what other tools show for the same job.

Run: python docs/pictures/review.py -o FOLDER [--store FILE] [--page NAME]; open FOLDER/index.html. peers.toml is the table of pages.
Without a store, one is made from the examples and from demo_store.py, which has something for every page.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

from demo_store import fill, under_way
from draw import HERE, ROOT, worse
from playwright.sync_api import Browser, sync_playwright
from screenshots import viewed

from evalmark import Result, Run
from evalmark.reports.viewer.auth.server import Listener
from evalmark.reports.viewer.urls.paths import case_path, run_path, session_path
from evalmark.storage.queries.filter import ResultFilter
from evalmark.store import Store, open_store

WIDTHS = (390, 800, 1280)
SCHEMES = ("light", "dark")
HEIGHT = 2_400
"""Pixels of CSS of a picture; longer pages are cut."""
LAID_OUT = "* { content-visibility: visible !important }"
"""Pages lay out what is out of sight only once it is near."""
LOOKED_AT = 40
"""The newest runs among which examples of each kind are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedPage:
    """A page of the viewer, or a report in one file, with what it is compared to."""

    name: str
    job: str
    route: str
    address: str
    peers: Sequence[Sequence[str]]
    """The tool, what it shows, and the address of the source."""
    ours: str
    lacks: str
    store: str = "all"
    """Which store it shows: `all`, `empty`, `read-only`; `files` for a report in one file."""
    problem: str = ""
    """Why there are no pictures of it; empty if there are."""

    @property
    def slug(self) -> str:
        """Its name in names of files."""
        return "-".join(self.name.replace(",", "").split())


def reviewed_pages() -> list[ReviewedPage]:
    """Read the table of pages."""
    table = tomllib.loads((HERE / "peers.toml").read_text(encoding="utf-8"))
    return [ReviewedPage(**row) for row in table["page"]]


def made_from_examples(folder: Path) -> Path:
    """A store with a bot before and after a change, an agent, a prompt on two models, and recorded sessions with labels."""
    store = folder / "library.db"
    library = worse(folder)
    for name in ("agent", "prompt", "regression", "checks"):
        shutil.copytree(
            ROOT / "examples" / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".evalmark")
        )
    evalmark = [sys.executable, "-m", "evalmark"]
    both = "run sort.prompty --model small --model large --judge judge --replay strict -q"
    for place, command in (
        (folder / "agent", [*evalmark, "cache", "import", "recorded.jsonl"]),
        (folder / "agent", [sys.executable, "-m", "pytest", "-q", "--evalmark", "--evalmark-replay", "strict"]),
        (folder / "prompt", [*evalmark, "cache", "import", "recorded.jsonl"]),
        (folder / "prompt", [*evalmark, *both.split()]),
        (folder / "regression", [sys.executable, "record.py"]),
        (folder / "regression", [*evalmark, "note", "--file", "labels.csv"]),
        (folder / "checks", [*evalmark, "run", "suite.yaml", "orders.yaml", "-q"]),
        (library, [*evalmark, "run", "suite.yaml", "-q"]),
    ):
        ended = subprocess.run(
            command,
            cwd=place,
            env=os.environ | {"EVALMARK_STORE": str(store)},
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode not in (0, 1, 3):  # 3: cannot tell
            raise SystemExit(f"{place.name}: {' '.join(command[1:])}: {ended.stdout[-400:]}{ended.stderr[-800:]}")
    return store


def places(store: Store) -> dict[str, str]:
    """Where each kind of run, case and session is in a store, by the names that addresses of the table use."""
    recent = store.runs(LOOKED_AT)
    found = {run.status: run_path(run.id) for run in reversed(recent) if run.status in ("running", "stopped")}
    known = [run for run in recent if run.status == "complete" and run.metrics]
    known.sort(key=lambda run: len(run.results), reverse=True)  # of those of one size, the newest stays first
    found |= _compared_places(store, [run for run in known if ", " not in run.target])
    several = next((run for run in known if ", " in run.target), None)
    if several is not None:
        found |= {"several": run_path(several.id), "several_id": several.id}
    agents = (_first(store, run, *wanted) for wanted in (("fail", _has_failed_step), ("", _has_steps)) for run in known)
    if (agent := next(filter(None, agents), None)) is not None:
        found["agent"] = agent
    if sessions := store.sessions.summaries(limit=200):
        most = max(sessions, key=lambda one: (one.failed > 0, one.answers, one.spans))
        found["session"] = session_path(most.session.id)
    return found


def _compared_places(store: Store, single: Sequence[Run]) -> dict[str, str]:
    """The largest run that has earlier ones of the same suite, the one before it and the earliest, and a case of it."""
    for run in single:
        same = [one for one in single if (one.name, one.suite) == (run.name, run.suite) and one.created < run.created]
        if same:
            case = _first(store, run, "fail") or _first(store, run) or ""
            ids = {"run_id": run.id, "before_id": same[0].id, "earlier_id": same[-1].id}
            return {"run": run_path(run.id), "case": case, **ids}
    return {}


def _has_steps(result: Result) -> bool:
    return len(result.output.transcript) > 1


def _has_failed_step(result: Result) -> bool:
    return any(call.error is not None for call in result.output.tool_calls)


def _first(store: Store, run: Run, verdict: Any = "", check: Callable[[Result], bool] = bool) -> str | None:
    """The path of the first of a run's results that has a verdict, if one is given, and meets a condition."""
    with closing(store.browse(run.id)) as browser:
        wanted = ResultFilter(verdicts=(verdict,) if verdict else ())
        for number in browser.numbers_with_output(wanted)[:200]:
            if (result := browser.result(number)) is not None and check(result):
                return case_path(run.id, number)
    return None


def addressed(pages: Iterable[ReviewedPage], found: Mapping[str, str]) -> Iterator[ReviewedPage]:
    """The pages with their addresses; a page whose place is not in the store with the reason."""
    for page in pages:
        try:
            yield replace(page, address=page.address.format_map(found))
        except KeyError as missing:
            yield replace(page, problem=f"The store has nothing for {{{missing.args[0]}}}.")


def write_reports(store: Path, found: Mapping[str, str], folder: Path) -> None:
    """The one-file report of a run, and the comparison of two."""
    evalmark = [sys.executable, "-m", "evalmark"]
    run, before = found.get("run_id"), found.get("before_id")
    if run is None or before is None:
        return
    to = ["--store", str(store), "-o"]
    for words in (
        ["report", run, *to, str(folder / "report.html")],
        ["compare", run, before, *to, str(folder / "comparison.html")],
    ):
        ended = subprocess.run([*evalmark, *words], capture_output=True, text=True, check=False)
        if ended.returncode not in (0, 1, 3):  # 3: cannot tell
            raise SystemExit(f"{words[0]}: {ended.stderr}")


def take(browser: Browser, page: ReviewedPage, address: str, entry: str, folder: Path) -> None:
    """The six pictures of a page.

    Args:
        browser: the browser that takes them.
        page: the page.
        address: its whole address.
        entry: the address that lets the browser in; empty for a file.
        folder: where they go.
    """
    for scheme in SCHEMES:
        for width in WIDTHS:
            is_phone = width == min(WIDTHS)
            context = browser.new_context(
                color_scheme=scheme,
                reduced_motion="reduce",
                viewport={"width": width, "height": 900},
                is_mobile=is_phone,
                has_touch=is_phone,
                bypass_csp=True,  # for the style above
            )
            window = context.new_page()
            if entry:
                window.goto(entry)
            window.goto(address)
            window.wait_for_load_state("load")
            window.add_style_tag(content=LAID_OUT)
            window.wait_for_timeout(300)  # for what pages ask for afterwards; a run under way never falls silent
            high = window.evaluate("document.documentElement.scrollHeight")
            clip = {"x": 0, "y": 0, "width": width, "height": min(high, HEIGHT)}
            window.screenshot(path=folder / f"{page.slug}-{width}-{scheme}.png", full_page=True, clip=clip)
            context.close()


STYLE = """body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem; color: #1d2329; background: #fafaf8 }
article { border-top: 1px solid #c8ccd0; padding: 1rem 0 2rem; display: grid; grid-template-columns: 24rem 1fr; gap: 2rem }
h2 { margin: 0 0 .5rem; font-size: 1.2rem } h3 { margin: 1rem 0 .2rem; font-size: 1rem } ul { margin: 0; padding-left: 1.2rem }
.pictures { display: flex; flex-wrap: wrap; gap: 1rem; align-items: start } figure { margin: 0 } figcaption { color: #5a626a }
img { border: 1px solid #c8ccd0; max-height: 40rem; object-fit: cover; object-position: top } code { font-size: .85em }
@media (max-width: 60rem) { article { grid-template-columns: 1fr } }"""


def sheet(pages: Sequence[ReviewedPage]) -> Iterator[str]:
    """The contact sheet, as HTML."""
    yield f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Pages of the viewer</title><style>{STYLE}</style>'
    yield "<h1>Pages of the viewer, beside what other tools show for the same job</h1>"
    for page in pages:
        peers = "".join(
            f'<li><a href="{escape(source)}">{escape(tool)}</a>: {escape(shows)}' for tool, shows, source in page.peers
        )
        yield f'<article id="{page.slug}"><div><h2>{escape(page.job)}</h2><p>{escape(page.name)} · <code>{escape(page.address)}</code>'
        yield f"<h3>Others show</h3><ul>{peers}</ul><h3>Ours shows</h3><p>{escape(page.ours)}"
        yield f"<h3>Ours lacks</h3><p>{escape(page.lacks or 'nothing that we know of')}</div><div class=pictures>"
        if page.problem:
            yield f"<p>{escape(page.problem)}"
        for scheme in () if page.problem else SCHEMES:
            for width in WIDTHS:
                file = f"{page.slug}-{width}-{scheme}.png"
                yield f'<figure><a href="{file}"><img src="{file}" width={width // 4} loading=lazy alt=""></a>'
                yield f"<figcaption>{width}, {scheme}</figcaption></figure>"
        yield "</div></article>"


def review(given: Path | None, names: Sequence[str], to: Path) -> None:
    """Take the pictures of all pages, or of those named, and write the sheet."""
    wanted = [page for page in reviewed_pages() if not names or page.name in names]
    to.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
        copied, nothing = folder / "evalmark.db", folder / "empty.db"
        with open_store(given or made_from_examples(folder), read_only=True) as source:
            source.copy(copied)
        store, empty = held.enter_context(open_store(copied)), held.enter_context(open_store(nothing))
        if given is None:
            now = datetime.now(UTC).replace(microsecond=0)
            fill(store, now)
            next(under_way(store, now))
        still = held.enter_context(open_store(copied, read_only=True))
        found = places(store)
        pages = list(addressed(wanted, found))
        if any(page.store == "files" for page in pages):
            write_reports(copied, found, to)
        servers = {
            name: held.enter_context(viewed(one))
            for name, one in (("all", store), ("empty", empty), ("read-only", still))
        }
        driver = held.enter_context(sync_playwright())
        chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        browser = held.enter_context(closing(driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])))
        for page in pages:
            if not page.problem:
                take(browser, page, *_addresses(page, servers, to), to)
            print(f"{page.name}: {page.problem or page.address}")
        (to / "index.html").write_text("\n".join(sheet(pages)), encoding="utf-8")


def _addresses(page: ReviewedPage, servers: Mapping[str, Listener], to: Path) -> tuple[str, str]:
    """The whole address of a page, and the one that lets a browser in."""
    if page.store == "files":
        return (to / page.address).resolve().as_uri(), ""
    server = servers[page.store]
    return f"{server.origin}{page.address}", server.address_of("/")


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("-o", "--output", type=Path, required=True, help="the folder of the pictures and of index.html")
    words.add_argument("--store", type=Path, help="a store of your own, of which a copy is shown")
    words.add_argument(
        "--page", action="append", default=[], help="only this page, by its name in peers.toml; repeatable"
    )
    given = words.parse_args()
    if unknown := set(given.page) - {page.name for page in reviewed_pages()}:
        words.error(f"no such page: {', '.join(sorted(unknown))}")
    review(given.store, given.page, given.output)


if __name__ == "__main__":
    main()
