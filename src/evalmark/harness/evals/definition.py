"""`describe_eval`: a table of cases, a task and its scorers, as a test."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike, path
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack

from evalmark.core.errors import ConfigError
from evalmark.core.lazy import need

from .thresholds import UNSET, Threshold

if TYPE_CHECKING:  # a suite that leaves its evals out loads nothing that would run them
    from evalmark.core.protocols import ChatModel
    from evalmark.core.values.run import Gate, Run
    from evalmark.runs.planning.judges import ScorerLike

    from .rows import Data

REGISTRY = "__evalmark__"
"""The name under which a module holds the evals that it describes."""
DEFAULT_TIMEOUT = 60.0
"""Seconds that a task gets for one case, where nobody says otherwise."""
Judges: TypeAlias = "str | ChatModel | Sequence[str | ChatModel]"


class EvalOptions(TypedDict, total=False):
    """What `describe_eval` takes besides name, data and task."""

    scorers: "Sequence[ScorerLike]"
    """What judges the outputs, at least one: names, `{name: settings}`, functions, objects."""
    scorer: "ScorerLike"
    """The only scorer, in the place of `scorers`."""
    threshold: Threshold
    """What each score has to reach: for all scorers, or `{name: number}`; None: nothing can fail."""
    judge: Judges
    """Who judges, for scorers that ask a chat model; else EVALMARK_JUDGE."""
    embeddings: str | Callable[..., Any]
    """The embedding model, for scorers that need one; else the one in the settings."""
    repeat: int
    """How often each case is answered; 1 unless said otherwise."""
    timeout: float | None
    """Seconds a case may take, 60 unless said otherwise; None: as long as it wants."""
    skip_if: bool
    """Whether to leave the whole eval out, which says so."""


@dataclass(frozen=True, kw_only=True)
class Eval:
    """An eval as it was described; nothing of it has run."""

    name: str
    data: "Data"
    task: Any
    scorers: "tuple[ScorerLike, ...]"
    threshold: Threshold = UNSET
    judge: "Judges | None" = None
    embeddings: str | Callable[..., Any] | None = None
    repeat: int = 1
    timeout: float | None = DEFAULT_TIMEOUT
    skip_if: bool = False
    file: str = ""
    """Where it is described; empty when that is unknown."""
    line: int = 0

    @property
    def place(self) -> str:
        """`file:line`, as messages say it; the name where that is unknown."""
        return f"{short_path(self.file)}:{self.line}" if self.file else self.name

    def run(
        self, store: str | PathLike[str] | Literal["settings"] | None = "settings", gate: "Gate | None" = None
    ) -> "Run":
        """Run all cases now, and give everything that was found; also inside a running loop.

        The run is kept in the store of the settings, in another file, or with None in memory only. Where `skip_if` is true
        no case is run: the run is empty, says so in its notes, and is not kept.

        Raises:
            ConfigError: something of the eval cannot be used; nothing was started.
            StoreError: the store cannot be used.
        """
        found: Run = need("evalmark.harness.evals.running").run_eval(self, store, gate)
        return found


def describe_eval(name: str, data: "Data", task: Any, **options: Unpack[EvalOptions]) -> Eval:
    """Describe an eval: pytest makes a test of each of its cases, and `.run()` runs it anywhere else.

    `data` is a list of cases, an iterator, the path of a dataset, or a sync or async function that gives one of these.
    The `task` gets the input of a case and gives an answer: text, JSON or an `Output`; sync or async. By name it takes
    `scorers` (or `scorer`), `threshold`, `judge`, `embeddings`, `repeat`, `timeout` and `skip_if`. Stands at the top of a
    module.

    Raises:
        ConfigError: an option is unknown or of the wrong kind, or no scorer is named.
    """
    __tracebackhide__ = True
    unknown = sorted(set(options) - set(EvalOptions.__annotations__))
    if unknown:
        known = ", ".join(EvalOptions.__annotations__)
        raise ConfigError(f"describe_eval({name!r}) has no option {unknown[0]!r}; it knows {known}.")
    frame = _module_frame(sys._getframe(1))
    file, line = ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
    given: dict[str, Any] = {key: value for key, value in options.items() if key not in ("scorers", "scorer")}
    described = Eval(name=name, data=data, task=task, scorers=(), file=file, line=line, **given)
    described = replace(described, scorers=_scorers(described, options))
    _check(described)
    if frame is not None:
        _register(described, frame)
    return described


def evals_in(module: Any) -> Sequence[Eval]:
    """The evals that a module describes, in order."""
    found: Sequence[Eval] = getattr(module, REGISTRY, ())
    return found


def _scorers(described: Eval, options: EvalOptions) -> "tuple[ScorerLike, ...]":
    __tracebackhide__ = True
    one, several = options.get("scorer"), options.get("scorers")
    if one is not None and several is not None:
        raise ConfigError(f"{described.place}: {described.name!r} has both `scorer` and `scorers`; leave one out.")
    found = several if one is None else [one]
    if isinstance(found, str) or callable(found):
        found = [found]
    if not isinstance(found, Sequence) or not found:
        raise ConfigError(
            f"{described.place}: {described.name!r} has no scorers, so nothing would be judged; name at least one: scorers=[…]."
        )
    return tuple(found)


def _check(described: Eval) -> None:
    """Raise ConfigError for what can be seen to be wrong without running anything."""
    __tracebackhide__ = True
    where = described.place
    if not isinstance(described.name, str) or not described.name.strip():
        raise ConfigError(f"{where}: an eval needs a name; found {described.name!r}.")
    if isinstance(described.repeat, bool) or not isinstance(described.repeat, int) or described.repeat < 1:
        raise ConfigError(f"{where}: repeat has to be a whole number of at least 1; found {described.repeat!r}.")
    limit = described.timeout
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, float)) or not limit > 0):
        raise ConfigError(f"{where}: timeout is a number of seconds above 0, or None; found {limit!r}.")


def _register(described: Eval, frame: FrameType) -> None:
    # The module's own list: no state of evalmark's, and gone with the module.
    evals: list[Eval] = frame.f_globals.setdefault(REGISTRY, [])
    evals.append(described)


def _module_frame(frame: FrameType | None) -> FrameType | None:
    """The module whose body is being run: the one that describes the eval, also where a function of another one helps."""
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return frame


def short_path(file: str) -> str:
    """The path from here, where the file lies below."""
    try:
        near = path.relpath(file)
    except ValueError:  # another drive
        return file
    return file if near.startswith("..") else near
