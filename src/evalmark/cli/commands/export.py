"""`evalmark export`: write a stored run in the format of another tool, and optionally send it to an evals API."""

import json
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from os import environ
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer

from evalmark.cli.terminal.output import print_error, print_line, print_store_note
from evalmark.core.errors import ConfigError
from evalmark.core.lazy import need
from evalmark.core.text import count
from evalmark.inputs.documents.atomic_write import write_atomically
from evalmark.inputs.suites.suite import SESSIONS_PREFIX
from evalmark.interop import otel
from evalmark.interop.deepeval_exporter import to_deepeval
from evalmark.interop.github_models.exporter import to_github_models
from evalmark.interop.hugging_face_exporter import to_hugging_face
from evalmark.interop.inspect_logs.exporter import to_inspect
from evalmark.interop.openai_evals import client
from evalmark.interop.openai_evals.client import post_evals
from evalmark.interop.openai_evals.exporter import to_openai_evals
from evalmark.interop.openai_evals.registry_exporter import to_openai_registry
from evalmark.interop.promptfoo.exporter import to_promptfoo_files
from evalmark.interop.shared.export_run import ExportResult, ExportRun
from evalmark.interop.shared.run_files import export_run_of
from evalmark.models.providers.addresses import validate_address
from evalmark.models.providers.endpoint import Endpoint
from evalmark.models.providers.http import HttpClient
from evalmark.reports.files.run_csv import as_csv
from evalmark.reports.files.run_json import as_jsonl
from evalmark.runs.execution.recorded_cases import as_row, recorded_cases
from evalmark.storage.store.store import open_store

from . import flags
from .imported_suites import write_new
from .runs import RunReference

if TYPE_CHECKING:
    from evalmark.core.settings import Settings
    from evalmark.core.values.run import Run

Writer = Callable[["ExportRun"], "ExportResult"]


def _lines(export_run: "ExportRun") -> "ExportResult":
    return ExportResult(files={"run.jsonl": "".join(as_jsonl(export_run.run))})


def _spreadsheet(export_run: "ExportRun") -> "ExportResult":
    """Write a table that spreadsheet programs open as UTF-8: they need the mark at its beginning."""
    return ExportResult(files={"run.csv": "\ufeff" + "".join(as_csv(export_run.run))})


EXPORTERS: Mapping[str, Writer] = MappingProxyType(
    {
        "openai-evals": to_openai_evals,
        "openai-registry": to_openai_registry,
        "github-models": to_github_models,
        "promptfoo": to_promptfoo_files,
        "inspect": to_inspect,
        "deepeval": to_deepeval,
        "otel": otel.to_otel,
        "hf": to_hugging_face,
        "csv": _spreadsheet,
        "jsonl": _lines,
    }
)
"""The exporter of each format."""

PASS_OR_FAIL_FORMATS = ("github-models", "openai-evals")
"""Formats in which every result has passed or failed. In promptfoo's, a test without assertions passes."""

SENT = ("openai-evals", "otel")
"""Formats that can be sent to a service."""

To = Annotated[
    str, typer.Option("--to", metavar="FORMAT", help=f"The format: {', '.join(EXPORTERS)}; required for a run.")
]
Output = Annotated[
    Path, typer.Option("-o", "--output", metavar="DIR", help="The folder to write to; for sessions, the .jsonl file.")
]
Suite = Annotated[
    Path | None,
    typer.Option("--suite", metavar="FILE", help="The suite that defines the metrics [default: that of the run]."),
]
Create = Annotated[
    bool,
    typer.Option(
        "--create", help="Also send the export: openai-evals to the service, otel to the endpoint of --base-url."
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        metavar="URL",
        help="Where --create sends: OpenAI, an Azure resource or project; for otel an OTLP endpoint.",
    ),
]


