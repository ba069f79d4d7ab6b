"""`evalmark import`: read tests and results of other tools."""

import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from evalmark.cli.commands.file_checks import validate
from evalmark.cli.terminal.output import print_line, print_store_note, print_text, terminal_style
from evalmark.core.errors import ConfigError
from evalmark.core.text import count
from evalmark.inputs.documents.atomic_write import write_atomically
from evalmark.interop.github_models.importer import import_github_models
from evalmark.interop.jsonl import import_jsonl
from evalmark.interop.openai_evals.importer import import_openai_evals
from evalmark.interop.openai_evals.registry_importer import import_openai_registry
from evalmark.interop.promptfoo.importer import import_promptfoo
from evalmark.interop.promptpex.importer import import_promptpex
from evalmark.interop.shared.import_result import ImportResult
from evalmark.reports.terminal.imports import import_screen
from evalmark.runs.execution.run_writer import save_runs
from evalmark.storage.store.store import open_store

from . import flags

if TYPE_CHECKING:
    from evalmark.core.settings import Settings

IMPORTERS: Mapping[str, "Callable[[Path], ImportResult]"] = MappingProxyType(
    {
        "promptpex": import_promptpex,
        "promptfoo": import_promptfoo,
        "openai-evals": import_openai_evals,
        "openai-registry": import_openai_registry,
        "github-models": import_github_models,
        "jsonl": import_jsonl,
    }
)
"""The importer of each format."""

Format = Annotated[
    str, typer.Argument(metavar="FORMAT", help=f"The tool that wrote the files: {', '.join(IMPORTERS)}.")
]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="DIR", help="Write the tests as a suite into a new folder."),
]
Code = Annotated[
    list[Path] | None,
    typer.Option("--code", metavar="FILE", help="promptfoo: a Python file of assertions that may run. Repeatable."),
]
Partial = Annotated[
    bool,
    typer.Option("--partial", help="Write the suite even if parts of the tests cannot be imported."),
]
Paths = Annotated[list[Path], typer.Argument(metavar="PATH", help="Files or folders to read.")]


def add(app: typer.Typer) -> None:
    """Add the verbs to the program."""
    app.command("import")(import_files)


def import_files(
    format: Format,  # noqa: A002  as the argument, and so its help
    paths: Paths,
    output: Output = None,
    code: Code = None,
    partial: Partial = False,
    store: flags.Store = None,
) -> None:
    """Import the files of another tool: store its results as runs, and list what was imported and what was not.

    With -o, also write the tests as a suite that `evalmark validate` accepts. All paths are read before anything is
    stored or written, and either all runs are stored or none. If a part of the tests cannot be imported, nothing is
    written, unless --partial is given.
    """
    read = _importer(format, code or [])
    if output is not None and len(paths) > 1:
        raise ConfigError("-o takes the suite of one PATH; import each of them by itself.")
    settings = flags.settings(store=store)
    imports = [(path, read(path)) for path in paths]
    for path, imported in imports:
        _check_output(path, imported, output)
    if output is not None:
        [(path, imported)] = imports
        _write_suite(path, imported, output, _SuiteOptions(settings, partial))
    if not any(imported.run is not None for _, imported in imports):
        for path, imported in imports:
            _print_account(path, imported)
        return
    with open_store(settings.store, notes=print_store_note) as run_store:
        runs = iter(save_runs([imported.run for _, imported in imports if imported.run is not None], run_store))
        for path, imported in imports:
            _print_account(path, imported)
            if imported.run is not None:
                run = next(runs)
                print_line(f"  Stored as {run.id}; show it with: evalmark show {run.id} --overview")


def _print_account(path: Path, imported: "ImportResult") -> None:
    folder = f"{path if path.is_dir() else path.parent}/"  # the title names the folder
    parts = [(part.outcome, part.name.removeprefix(folder), part.to) for part in imported.parts]
    print_text(import_screen(_title(path, imported), parts, imported.remarks, terminal_style()))


