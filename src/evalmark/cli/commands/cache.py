"""`evalmark cache list`, `clear`, `export`, `import`: recorded calls of chat models and tools."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from evalmark.cli.terminal.output import print_line, print_store_note, print_text, terminal_style
from evalmark.core.errors import ConfigError
from evalmark.core.text import count
from evalmark.reports.terminal.recordings import recorded_calls_screen, recorded_models_screen
from evalmark.storage.store.store import Store, open_store

from . import flags

Model = Annotated[str | None, typer.Option("--model", metavar="NAME", help="Only calls of this model.")]
Tool = Annotated[str | None, typer.Option("--tool", metavar="NAME", help="Only calls of this tool.")]

_AGE = re.compile(r"(\d{1,6})([dhm])")
_UNITS = {"d": "days", "h": "hours", "m": "minutes"}


def add(app: typer.Typer) -> None:
    """Add the verbs to the program."""
    verbs = typer.Typer(
        help="List, clear, export and import recorded calls of models and tools.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    verbs.command("list", short_help="List recorded calls.")(list_calls)
    verbs.command("clear", short_help="Delete recorded calls.")(clear)
    verbs.command("export", short_help="Write recorded calls to a file.")(export)
    verbs.command("import", short_help="Add the recorded calls of a file.")(import_calls)
    app.add_typer(verbs, name="cache")


def list_calls(
    calls: Annotated[bool, typer.Option("--calls", help="List single calls, newest first.")] = False,
    match: Annotated[
        str,
        typer.Option("--match", metavar="TEXT", help="Only calls whose model, tool, key or request contains TEXT."),
    ] = "",
    limit: Annotated[
        int, typer.Option("-n", "--limit", metavar="N", min=1, max=flags.MAX_COUNT, help="Number of single calls.")
    ] = 50,
    store: flags.Store = None,
) -> None:
    """List recorded calls by model and tool, or single calls with --calls or --match."""
    with open_store(flags.settings(store=store).store, read_only=True, notes=print_store_note) as run_store:
        if calls or match:
            recordings = run_store.recordings.newest(match, limit)
            print_text(
                recorded_calls_screen(recordings, terminal_style(), total=0 if recordings else _recorded(run_store))
            )
        else:
            print_text(
                recorded_models_screen(
                    run_store.recordings.by_model(), terminal_style(), run_store.recordings.by_tool()
                )
            )


def clear(
    all: Annotated[bool, typer.Option("--all", help="Delete all recorded calls.")] = False,  # noqa: A002  as the flag, and so its variable
    model: Model = None,
    tool: Tool = None,
    older_than: Annotated[
        str | None, typer.Option("--older-than", metavar="AGE", help="Only calls older than this: 30d, 12h, 45m.")
    ] = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="Only failed model calls, which cannot be replayed.")
    ] = False,
    store: flags.Store = None,
) -> None:
    """Delete recorded calls: all of them with --all, or those that match every other flag."""
    before = None if older_than is None else age_limit(older_than, "--older-than")
    if all == bool(model or tool or before or failed):
        raise ConfigError("name the calls to delete: --all, or some of --model, --tool, --older-than and --failed.")
    _of_one_kind(tool, {"--model": bool(model), "--failed": failed})
    with _existing(store) as run_store:
        recorded = _recorded(run_store)
        deleted = run_store.recordings.clear(model, before, failed_only=failed, tool=tool)
    if deleted or not recorded:
        print_line(f"Deleted {count(deleted, 'call')}." if deleted else "No calls are recorded, so none is deleted.")
    else:
        print_line(f"None of {count(recorded, 'recorded call')} matches, so none is deleted.")


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write, one call per line.")],
    run: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="Only calls that this run used or sent.")
    ] = None,
    model: Model = None,
    tool: Tool = None,
    store: flags.Store = None,
) -> None:
    """Write the recorded calls that can be replayed to a file, ordered by key."""
    _of_one_kind(tool, {"--model": bool(model)})
    with open_store(flags.settings(store=store).store, read_only=True, notes=print_store_note) as run_store:
        written = run_store.recordings.export(file, run, model, tool)
    print_line(f"{file}: {count(written, 'call')}")


def import_calls(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `evalmark cache export` wrote.")],
    address: Annotated[
        list[str] | None,
        typer.Option(
            "--address",
            metavar="OLD=NEW",
            help="Import model calls to the address OLD as calls to the address NEW. Repeatable.",
        ),
    ] = None,
    store: flags.Store = None,
) -> None:
    """Add the recorded calls of a file, all or none; calls that exist already stay unchanged."""
    addresses = _addresses(address or [])
    with open_store(flags.settings(store=store).store, notes=print_store_note) as run_store:
        added, known = run_store.recordings.add(file, addresses)
    print_line(f"{file}: {count(added, 'call')} added, {known:,} known before")


def _addresses(pairs: Sequence[str]) -> dict[str, str]:
    """Parse `OLD=NEW` pairs into a mapping of addresses."""
    addresses: dict[str, str] = {}
    for text in pairs:
        old, _, new = text.partition("=")
        old, new = old.strip().rstrip("/"), new.strip().rstrip("/")
        if "://" not in old or "://" not in new:
            raise ConfigError(f"--address {text}: it takes OLD=NEW, two addresses such as http://127.0.0.1:8000/v1.")
        if addresses.setdefault(old, new) != new:
            raise ConfigError(f"--address {text}: {old} is mapped to {addresses[old]} already.")
    return addresses


def _of_one_kind(tool: str | None, others: Mapping[str, bool]) -> None:
    """Refuse flags that exclude every call of a tool."""
    flags_given = [flag for flag, is_given in others.items() if is_given]
    if tool and flags_given:
        raise ConfigError(f"--tool names calls of tools and {flags_given[0]} calls of models; leave one of them out.")


def _recorded(run_store: "Store") -> int:
    recordings = run_store.recordings
    return sum(model.calls for model in recordings.by_model()) + sum(tool.calls for tool in recordings.by_tool())


def _existing(store: str | None) -> "Store":
    """Open an existing store for writing; never create one to delete from it."""
    path = flags.settings(store=store).store
    open_store(path, read_only=True).close()
    return open_store(path, notes=print_store_note)


def age_limit(age: str, flag: str) -> datetime:
    """Return the moment that lies an age such as `30d` before now.

    Raises:
        ConfigError: it is not an age; the message names the flag.
    """
    match = _AGE.fullmatch(age.strip())
    if match is None:
        raise ConfigError(f"{flag}: {age!r} is not an age; write a number of days, hours or minutes: 30d, 12h, 45m.")
    try:
        return datetime.now(UTC) - timedelta(**{_UNITS[match[2]]: int(match[1])})
    except OverflowError:
        raise ConfigError(f"{flag}: {age!r} is before the first year of the calendar; leave the flag out.") from None
