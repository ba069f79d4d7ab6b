"""`evalmark doctor`: check the installation."""

import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import typer

from evalmark.cli.terminal.output import print_line, print_text, terminal_style
from evalmark.core.errors import EvalmarkError
from evalmark.core.lazy import LazyModule
from evalmark.core.settings import Settings
from evalmark.core.text import clean, count
from evalmark.models.embeddings.model_cache import local_models
from evalmark.storage.store.location import display_location, store_exists
from evalmark.storage.store.store import open_store

from . import flags

if TYPE_CHECKING:
    from evalmark.reports.terminal import console
else:
    console = LazyModule("evalmark.reports.terminal.console")

PARTS = (
    *(
        "evalmark",
        "aiohappyeyeballs",
        "aiohttp",
        "apsw",
        "genai-prices",
        "httptools",
        "jinja2",
        "jsonschema",
        "markdown-it-py",
    ),
    *("msgspec", "numpy", "onnxruntime", "pydantic", "python-dotenv"),
    *("python-jsonpath", "pyyaml", "rapidfuzz", "referencing", "regex"),
    *("rich", "scipy", "sentencex", "starlette", "tokenizers", "typer", "uvicorn"),
)
"""The required packages, in the order of `evalmark doctor`."""


def add(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command(epilog=flags.exit_codes({0: "everything works", 1: "a check failed"}))(doctor)


def doctor(store: flags.Store = None) -> None:
    """Check the installation: package versions, the store, and the local models."""
    findings = list(check_installation(flags.settings(store=store)))
    rows = ((f"{'ok ' if finding.ok else 'BAD'}  {finding.name}", clean(finding.message)) for finding in findings)
    bad = sum(not finding.ok for finding in findings)
    print_text(console.render([console.FieldList(rows, style="")], terminal_style()))
    print_line(f"  {count(bad, 'check')} failed." if bad else "  Everything works.")
    raise typer.Exit(1 if bad else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationCheck:
    """One line of `evalmark doctor`."""

    name: str
    message: str
    ok: bool = True


def own_version() -> str:
    """Return the text of `evalmark --version`."""
    return f"evalmark {version('evalmark')}, Python {platform.python_version()}"


def check_installation(settings: Settings) -> Iterator[InstallationCheck]:
    """Check package versions, the store and the local models; download and change nothing."""
    yield InstallationCheck(
        name="python", message=f"{platform.python_version()} on {platform.platform(terse=True)}, {sys.executable}"
    )
    installed = []
    for part in PARTS:
        try:
            installed.append(f"{part} {version(part)}")
        except PackageNotFoundError:
            yield InstallationCheck(name=part, message="not installed", ok=False)
    yield InstallationCheck(name="packages", message=", ".join(installed))
    yield from _store(settings)
    yield from _models(settings)


def _store(settings: Settings) -> Iterator[InstallationCheck]:
    path = display_location(settings.store)
    try:
        if not store_exists(settings.store):
            yield InstallationCheck(name="store", message=f"{path}: does not exist yet; the first run creates it")
            return
        with open_store(settings.store, read_only=True) as opened:
            health = opened.check()
    except EvalmarkError as error:
        yield InstallationCheck(name="store", message=str(error), ok=False)
        return
    counts = (
        (health.runs, "run"),
        (health.results, "result"),
        (health.vectors, "vector"),
        (health.calls, "call"),
        (health.tool_calls, "tool call"),
        *([(health.size, "byte")] if health.sqlite else []),
    )
    contents = ", ".join(count(number, noun) for number, noun in counts)
    kind = f"SQLite {health.sqlite}, journal {health.journal_mode}" if health.sqlite else "PostgreSQL"
    yield InstallationCheck(name="store", message=f"{path}: {contents}; {kind}")
    yield from (InstallationCheck(name="store", message=problem, ok=False) for problem in health.problems)
    yield from (InstallationCheck(name="store", message=warning) for warning in health.warnings)


def _models(settings: Settings) -> Iterator[InstallationCheck]:
    for model in local_models(settings):
        yield InstallationCheck(name="model", message=model.line, ok=not model.fault)
