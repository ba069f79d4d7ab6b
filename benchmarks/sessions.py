"""The viewer over a store with many recorded sessions: how long the server takes for a page of them.

Run: python benchmarks/sessions.py [--sessions 100000]
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rows import AddRow, add_json, row_output
from viewer import random_text
from viewer_client import POLICY, answer

from evalmark.core.values.case import Usage
from evalmark.core.values.label import Label
from evalmark.core.values.session import Session, Span
from evalmark.reports.viewer.app import viewer_app
from evalmark.store import Store, open_store

BEGAN = "2026-11-22T09:00:00.000000+00:00"
AT_ONCE = 500
LONG = "f" * 16
"""The session with as many steps as there are sessions."""
ADDRESSES = {
    "the list, first look": ("/sessions", 150),
    "the list, again": ("/sessions", 150),
    "its last page": ("/sessions?below=51", 150),
    "of a project": ("/sessions?project=bank", 150),
    "good ones": ("/sessions?labelled=up", 300),
    "disputed ones": ("/sessions?labelled=disputed", 300),
    "not labelled": ("/sessions?labelled=not", 300),
    "an answer failed": ("/sessions?failed=1", 300),
    "by a prompt that many filled": ("/sessions?template=greeting", 300),
    "by a prompt that few filled": ("/sessions?template=rare", 300),
    "by a text that many hold": ("/sessions?text=Peru+and", 300),
    "by a text that none holds": ("/sessions?text=nowhere", 300),
    "a session among the good ones": (f"/sessions/{5000:016x}?labelled=up", 300),
    "a session": (f"/sessions/{7000:016x}", 100),
    "a session of many steps": (f"/sessions/{LONG}", 500),
}
"""What is asked for, and the goal in milliseconds."""


def spans_of(draw: random.Random, number: int, session: Session) -> Iterator[Span]:
    """Each tenth session has three answers; each answer has two steps."""
    known = {"session": session.id, "project": session.project, "started": BEGAN}
    for turn in range(3 if number % 10 == 0 else 1):
        answer = f"{number * 16 + turn * 4:016x}"
        yield Span(
            id=f"{answer[:-1]}{turn * 4 + 1:x}", parent=answer, kind="retrieval", output=random_text(draw, 40), **known
        )
        yield Span(
            id=f"{answer[:-1]}{turn * 4 + 2:x}",
            parent=answer,
            kind="model",
            template="greeting" if number % 2 else "rare" if number % 5_000 == 0 else "",
            input=random_text(draw, 40),
            output=random_text(draw, 30),
            usage=Usage(input_tokens=800, output_tokens=40),
            **known,
        )
        failed = number % 1_000 == 0
        output, error = (None, "TimeoutError: too long") if failed else (random_text(draw, 30), None)
        yield Span(id=answer, seconds=1.5, input=random_text(draw, 15), output=output, error=error, **known)


def fill(store: Store, sessions: int) -> None:
    draw = random.Random(1)  # noqa: S311  the same rows every time
    for first in range(0, sessions, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, sessions))
        made = [Session(id=f"{n:016x}", project=("shop", "bank", "help")[n % 3], started=BEGAN) for n in numbers]
        store.sessions.add(
            made, [span for n, one in zip(numbers, made, strict=True) for span in spans_of(draw, n, one)]
        )
        about = [f"span:{n * 16:016x}" for n in numbers if n % 10 == 0]
        store.sessions.add_labels(
            [Label(about=one, liked=n % 4 > 0, by="ann", created=BEGAN, content="c") for n, one in enumerate(about)]
        )
    known = {"session": LONG, "project": "long", "started": BEGAN}
    steps = [
        Span(id=f"e{n:015x}", parent=LONG, kind="tool", output=random_text(draw, 10), **known) for n in range(sessions)
    ]
    answer = Span(id=LONG, input="All of it?", output="Yes.", seconds=9.0, **known)
    store.sessions.add([Session(id=LONG, project="long", started=BEGAN)], [*steps, answer])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=100_000)
    add_json(parser)
    args = parser.parse_args()
    sessions = args.sessions
    with tempfile.TemporaryDirectory() as name, row_output(args.json) as add_row:
        path = Path(name) / "evalmark.db"
        with open_store(path) as store:
            fill(store, sessions)
        with open_store(path, read_only=True) as store:
            measure(store, sessions, add_row)


def measure(store: Store, sessions: int, add_row: AddRow) -> None:
    app = viewer_app(store, POLICY)
    for what, (address, goal) in ADDRESSES.items():
        started = time.perf_counter()
        status, body = asyncio.run(answer(app, address))
        taken = (time.perf_counter() - started) * 1_000
        assert status == 200, (what, status)
        note = f"{sessions:,} sessions, and one of {sessions:,} steps; {len(body) / 1_000:.0f} kB"
        add_row(what=what, found=taken, unit="ms", at_most=goal, note=note)


if __name__ == "__main__":
    main()
