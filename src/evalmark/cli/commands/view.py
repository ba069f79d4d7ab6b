"""`evalmark view`: show stored runs as pages in a browser."""

import gc
import os
import re
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import typer

from evalmark.cli.terminal.command_line import store_flag
from evalmark.cli.terminal.output import print_line, print_store_note
from evalmark.core.errors import ConfigError
from evalmark.core.lazy import LazyModule, need
from evalmark.reports.viewer.auth import server
from evalmark.reports.viewer.auth.guard import ENTRIES
from evalmark.reports.viewer.auth.server import serve
from evalmark.reports.viewer.urls.label_queue_query import sample_queue
from evalmark.reports.viewer.urls.paths import decode_name
from evalmark.storage.postgres.addresses import is_address
from evalmark.storage.store.location import store_exists, store_is_writable
from evalmark.storage.store.store import await_store, open_store
from evalmark.tracing.annotations.labels import current_user

from . import flags

if TYPE_CHECKING:
    from evalmark.reports.viewer import grid
    from evalmark.storage.store.store import Store
else:
    grid = LazyModule("evalmark.reports.viewer.grid")

TOKEN = "EVALMARK_TOKEN"  # noqa: S105  the name of a variable
"""The variable of an access token that replaces the random one. There is no flag, since process lists show flags."""
_NEAR = 50
"""The newest runs, among which the other suites of a set are looked for."""

Run = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        help="The run to open first: an id, the start of one, `last` or `last~1`; or the address of a page of another viewer.",
    ),
]
Port = Annotated[
    int, typer.Option("--port", metavar="PORT", min=0, max=65_535, help="The port of the pages; 0 selects a free one.")
]
Host = Annotated[
    str,
    typer.Option("--host", metavar="ADDRESS", help=f"An address that other machines can reach; requires {TOKEN}."),
]
Open = Annotated[bool, typer.Option("--open/--no-open", help="Open the first page in the browser.")]


Sample = Annotated[
    int | None,
    typer.Option("--sample", metavar="NUMBER", min=1, help="Open the queue to label this sample of the run."),
]
ReadOnly = Annotated[bool, typer.Option("--read-only", help="Show labels, but accept none.")]