def add(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command()(export)


def export(  # noqa: PLR0913  each is a flag of the command line
    output: Output,
    run: RunReference = "last",
    to: To = "",
    suite: Suite = None,
    create: Create = False,
    base_url: BaseUrl = None,
    store: flags.Store = None,
) -> None:
    """Export a run to the format of another tool: its cases, its results and its metrics.

    `sessions:PROJECT` instead of a run writes the labelled outputs of a recorded project as an evalmark dataset.
    Nothing is sent to a service, unless --create is given.
    """
    if run.startswith(SESSIONS_PREFIX):
        if to or suite or create or base_url:
            raise ConfigError(f"{run} can only be combined with -o and --store.")
        _write_cases(run.removeprefix(SESSIONS_PREFIX), output, flags.settings(store=store))
        return
    write = _exporter(to)
    _check_sending(to, base_url, create=create)
    service = client.evals_endpoint(environ, base_url) if create and to == "openai-evals" else None
    settings = flags.settings(store=store)
    with open_store(settings.store, read_only=True, notes=print_store_note) as run_store:
        exported = write(export_run_of(_scored(run_store.run(run), to), suite))
    write_new(output, exported.files)
    for name in exported.files:
        print_line(f"{output / name}")
    for remark in exported.remarks:
        print_error(f"{remark}\n")
    if service is not None:
        need("asyncio").run(_create(exported.files, service, settings))
    elif create and base_url:
        need("asyncio").run(_send(exported.files, base_url, settings))


def _check_sending(to: str, base_url: str | None, *, create: bool) -> None:
    """Refuse flags that do not fit, before anything is read or written."""
    if (create or base_url) and to not in SENT:
        raise ConfigError(f"--create and --base-url work only with --to {' and '.join(SENT)}; {to} writes files only.")
    if base_url and not create:
        raise ConfigError("--base-url says where --create sends; add --create, or leave it out.")
    if create and to == "otel":
        if not base_url:
            raise ConfigError("name the OTLP endpoint with --base-url, such as http://127.0.0.1:4318.")
        validate_address(base_url, "--base-url")


def _scored(run: "Run", to: str) -> "Run":
    """Return a run that a format can hold.

    Raises:
        ConfigError: the run has no metrics, and the format counts every result as passed or failed.
    """
    if to in PASS_OR_FAIL_FORMATS and not run.metrics:
        raise ConfigError(
            f"{run.id} has no metrics, and {to} calls every output passed or failed. "
            f"Score the outputs first: evalmark rescore {run.id} --metric NAME"
        )
    return run


def _write_cases(project: str, path: Path, settings: "Settings") -> None:
    """Write the labelled outputs of a project as JSON lines, and report what is left out."""
    if path.suffix.lower() not in (".jsonl", ".ndjson"):
        raise ConfigError(f"{path}: the cases are written as JSON lines; name a file that ends in .jsonl.")
    cases = list(recorded_cases(project, settings, lambda note: print_error(f"{note}\n")))
    write_atomically(path, (json.dumps(as_row(case)) + "\n" for case in cases))
    print_line(f"{path}: {count(len(cases), 'case')}")


async def _create(files: Mapping[str, str], service: "Endpoint", settings: "Settings") -> None:
    runs = {name: json.loads(text) for name, text in files.items() if name.startswith("run.")}
    http = HttpClient(environ, settings.http_library)
    try:
        body = json.loads(files["eval.json"])
        posted = await post_evals(body, runs, service, http, settings.call_timeout)
    finally:
        await http.close()
    print_line(f"Created {posted.eval_id} at {service.host}, with {count(len(posted.runs), 'run')}:")
    for name, made in posted.runs.items():
        print_line(f"  {made}  {name}")


async def _send(files: Mapping[str, str], base_url: str, settings: "Settings") -> None:
    http = HttpClient(environ, settings.http_library)
    try:
        sent = await otel.send_to_otel(files, base_url, environ, http, settings.call_timeout)
    finally:
        await http.close()
    print_line(f"Sent {count(sent, 'request')} to {base_url}")


def _exporter(name: str) -> Writer:
    if name in EXPORTERS:
        return EXPORTERS[name]
    if not name:
        raise ConfigError(f"name the format with --to: {', '.join(EXPORTERS)}.")
    close = get_close_matches(name, EXPORTERS, n=1)
    advice = f"did you mean {close[0]}?" if close else f"it is one of {', '.join(EXPORTERS)}."
    raise ConfigError(f"--to does not support {name!r}; {advice}")
