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
from evalmark.interop.shared.import_result import ORIGIN, ImportedPart, ImportResult
from evalmark.reports.terminal.imports import import_screen
from evalmark.runs.execution.run_writer import save_runs
from evalmark.storage.store.store import Store, open_store

from . import flags
from .imported_suites import Rewrite, write_suites
from .imported_traces import FORMAT as TRACES
from .imported_traces import import_traces

if TYPE_CHECKING:
    from evalmark.core.settings import Settings
    from evalmark.core.values.run import Run


class Importer(NamedTuple):
    """How a format is read."""

    function: str
    """`module:function` under `evalmark.interop`; it takes a path, and `ImportOptions` if there are options."""
    options: tuple[str, ...] = ()
    """The flags that the function uses."""


IMPORTERS: Mapping[str, Importer] = MappingProxyType(
    {
        "promptfoo": Importer("promptfoo.importer:import_promptfoo", ("--code", "--map-provider")),
        "openai-evals": Importer("openai_evals.importer:import_openai_evals", ("--code", "--from-api", "--base-url")),
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
        "pydantic-evals": Importer("pydantic_evals:import_pydantic_evals"),
        "hf": Importer("hugging_face:import_hugging_face"),
        "promptpex": Importer("promptpex.importer:import_promptpex"),
        "jsonl": Importer("jsonl:import_jsonl"),
    }
)
"""The importer of each format that becomes suites and runs."""
FORMATS = (*IMPORTERS, TRACES)

Format = Annotated[str, typer.Argument(metavar="FORMAT", help=f"The tool that wrote the files: {', '.join(FORMATS)}.")]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="DIR", help="Write the tests as suites, with IMPORT.md, into this folder."),
]
Code = Annotated[
    list[str] | None,
    typer.Option(
        "--code",
        metavar="FILE|all",
        help="A file of code that may run when the suite is checked and runs; `all`: all code that the files contain or name. Repeatable.",
    ),
]
MapProvider = Annotated[
    list[str] | None,
    typer.Option("--map-provider", metavar="OLD=NEW", help="promptfoo: the model for a provider. Repeatable."),
]
EvalName = Annotated[str | None, typer.Option("--eval", metavar="NAME", help="openai-registry: import this eval only.")]
FromApi = Annotated[
    bool,
    typer.Option("--from-api", help="openai-evals: first download all evals of the account into the folder PATH."),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url", metavar="URL", help="Where --from-api downloads: OpenAI, or an Azure resource or project."
    ),
]
Project = Annotated[
    str | None,
    typer.Option(
        "--project", metavar="NAME", help="otlp: the project of the sessions [default: the name of the file]."
    ),
]
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
    from_api: FromApi = False,
    base_url: BaseUrl = None,
    project: Project = None,
    partial: Partial = False,
    force: Force = False,
    update: Update = False,
    store: flags.Store = None,
) -> None:
    """Import the files of another tool: store its results as runs, and list what was imported and what was not.

    Traces of OpenTelemetry (otlp) become recorded sessions. With -o, also write the tests as suites that `evalmark
    validate` accepts, with IMPORT.md, which lists what became of each part of the files. All paths are read before
    anything is stored or written, and either all runs are stored or none. If a part of the tests cannot be imported,
    nothing is written, unless --partial is given. No code in the files runs unless --code names it.
    """
    given = {
        "--code": code,
        "--map-provider": map_provider,
        "--eval": eval_name,
        "--from-api": from_api,
        "--base-url": base_url,
    }
    if format == TRACES:
        writes = {"-o": output, "--partial": partial, "--force": force, "--update": update}
        unfit = [flag for flag, value in {**given, **writes}.items() if value]
        import_traces(paths, project, flags.settings(store=store), flags=unfit)
        return
    if project:
        raise ConfigError(f"--project is for {TRACES}; leave it out for {format}.")
    options = ImportOptions(
        code=tuple(code or ()), providers=_provider_map(map_provider or []), eval_name=eval_name or ""
    )
    read = _reader(format, [flag for flag, value in given.items() if value], options)
    rewrite = _rewrite(paths, output, force=force, update=update)
    if base_url and not from_api:
        raise ConfigError("--base-url says where --from-api downloads; add --from-api, or leave it out.")
    settings = flags.settings(store=store)
    if from_api:
        _download(paths, base_url, settings)
    imports = [(path, read(path)) for path in paths]
    for path, imported in imports:
        _check_output(path, imported, output)
    if output is not None:
        [(path, imported)] = imports
        _write(path, imported, output, _Writing(format, partial, rewrite, settings))
    _store(imports, settings)


