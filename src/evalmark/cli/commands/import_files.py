"""`evalmark import`: read tests and results of other tools."""

import importlib
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from evalmark.cli.terminal.output import print_line, print_store_note, print_text, terminal_style
from evalmark.core.errors import ConfigError
from evalmark.core.text import count
from evalmark.interop.shared.import_options import ImportOptions
from evalmark.interop.shared.import_result import ImportedPart, ImportResult
from evalmark.reports.terminal.imports import import_screen
from evalmark.runs.execution.run_writer import save_runs
from evalmark.storage.store.store import open_store

from . import flags
from .imported_suites import Rewrite, write_suites

if TYPE_CHECKING:
    from evalmark.core.settings import Settings


class Importer(NamedTuple):
    """How a format is read."""

    function: str
    """`module:function` under `evalmark.interop`; it takes a path, and `ImportOptions` if there are options."""
    options: tuple[str, ...] = ()
    """The flags that the function uses."""


IMPORTERS: Mapping[str, Importer] = MappingProxyType(
    {
        "promptfoo": Importer("promptfoo.importer:import_promptfoo", ("--code", "--map-provider")),
        "openai-evals": Importer("openai_evals.importer:import_openai_evals", ("--code",)),
        "openai-registry": Importer("openai_evals.registry_importer:import_openai_registry", ("--eval",)),
        "github-models": Importer("github_models.importer:import_github_models"),
        "inspect": Importer("inspect_logs.importer:import_inspect"),
        "lm-eval": Importer("lm_eval:import_lm_eval"),
        "deepeval": Importer("deepeval:import_deepeval"),
        "ragas": Importer("exports:import_ragas"),
        "langsmith": Importer("exports:import_langsmith"),
        "braintrust": Importer("exports:import_braintrust"),
        "langfuse": Importer("exports:import_langfuse"),
        "phoenix": Importer("exports:import_phoenix"),
        "promptpex": Importer("promptpex.importer:import_promptpex"),
        "jsonl": Importer("jsonl:import_jsonl"),
    }
)
"""The importer of each format."""

