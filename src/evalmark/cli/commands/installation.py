"""Checks of the installation, for `evalmark doctor` and `evalmark --version`."""

import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from evalmark.core.errors import EvalmarkError
from evalmark.core.settings import Settings
from evalmark.core.text import count
from evalmark.models.embeddings.model_cache import local_models
from evalmark.storage.store.location import display_location, store_exists
from evalmark.storage.store.store import open_store

PARTS = (
    *("evalmark", "aiohttp", "apsw", "genai-prices", "jinja2", "jsonschema", "numpy", "onnxruntime"),
    *("pydantic", "pyyaml", "rapidfuzz", "referencing", "regex", "rich", "scipy", "sentencex", "tokenizers", "typer"),
)
"""The required packages, in the order of `evalmark doctor`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationCheck:
    """One line of `evalmark doctor`."""

    what: str
    says: str
    well: bool = True


def own_version() -> str:
    """Return the text of `evalmark --version`."""
    return f"evalmark {version('evalmark')}, Python {platform.python_version()}"


def check_installation(settings: Settings) -> Iterator[InstallationCheck]:
    """Check package versions, the store and the local models; download and change nothing."""
    yield InstallationCheck(
        what="python", says=f"{platform.python_version()} on {platform.platform(terse=True)}, {sys.executable}"
    )
    for part in PARTS:
        try:
            yield InstallationCheck(what=part, says=version(part))
        except PackageNotFoundError:
            yield InstallationCheck(what=part, says="not installed", well=False)
    yield from _store(settings)
    yield from _models(settings)


def _store(settings: Settings) -> Iterator[InstallationCheck]:
    path = display_location(settings.store)
    try:
        if not store_exists(settings.store):
            yield InstallationCheck(what="store", says=f"{path}: does not exist yet; the first run creates it")
            return
        with open_store(settings.store, read_only=True) as opened:
            health = opened.check()
    except EvalmarkError as error:
        yield InstallationCheck(what="store", says=str(error), well=False)
        return
    kept = (
        (health.runs, "run"),
        (health.results, "result"),
        (health.vectors, "vector"),
        (health.calls, "call"),
        (health.tool_calls, "tool call"),
        *([(health.size, "byte")] if health.sqlite else []),
    )
    held = ", ".join(count(number, noun) for number, noun in kept)
    kind = f"SQLite {health.sqlite}, journal {health.journal_mode}" if health.sqlite else "PostgreSQL"
    yield InstallationCheck(what="store", says=f"{path}: {held}; {kind}")
    yield from (InstallationCheck(what="store", says=problem, well=False) for problem in health.problems)
    yield from (InstallationCheck(what="store", says=warning) for warning in health.warnings)


def _models(settings: Settings) -> Iterator[InstallationCheck]:
    for model in local_models(settings):
        yield InstallationCheck(what="model", says=model.line, well=not model.fault)
