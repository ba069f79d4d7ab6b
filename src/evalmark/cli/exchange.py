"""`evalmark import`: what other tools have written, read as ours."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import typer

from evalmark import api, console, exchange, formats
from evalmark import store as kept
from evalmark.errors import ConfigError
from evalmark.values import count

from . import flags
from .terminal import look, say, say_line

IMPORTERS: Mapping[str, "Callable[[Path], exchange.Imported]"] = MappingProxyType(
    {
        "promptpex": lambda path: formats.import_promptpex(path),
    }
)
"""Every format that can be read, by its name; each function loads its file when it is called."""

Format = Annotated[str, typer.Argument(metavar="FORMAT", help=f"What wrote them: {', '.join(IMPORTERS)}.")]
Paths = Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files or folders, each of which is read.")]


def add(app: typer.Typer) -> None:
    """Put the verbs on the command line."""
    app.command("import", short_help="Read results of another tool as runs.")(import_files)


def import_files(
    format: Format,  # noqa: A002  as the argument, and so its help
    paths: Paths,
    store: flags.Store = None,
) -> None:
    """Read what another tool has written, keep its results as runs, and say what became of each part.

    All of them are read before any is kept.
    """
    read = _importer(format)
    found = [(path, read(path)) for path in paths]
    with kept.open_store(flags.settings(store=store).store) as ledger:
        for path, imported in found:
            parts = [(part.fate, part.name, part.to) for part in imported.parts]
            say(console.account(_title(path, imported), parts, imported.remarks, look()))
            if imported.run is not None:
                run = api.keep(imported.run, ledger)
                say_line(f"  Kept as {run.id}; look at it with: evalmark show {run.id} --overview")


def _importer(name: str) -> "Callable[[Path], exchange.Imported]":
    if name in IMPORTERS:
        return IMPORTERS[name]
    close = get_close_matches(name, IMPORTERS, n=1)
    advice = f"did you mean {close[0]}?" if close else f"it is one of {', '.join(IMPORTERS)}."
    raise ConfigError(f"there is no format {name!r} to import; {advice}")


def _title(path: Path, imported: "exchange.Imported") -> str:
    """What was read, in one line."""
    run = imported.run
    if run is None:
        return str(path)
    targets = len({result.trial.target for result in run.results})
    cases = sum(info.rows or 0 for info in run.datasets)
    return f"{path}: {count(len(run.results), 'result')} of {count(cases, 'case')} on {count(targets, 'target')}"