Format = Annotated[
    str, typer.Argument(metavar="FORMAT", help=f"The tool that wrote the files: {', '.join(IMPORTERS)}.")
]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="DIR", help="Write the tests as suites, with IMPORT.md, into this folder."),
]
Code = Annotated[
    list[str] | None,
    typer.Option(
        "--code",
        metavar="FILE|all",
        help="A file of code that may run when the suite runs; `all`: all code that the files contain or name. Repeatable.",
    ),
]
MapProvider = Annotated[
    list[str] | None,
    typer.Option("--map-provider", metavar="OLD=NEW", help="promptfoo: the model for a provider. Repeatable."),
]
EvalName = Annotated[str | None, typer.Option("--eval", metavar="NAME", help="openai-registry: import this eval only.")]
Partial = Annotated[
    bool,
    typer.Option("--partial", help="Write the suite even if parts of the tests cannot be imported."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files in DIR.")]
Update = Annotated[
    bool, typer.Option("--update", help="Replace an earlier import in DIR, unless its files were edited since.")
]
Paths = Annotated[list[Path], typer.Argument(metavar="PATH", help="Files or folders to read.")]


def add(app: typer.Typer) -> None:
    """Add the verbs to the program."""
    app.command("import")(import_files)


def import_files(  # noqa: PLR0913  one parameter a flag
    format: Format,  # noqa: A002  as the argument, and so its help
    paths: Paths,
    output: Output = None,
    code: Code = None,
    map_provider: MapProvider = None,
    eval_name: EvalName = None,
    partial: Partial = False,
    force: Force = False,
    update: Update = False,
    store: flags.Store = None,
) -> None:
    """Import the files of another tool: store its results as runs, and list what was imported and what was not.

    With -o, also write the tests as suites that `evalmark validate` accepts, and what became of each part of the files
    as IMPORT.md. All paths are read before anything is stored or written, and either all runs are stored or none. If
    a part of the tests cannot be imported, nothing is written, unless --partial is given. No code in the files runs
    unless --code names it.
    """
    given = {"--code": code, "--map-provider": map_provider, "--eval": eval_name}
    options = ImportOptions(
        code=tuple(code or ()), providers=_provider_map(map_provider or []), eval_name=eval_name or ""
    )
    read = _reader(format, [flag for flag, value in given.items() if value], options)
    if output is not None and len(paths) > 1:
        raise ConfigError("-o takes the suite of one PATH; import each of them by itself.")
    if (force or update) and output is None:
        raise ConfigError(f"{'--force' if force else '--update'} needs the folder to write to: -o DIR")
    if force and update:
        raise ConfigError("--force overwrites edited files, and --update keeps them; name one of the two.")
    settings = flags.settings(store=store)
    imports = [(path, read(path)) for path in paths]
    for path, imported in imports:
        _check_output(path, imported, output)
    if output is not None:
        [(path, imported)] = imports
        rewrite: Rewrite = "force" if force else "update" if update else "refuse"
        _write(path, imported, output, _Writing(format, partial, rewrite, settings))
    _store(imports, settings)


def _store(imports: list[tuple[Path, ImportResult]], settings: "Settings") -> None:
    """Store the runs, and print what became of each part."""
    if not any(imported.run is not None for _, imported in imports):
        for path, imported in imports:
            _print_parts(path, imported)
        return
    with open_store(settings.store, notes=print_store_note) as run_store:
        runs = iter(save_runs([imported.run for _, imported in imports if imported.run is not None], run_store))
        for path, imported in imports:
            _print_parts(path, imported)
            if imported.run is not None:
                run = next(runs)
                print_line(f"  Stored as {run.id}; show it with: evalmark show {run.id} --overview")


def _print_parts(path: Path, imported: ImportResult) -> None:
    folder = f"{path if path.is_dir() else path.parent}/"  # the title names the folder
    parts = [(part.outcome, _alike(part).removeprefix(folder), part.to) for part in imported.parts]
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


def _alike(part: ImportedPart) -> str:
    return f"{part.name} and {len(part.others):,} more" if part.others else part.name


class _Writing(NamedTuple):
    """How suites are written."""

    format: str
    partial: bool
    """Whether parts may be left out."""
    rewrite: Rewrite
    settings: "Settings"


def _write(path: Path, imported: ImportResult, output: Path, how: _Writing) -> None:
    """Write the suites into a folder."""
    if imported.dropped and not how.partial:
        _print_parts(path, imported)
        names = count(sum(part.number for part in imported.dropped), "part")
        raise ConfigError(
            f"{path}: nothing is imported, because the suite would test something else: {names} cannot be imported "
            '("left out" above). Change them in the file, or accept the suite without them: --partial'
        )
    try:
        files = write_suites(imported, output, how.rewrite, source=(how.format, str(path)), settings=how.settings)
    except ConfigError:
        _print_parts(path, imported)
        raise
    print_line(f"{output}: {', '.join(sorted(files))}")


def _provider_map(pairs: list[str]) -> dict[str, str]:
    providers: dict[str, str] = {}
    for pair in pairs:
        old, sign, new = pair.rpartition("=")
        if not (sign and old.strip() and new.strip()):
            raise ConfigError(f"--map-provider {pair!r}: write OLD=NEW, such as openai:chat:gpt-4o=openai/gpt-4o")
        providers[old.strip()] = new.strip()
    return providers


def _reader(name: str, given: list[str], options: ImportOptions) -> Callable[[Path], ImportResult]:
    if name not in IMPORTERS:
        close = get_close_matches(name, IMPORTERS, n=1)
        advice = f"did you mean {close[0]}?" if close else f"it is one of {', '.join(IMPORTERS)}."
        raise ConfigError(f"there is no format {name!r} to import; {advice}")
    importer = IMPORTERS[name]
    for flag in given:
        if flag not in importer.options:
            takers = " and ".join(other for other, row in IMPORTERS.items() if flag in row.options)
            raise ConfigError(f"{flag} is for {takers}; leave it out for {name}.")
    module, _, function = importer.function.partition(":")
    read = getattr(importlib.import_module(f"evalmark.interop.{module}"), function)
    return (lambda path: read(path, options)) if importer.options else read


def _title(path: Path, imported: "ImportResult") -> str:
    run = imported.run
    if run is None:
        return str(path)
    targets = len({result.trial.target for result in run.results})
    cases = sum(info.rows or 0 for info in run.datasets)
    return f"{path}: {count(len(run.results), 'result')} of {count(cases, 'case')} on {count(targets, 'target')}"