def _check_output(path: Path, imported: "ImportResult", output: Path | None) -> None:
    """Refuse an import that has nothing to store or write, or no folder to write to."""
    if imported.run is None and not imported.files:
        raise ConfigError(
            f"{path}: contains neither tests nor results, so there is nothing to import. A prompt alone needs no import: "
            "evalmark generate makes tests for a .prompty or .prompt.yml file, and evalmark run sends it to a model."
        )
    if output is None:
        if imported.run is None:
            raise ConfigError(f"{path}: contains tests but no results; write them as a suite with: -o DIR")
        return
    if not imported.files:
        raise ConfigError(f"{path}: contains no tests for a suite; leave -o out.")


class _SuiteOptions(NamedTuple):
    """How `_write_suite` writes a suite."""

    settings: "Settings"
    partial: bool
    """Whether parts may be left out."""


def _write_suite(path: Path, imported: "ImportResult", output: Path, options: _SuiteOptions) -> None:
    """Write the files of a suite into a folder where none of them is yet."""
    _refuse_existing(output, imported.files)
    if imported.dropped and not options.partial:
        _print_account(path, imported)
        names = count(sum(part.number for part in imported.dropped), "part")
        raise ConfigError(
            f"{path}: nothing is imported, because the suite would test something else: {names} cannot be imported "
            '("left out" and "refused" above). Change them in the file, or accept the suite without them: --partial'
        )
    if imported.unjudged:
        _print_account(path, imported)
        raise ConfigError(
            f"{path}: nothing is imported, because no imported part scores the outputs, and a suite needs a "
            f"metric ({', '.join(imported.unjudged)}). Add an assertion or a grader that evalmark supports to the file."
        )
    with _draft(output, imported.files) as draft:
        faults = [fault for name in imported.suites for fault in validate(draft / name, options.settings)]
        if faults:
            _print_account(path, imported)
            messages = [fault.replace(f"{draft}/", f"{output}/") for fault in dict.fromkeys(faults)]
            raise ConfigError.of([f"{path}: nothing is imported, because the suite cannot be run:", *messages])
        _put(draft, output, imported.files)
    print_line(f"{output}: {', '.join(sorted(imported.files))}")


@contextmanager
def _draft(folder: Path, files: Mapping[str, str]) -> Iterator[Path]:
    """Write the files into a temporary folder beside the final one, and delete it afterwards."""
    above = next(above for above in folder.absolute().parents if above.is_dir())
    draft = above / f".{folder.name[:100]}.{secrets.token_hex(4)}"
    try:
        for name, text in files.items():
            write_atomically(draft / name, [text])
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _put(draft: Path, folder: Path, files: Mapping[str, str]) -> None:
    """Move the files to the final folder, in one step if it does not exist yet."""
    for cache in [*draft.rglob("__pycache__")]:
        shutil.rmtree(cache, ignore_errors=True)
    if not os.path.lexists(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft.rename(folder)
        return
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (draft / name).replace(folder / name)


def _refuse_existing(folder: Path, files: Iterable[str]) -> None:
    existing = [name for name in files if os.path.lexists(folder / name)]
    if existing:
        raise ConfigError(f"{folder / existing[0]}: the file exists already; name another folder with -o.")


def write_new(folder: Path, files: Mapping[str, str]) -> None:
    """Write new files into a folder.

    Raises:
        ConfigError: one of the files exists already.
    """
    _refuse_existing(folder, files)
    for name, text in files.items():
        write_atomically(folder / name, [text])


def _importer(name: str, code: list[Path]) -> "Callable[[Path], ImportResult]":
    if code and name != "promptfoo":
        raise ConfigError("--code names files of promptfoo's assertions; leave it out for any other format.")
    if code:
        return lambda path: import_promptfoo(path, code)
    if name in IMPORTERS:
        return IMPORTERS[name]
    close = get_close_matches(name, IMPORTERS, n=1)
    advice = f"did you mean {close[0]}?" if close else f"it is one of {', '.join(IMPORTERS)}."
    raise ConfigError(f"there is no format {name!r} to import; {advice}")


def _title(path: Path, imported: "ImportResult") -> str:
    run = imported.run
    if run is None:
        return str(path)
    targets = len({result.trial.target for result in run.results})
    cases = sum(info.rows or 0 for info in run.datasets)
    return f"{path}: {count(len(run.results), 'result')} of {count(cases, 'case')} on {count(targets, 'target')}"
