"""`evalmark view`: the runs that are kept, as pages in a browser."""

import gc
import os
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Annotated

import typer

from evalmark.cli.terminal.command_line import store_flag
from evalmark.cli.terminal.output import print_line
from evalmark.core.errors import ConfigError
from evalmark.core.lazy import need
from evalmark.reports.viewer.auth import server
from evalmark.reports.viewer.auth.server import serve
from evalmark.reports.viewer.urls.paths import run_path
from evalmark.storage.store.location import store_is_writable
from evalmark.storage.store.store import open_store
from evalmark.tracing.annotations.labels import current_user

from . import flags

TOKEN = "EVALMARK_TOKEN"  # noqa: S105  the name of a variable
"""A secret of the user's own, in the place of one that is made at every start; no flag, since everybody sees those."""
_PREPARE_AFTER = 0.5
"""Seconds after the start, when the first page is there, and before somebody has read it."""

Run = Annotated[
    str | None,
    typer.Argument(metavar="[RUN]", help="Begin with this run: an id, the start of one, `last` or `last~1`."),
]
Port = Annotated[int, typer.Option("--port", min=0, max=65_535, help="Where the pages are; 0 takes any free port.")]
Host = Annotated[
    str,
    typer.Option("--host", metavar="ADDRESS", help=f"An address that other machines reach; it needs {TOKEN}."),
]
Open = Annotated[bool, typer.Option("--open/--no-open", help="Open the first page in the browser.")]


ReadOnly = Annotated[bool, typer.Option("--read-only", help="Show labels, and let nobody give any.")]


def add(app: typer.Typer) -> None:
    """Put the verb on the command line."""
    app.command("view")(view)


def view(
    run: Run = None,
    port: Port = 7878,
    host: Host = "",
    opens: Open = True,
    read_only: ReadOnly = False,
    store: flags.Store = None,
) -> None:
    """Show the runs that are kept as pages in a browser, for this machine only, until it is interrupted.

    Outputs and scores can be labelled there; where the store cannot be written they are only shown.
    """
    with _without_garbage_collection() as collect:
        need("starlette", "view")
        need("uvicorn", "view")
        web = need("evalmark.reports.viewer.app")
        place = flags.settings(store=store).store
        with open_store(place, read_only=read_only or not store_is_writable(place)) as ledger:
            path = "/" if run is None else run_path(ledger.run(run).id)
            bound = server.bind(port, host, os.environ.get(TOKEN, ""))

            def ready() -> None:
                collect()
                _print_address(bound.address_of(path), bound.address_once(path) if opens else "")

            pages = web.viewer_app(
                ledger, bound.policy, author=_author(), prepare_after=_PREPARE_AFTER, flags=store_flag(place)
            )
            serve(pages, bound, ready)


@contextmanager
def _without_garbage_collection() -> Iterator[Callable[[], None]]:
    """Look for no garbage until what is handed out is called: everything is loaded, and a search goes through all of it.

    That is a seventh of the time until the first page. What is loaded by then is never searched.
    """

    def collect() -> None:
        gc.freeze()
        gc.enable()

    gc.disable()
    try:
        yield collect
    finally:
        gc.enable()
        gc.unfreeze()


def _author() -> str:
    """Who labels; empty where nobody knows, and the pages ask."""
    try:
        return current_user(os.environ)
    except ConfigError:
        return ""


def _print_address(address: str, once: str) -> None:
    """Print the address, and have a browser open the one that holds `once`, where there is one."""
    print_line(
        f"{address}\nThis address holds the token of the viewer: whoever has it can read these runs. End it with Ctrl+C."
    )
    if once:  # some browsers are waited for, and the first page has to be answered meanwhile
        threading.Thread(target=_open, args=(once,), daemon=True).start()


def _open(address: str) -> None:
    with suppress(webbrowser.Error):  # a machine without a browser: the address is on the screen
        webbrowser.open(address)
