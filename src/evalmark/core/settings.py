"""The settings of a run, merged from flags, EVALMARK_* variables and [tool.evalmark]."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from evalmark.core.embedding_modes import EMBEDDING_DEVICES, EMBEDDING_MODES, EmbeddingDevice, EmbeddingMode
from evalmark.core.errors import ConfigError
from evalmark.core.lazy import LazyModule

if TYPE_CHECKING:
    import tomllib
else:
    tomllib = LazyModule("tomllib")

Replay = Literal["auto", "off", "record", "strict"]
HttpLibrary = Literal["builtin", "aiohttp"]
HTTP_LIBRARIES: tuple[HttpLibrary, ...] = get_args(HttpLibrary)
_PATHS = ("store", "cache_dir", "lock", "suites", "env_file")

MAX_JOBS = 10_000
"""The highest number of parallel trials that is accepted; a higher one is most likely a typing error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings that apply to every run. Precedence: flag, EVALMARK_* variable, [tool.evalmark], default."""

    store: str = field(default=".evalmark/evalmark.db", repr=False)
    """The SQLite file with all runs, relative to the working directory (in `[tool.evalmark]`: relative to that file),
    or the address of a PostgreSQL server, which may contain a password."""
    embeddings: str = "all-MiniLM-L6-v2"
    """The embedding model: a name, a local folder, or `module:attribute`."""
    embedding_mode: EmbeddingMode = "exact"
    """`exact` (fp32), `fast` (bf16 where the processor has it) or `int8` (8-bit integers)."""
    device: EmbeddingDevice = "cpu"
    """Where the local embedding model runs: `cpu`, or `gpu` (NVIDIA in mode `exact`, Intel in mode `fast`)."""
    jobs: int = 10
    """How many trials run in parallel (`-j`)."""
    timeout: float | None = None
    """The most seconds a trial may take; None: no limit."""
    cache_dir: str = ""
    """The folder for model weights; empty: the user's cache folder."""
    offline: bool = False
    """Whether to use only the weights on this machine and download none."""
    lock: str = ""
    """The file of learned thresholds (`evalmark calibrate`); empty: none; in `[tool.evalmark]` relative to that file."""
    judge: tuple[str, ...] = ()
    """The judge models, as `provider/model`; in a variable, separated by commas."""
    replay: Replay = "auto"
    """`auto`: use cached replies; `off`: never use them; `record`: send every request again and record the reply;
    `strict`: use only cached replies and send nothing."""
    max_cost: float | None = None
    """The most US dollars that the model calls of a run may cost; None: no limit."""
    max_calls: int | None = None
    """The most model calls that a run may send; None: no limit."""
    max_tokens: int | None = None
    """The most tokens, input and output, that the model calls of a run may use; None: no limit."""
    connections: int | None = None
    """The most parallel model calls to one endpoint; None: as many as `jobs`."""
    rpm: float | None = None
    """The most requests a minute to one endpoint; None: the limit that the endpoint reports."""
    tpm: float | None = None
    """The most tokens a minute to one endpoint; None: the limit that the endpoint reports."""
    call_timeout: float = 120.0
    """The most seconds that one attempt of a model call may take, from the first byte sent to the last one read."""
    http_library: HttpLibrary = "builtin"
    """What sends requests: `builtin`: a client of HTTP/1.1 that is part of evalmark, and aiohttp behind proxies;
    `aiohttp`: always aiohttp."""
    retries: int = 5
    """How often a call is sent again after a transient failure."""
    on: str = "local"
    """Where trials run: `local`: in this process; `ray`: in a new Ray instance on this machine; `ray:auto`: on the
    cluster that this machine belongs to; `ray://HOST:PORT`: on that cluster."""
    workers: int | None = None
    """The number of Ray workers; None: one for each processor of the cluster."""
    trust_cluster: bool = False
    """Whether to use a cluster that accepts work from anybody who knows its address."""
    allow_code: tuple[str, ...] = ()
    """Packages, in addition to the suite's own project, whose code a suite may name, and programs; in a variable, separated by commas."""
    env_file: str = ""
    """A file of environment variables, such as `.env`; empty: none. Variables that are set already win."""
    isolate: bool = False
    """Whether to run Python targets in worker processes, where a crash fails only its own case."""
    suites: tuple[str, ...] = ()
    """The suites, or folders of suites, of a command that names none; in a variable, separated by commas; in
    `[tool.evalmark]` relative to that file."""
    editor: str = ""
    """The form of the addresses with which the viewer opens files of this folder in an editor, such as
    `vscode://file/{path}:{line}`; empty: no such links."""
    models: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Named endpoints: the table `[tool.evalmark.models]`."""


def load_settings(environ: Mapping[str, str], folder: Path, flags: Mapping[str, Any] | None = None) -> Settings:
    """Read the settings of a command that runs in `folder`.

    Args:
        environ: the environment variables.
        folder: the folder from which `pyproject.toml` is searched, upwards.
        flags: the values from the command line; None values are ignored.

    Raises:
        ConfigError: a value is invalid, or `[tool.evalmark]` has an unknown key.
    """
    faults: list[str] = []
    found = _from_project(folder, faults)
    found |= _from_environment(environ, faults)
    found |= {
        name: value
        for name, given in (flags or {}).items()
        if given is not None and (value := _read(name, given, name.replace("_", "-"), faults)) is not None
    }
    if faults:
        raise ConfigError.of(faults)
    return replace(Settings(), **found)


def _from_project(folder: Path, faults: list[str]) -> dict[str, Any]:
    path = next((p for d in (folder, *folder.parents) if (p := d / "pyproject.toml").is_file()), None)
    if path is None:
        return {}
    try:
        tools = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        faults.append(f"{path}: cannot be read as TOML: {error}")
        return {}
    table = tools.get("evalmark", {}) if isinstance(tools, dict) else {}
    if not isinstance(table, dict):
        faults.append(f"{path}: tool.evalmark is {table!r}, not a table; write its settings under [tool.evalmark]")
        return {}
    known = {f.name for f in fields(Settings)}
    unknown = [key for key in table if key.replace("-", "_") not in known]
    if unknown:
        close = get_close_matches(unknown[0], known, n=1)
        advice = f"did you mean {close[0]!r}?" if close else f"it knows {', '.join(sorted(known))}."
        faults.append(f"{path}: [tool.evalmark] has no setting {unknown[0]!r}; {advice}")
    return {
        name: _resolved(path.parent, value) if name in _PATHS and path.parent != folder else value
        for key, text in table.items()
        if (name := key.replace("-", "_")) in known
        and (value := _read(name, text, f"{path}: [tool.evalmark] {key}", faults)) is not None
    }


def _resolved(folder: Path, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
    """Resolve the value of a setting that is a location or several; an empty one stays empty."""
    if isinstance(value, tuple):
        return tuple(resolve_location(folder, location) for location in value)
    return resolve_location(folder, value) if value else value


def resolve_location(folder: Path, location: str) -> str:
    """Resolve a file relative to a folder; return the address of a server unchanged.

    >>> resolve_location(Path("/home/ann"), "evals.db"), resolve_location(Path("/home/ann"), "postgresql://db/evals")
    ('/home/ann/evals.db', 'postgresql://db/evals')
    """
    return location if "://" in location else str(folder / location)


def _from_environment(environ: Mapping[str, str], faults: list[str]) -> dict[str, Any]:
    return {
        f.name: value
        for f in fields(Settings)
        if f.name != "models"
        and (text := environ.get(variable := f"EVALMARK_{f.name.upper()}"))
        and (value := _read(f.name, text, variable, faults)) is not None
    }


def _read(name: str, given: Any, location: str, faults: list[str]) -> Any:
    """Convert a value to its field's type; on failure, add a fault and return None."""
    kind = _KINDS.get(name, _TEXT)
    try:
        return kind.read(given)
    except (KeyError, OverflowError, TypeError, ValueError):
        faults.append(f"{location}: {given!r} is not {kind.expected}")
        return None


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError
    return given