def add(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command("view")(view)


def view(  # noqa: PLR0913  each is a flag of the command line
    run: Run = None,
    port: Port = 7878,
    host: Host = "",
    opens: Open = True,
    sample: Sample = None,
    read_only: ReadOnly = False,
    store: flags.Store = None,
) -> None:
    """Show stored runs as pages in a browser, for this machine only, until Ctrl+C.

    Outputs and scores can be labelled there, unless the store is read-only.
    """
    with _without_garbage_collection() as collect:
        need("starlette")
        need("uvicorn")
        web = need("evalmark.reports.viewer.app")
        settings = flags.settings(store=store)
        location = settings.store
        # A file that --store names has to exist: its name may be mistyped. So has one that a run is looked for in.
        waits = not (store or run or sample or read_only or is_address(location) or store_exists(location))
        with _awaited(location) if waits else _existing(location, read_only) as run_store:
            path = _first_page(run_store, run, sample)
            bound = server.bind(port, host, os.environ.get(TOKEN, ""))

            def ready() -> None:
                collect()
                is_opened = opens and has_browser(os.environ, sys.platform)
                _print_address(bound.address_of(path), bound.address_once(path) if is_opened else "")
                if not (is_opened or host):
                    print_line(forwarding_hint(urlsplit(bound.origin).port or port, os.environ))

            pages = web.viewer_app(
                run_store,
                bound.policy,
                author=_author(),
                flags=store_flag(location),
                editor=settings.editor,
            )
            serve(pages, bound, ready)


def _existing(location: str, read_only: bool) -> "Store":
    return open_store(location, read_only=read_only or not store_is_writable(location), notes=print_store_note)


def _awaited(location: str) -> "Store":
    store = await_store(location, notes=print_store_note)
    print_store_note(f"{store.path}: there is no store yet; the first run makes one, and then appears in the viewer.")
    return store


@contextmanager
def _without_garbage_collection() -> Iterator[Callable[[], None]]:
    """Disable garbage collection until the yielded function is called.

    While modules load, collections take a seventh of the time until the first page and find nothing. Objects that are
    loaded by then are never searched.
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


def _first_page(store: "Store", run: str | None, sample: int | None) -> str:
    """Return the path of the page to open first."""
    if run is None:
        if sample is not None:
            raise ConfigError("--sample is a sample of a run; name the run.")
        return "/"
    if "/" in run:
        return _page_of(store, run, sample)
    opened = store.run(run)
    identity = opened.id
    if sample is None:
        return grid.landing_path(opened, store.runs(_NEAR))
    samples = store.sessions.label_samples(identity)
    if sample not in samples:
        known = ", ".join(map(str, samples)) or "none"
        raise ConfigError(f"--sample {sample}: run {identity} has samples {known}; draw one with: evalmark label")
    return sample_queue(identity, sample)


def _page_of(store: "Store", address: str, sample: int | None) -> str:
    """Return the path, query and fragment of an address, which may be of a viewer elsewhere, without its token.

    Raises:
        ConfigError: it is combined with a sample, or is no address of a page.
        NotFoundError: the store does not have the run of the page.
    """
    if sample is not None:
        raise ConfigError("--sample is a sample of a run; name the run instead of an address.")
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise ConfigError(
            f"{address}: this is no address; copy it from the browser in which the page is open."
        ) from error
    path = "/" + parts.path.lstrip("/")
    if (match := re.match(r"/runs/([^/]+)", path)) is not None:
        store.run(decode_name(match[1]))
    query = urlencode([(name, value) for name, value in parse_qsl(parts.query) if name not in ENTRIES])
    # Spaces and signs that a terminal could take for its own are escaped; a browser sends no fragment.
    fragment = quote(parts.fragment, safe="%=&;,:@/?!~*'()+$-._")
    return path + (f"?{query}" if query else "") + (f"#{fragment}" if fragment else "")


def _author() -> str:
    """Return the annotator's name, or an empty text: then the pages ask for it."""
    try:
        return current_user(os.environ)
    except ConfigError:
        return ""


def _print_address(address: str, once: str) -> None:
    """Print the address, and open the one-time address `once` in a browser if there is one."""
    print_line(
        f"{address}\nThis address contains an access token: anyone who has it can read these runs. Stop the viewer with Ctrl+C."
    )
    if once:  # some browser calls block until the first page is served
        threading.Thread(target=_open, args=(once,), daemon=True).start()


def has_browser(environ: Mapping[str, str], platform: str) -> bool:
    """Whether a browser can show pages beside this terminal; one that runs in the terminal would take it over.

    >>> has_browser({}, "linux"), has_browser({"DISPLAY": ":0"}, "linux"), has_browser({}, "darwin")
    (False, True, True)
    >>> has_browser({"SSH_CONNECTION": "10.0.0.5 50514 10.0.0.9 22"}, "darwin")
    False
    """
    if environ.get("BROWSER") or environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"):
        return True
    return platform in ("darwin", "win32") and "SSH_CONNECTION" not in environ


def forwarding_hint(port: int, environ: Mapping[str, str]) -> str:
    """Describe how to reach the viewer with a browser on another machine.

    >>> print(forwarding_hint(7878, {"SSH_CONNECTION": "10.0.0.5 50514 10.0.0.9 22", "USER": "ann"}))
    If your browser is on another machine, run this there, and open the address there:
      ssh -N -L 7878:127.0.0.1:7878 ann@10.0.0.9
    """
    ends = environ.get("SSH_CONNECTION", "").split()
    host, ssh_port = ends[2:] if len(ends) == 4 else (socket.gethostname(), "22")
    user = environ.get("USER", "")
    at = f"{user}@{host}" if user else host
    through = "" if ssh_port == "22" else f" -p {ssh_port}"
    return (
        "If your browser is on another machine, run this there, and open the address there:\n"
        f"  ssh -N -L {port}:127.0.0.1:{port}{through} {at}"
    )


def _open(address: str) -> None:
    with suppress(webbrowser.Error):  # no browser on this machine; the address is printed
        webbrowser.open(address)
