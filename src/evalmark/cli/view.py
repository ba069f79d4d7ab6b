"""`evalmark view`: the runs that are kept, as pages in a browser."""

import os
import threading
import webbrowser
from contextlib import suppress
from typing import Annotated

import typer

from evalmark import store as kept
from evalmark.errors import need
from evalmark.shell.terminal import say_line

from . import flags

TOKEN = "EVALMARK_TOKEN"  # noqa: S105  the name of a variable
"""A secret of the user's own, in the place of one that is made at every start; no flag, since everybody sees those."""

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


def add(app: typer.Typer) -> None:
    """Put the verb on the command line."""
    app.command("view", short_help="Look at runs in a browser.")(view)


def view(run: Run = None, port: Port = 7878, host: Host = "", opens: Open = True, store: flags.Store = None) -> None:
    """Show the runs that are kept as pages in a browser, for this machine only, until it is interrupted."""
    need("starlette", "view")
    need("uvicorn", "view")
    web = need("evalmark.web")
    with kept.open_store(flags.settings(store=store).store, read_only=True) as ledger:
        path = "/" if run is None else web.run_path(ledger.run(run).id)
        bound = web.bound(port, host, os.environ.get(TOKEN, ""))
        address = bound.address_of(path)
        web.serve(web.pages(ledger, bound.door), bound, lambda: _tell(address, opens=opens))


def _tell(address: str, *, opens: bool) -> None:
    say_line(
        f"{address}\nThis address holds the token of the viewer: whoever has it can read these runs. End it with Ctrl+C."
    )
    if opens:  # some browsers are waited for, and the first page has to be answered meanwhile
        threading.Thread(target=_open, args=(address,), daemon=True).start()


def _open(address: str) -> None:
    with suppress(webbrowser.Error):  # a machine without a browser: the address is on the screen
        webbrowser.open(address)