def _jobs(given: Any) -> int:
    if isinstance(given, bool) or not 1 <= int(given) <= MAX_JOBS or int(given) != float(given):
        raise ValueError
    return int(given)


def _seconds(given: Any) -> float:
    if isinstance(given, bool) or not 0 < float(given) < float("inf"):
        raise ValueError
    return float(given)


def _names(given: Any) -> tuple[str, ...]:
    several = given.split(",") if isinstance(given, str) else given
    names = tuple(_text(name).strip() for name in several)
    if not all(names):
        raise ValueError
    return names


def _whole(given: Any) -> int:
    if isinstance(given, bool) or int(given) < 0 or int(given) != float(given):
        raise ValueError
    return int(given)


def _amount(given: Any) -> float:
    if isinstance(given, bool) or not 0 <= float(given) < float("inf"):
        raise ValueError
    return float(given)


def _address_form(given: Any) -> str:
    scheme, _, rest = _text(given).partition(":")
    if given and (
        not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme) or scheme.lower() in _NO_EDITOR or "{path}" not in rest
    ):
        raise ValueError
    return str(given)


def _table(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, dict):
        raise TypeError
    return given


def _truth(given: Any) -> bool:
    return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}[str(given).lower()]


class _Kind(NamedTuple):
    """A kind of setting."""

    read: Callable[[Any], Any]
    expected: str
    """Continues the message `… is not`."""


def _one_of(words: tuple[str, ...]) -> _Kind:
    return _Kind(lambda given: words[words.index(given)], f"one of {', '.join(words)}")


_NO_EDITOR = ("javascript", "data", "vbscript")
"""Schemes whose addresses a browser runs."""
_TEXT = _Kind(_text, "a text")
_SWITCH = _Kind(_truth, "true or false")
_PARALLEL = _Kind(_jobs, f"a whole number from 1 to {MAX_JOBS:,}")
_COUNT = _Kind(_whole, "a whole number, 0 or more")
_DURATION = _Kind(_seconds, "a number of seconds above 0")
_RATE = _Kind(_seconds, "a number above 0")
_KINDS: Mapping[str, _Kind] = {
    "embedding_mode": _one_of(EMBEDDING_MODES),
    "device": _one_of(EMBEDDING_DEVICES),
    "jobs": _PARALLEL,
    "timeout": _DURATION,
    "offline": _SWITCH,
    "judge": _Kind(_names, "the name of a model, or several separated by commas"),
    "replay": _one_of(get_args(Replay)),
    "max_cost": _Kind(_amount, "a number of dollars, 0 or more"),
    "max_calls": _COUNT,
    "max_tokens": _COUNT,
    "connections": _PARALLEL,
    "rpm": _RATE,
    "tpm": _RATE,
    "call_timeout": _DURATION,
    "http_library": _one_of(HTTP_LIBRARIES),
    "retries": _COUNT,
    "workers": _PARALLEL,
    "trust_cluster": _SWITCH,
    "allow_code": _Kind(_names, "the name of a package, or several separated by commas"),
    "suites": _Kind(_names, "a file or folder, or several separated by commas"),
    "isolate": _SWITCH,
    "editor": _Kind(_address_form, "an address with {path}, such as vscode://file/{path}:{line}"),
    "models": _Kind(_table, "a table of named endpoints"),
}
"""The kinds of settings that are not texts."""