def _rewrite(paths: list[Path], output: Path | None, *, force: bool, update: bool) -> Rewrite:
    """Return what happens to files that exist, once the flags fit each other."""
    if output is not None and len(paths) > 1:
        raise ConfigError("-o takes the suite of one PATH; import each of them by itself.")
    if (force or update) and output is None:
        raise ConfigError(f"{'--force' if force else '--update'} needs the folder to write to: -o DIR")
    if force and update:
        raise ConfigError("--force overwrites edited files, and --update keeps them; name one of the two.")
    return "force" if force else "update" if update else "refuse"


def _store(imports: list[tuple[Path, ImportResult]], settings: "Settings") -> None:
    """Store the runs, and print what became of each part."""
    if not any(imported.every_run for _, imported in imports):
        for path, imported in imports:
            _print_parts(path, imported)
        return
    with open_store(settings.store, notes=print_store_note) as run_store:
        stored = _stored_before(run_store) if any(imported.runs for _, imported in imports) else {}
        new = [run for _, imported in imports for run in imported.every_run if _origin(run) not in stored]
        saved = iter(save_runs(new, run_store))
        for path, imported in imports:
            _print_parts(path, imported)
            for run in imported.every_run:
                before = stored.get(_origin(run))
                origin = f" ({_origin(run)[1].rstrip('.')})" if imported.runs and _origin(run)[1] else ""
                action = f"Stored before as {before}" if before else f"Stored as {(before := next(saved).id)}"
                print_line(f"  {action}{origin}; show it with: evalmark show {before} --overview")


def _origin(run: "Run") -> tuple[str, str]:
    """Return the suite of a run, and the note on where it was imported from; empty if there is none."""
    return run.name, next((note for note in run.notes if note.startswith(ORIGIN)), "")


def _stored_before(run_store: "Store") -> dict[tuple[str, str], str]:
    """Return the ids of the runs that an earlier import stored, by their origin."""
    return {origin: run.id for run in run_store.runs() if (origin := _origin(run))[1]}


def _download(paths: list[Path], base_url: str | None, settings: "Settings") -> None:
    """Download the evals of an account into a folder."""
    if len(paths) > 1 or (paths[0].exists() and not paths[0].is_dir()):
        raise ConfigError("--from-api downloads into one folder; name it as PATH.")
    download = importlib.import_module("evalmark.interop.openai_evals.download")
    asyncio = importlib.import_module("asyncio")
    found = asyncio.run(download.download_account(paths[0], base_url, settings, print_line))
    numbers = (count(found.runs, "run"), count(found.items, "output item"), count(found.files, "file"))
    print_line(f"{paths[0]}: {count(found.evals, 'eval')} with {', '.join(numbers)}.")


def _print_parts(path: Path, imported: ImportResult) -> None:
    folder = f"{path if path.is_dir() else path.parent}/"  # the title names the folder
    parts = [(part.outcome, _alike(part).removeprefix(folder), part.to) for part in imported.parts]
    print_text(import_screen(_title(path, imported), parts, imported.remarks, terminal_style()))


def _check_output(path: Path, imported: "ImportResult", output: Path | None) -> None:
    """Refuse an import that has nothing to store or write, or no folder to write to."""
    if not imported.every_run and not imported.files and imported.dropped:
        _print_parts(path, imported)
        raise ConfigError(f'{path}: none of its tests can be imported (see "left out" above).')
    if not imported.every_run and not imported.files:
        raise ConfigError(
            f"{path}: contains neither tests nor results, so there is nothing to import. A prompt alone needs no import: "
            "evalmark generate makes tests for a .prompty or .prompt.yml file, and evalmark run sends it to a model."
        )
    if output is None:
        if not imported.every_run:
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
    if imported.lacks_target:
        _print_parts(path, imported)
        raise ConfigError(f"{path}: nothing is imported, because {imported.lacks_target}")
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
        close = get_close_matches(name, FORMATS, n=1)
        advice = f"did you mean {close[0]}?" if close else f"it is one of {', '.join(FORMATS)}."
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
    runs = imported.every_run
    if not runs:
        return str(path)
    results = [result for run in runs for result in run.results]
    targets = len({result.trial.target for result in results})
    cases = len({(run.name, result.trial.dataset, result.trial.case.id) for run in runs for result in run.results})
    if imported.run is not None:
        cases = sum(info.rows or 0 for info in imported.run.datasets)
    of_runs = f" in {count(len(runs), 'run')}" if len(runs) > 1 else ""
    return f"{path}: {count(len(results), 'result')}{of_runs} of {count(cases, 'case')} on {count(targets, 'target')}"
