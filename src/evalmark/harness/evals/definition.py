"""`describe_eval`: defines a table of cases, a task and its scorers as a test."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, Unpack

from evalmark.core.errors import ConfigError
from evalmark.core.lazy import need

from .eval_spec import EvalSpec, ExpectOptions, check_options

if TYPE_CHECKING:  # a suite that skips its evals loads nothing that would run them
    from evalmark.core.values.run import Gate, Run
    from evalmark.runs.planning.judges import ScorerLike

    from .rows import Data

REGISTRY = "__evalmark__"
"""The module attribute that holds the evals of a module."""


class EvalOptions(ExpectOptions, total=False):
    """Options of `describe_eval` besides name, data and task."""

    scorers: "Sequence[ScorerLike]"
    """One scorer or more: names, `{name: settings}`, functions, objects."""
    scorer: "ScorerLike"
    """A single scorer, instead of `scorers`."""
    repeat: int
    """Times each case is run; 1 by default."""
    skip_if: bool
    """Whether to skip the whole eval; it is reported as skipped."""


class Eval(EvalSpec):
    """An eval that `describe_eval` defined."""

    def run(
        self, store: str | PathLike[str] | Literal["settings"] | None = "settings", gate: "Gate | None" = None
    ) -> "Run":
        """Run all cases now; also inside a running event loop.

        Args:
            store: Where the run is stored: `"settings"` for the store of the settings, another file, or None for memory only.
            gate: The rule for pass and fail; None: every trial has to pass.

        Returns:
            The run with all results. Where `skip_if` is true, it is empty, a note says so, and it is not stored.

        Raises:
            ConfigError: a part of the eval cannot be used; nothing was started.
            StoreError: the store cannot be used.
        """
        run: Run = need("evalmark.harness.evals.eval_run").run_eval(self, store, gate)
        return run


def describe_eval(name: str, data: "Data", task: Any, **options: Unpack[EvalOptions]) -> Eval:
    """Define an eval at the top of a module: pytest runs each of its cases as a test, and `.run()` runs it elsewhere.

    Args:
        name: Name of the eval; its tests and its cases in reports carry it.
        data: A list of cases, an iterator, the path of a dataset, or a sync or async function that returns one of these.
        task: A function, sync or async, that gets the input of a case and returns text, JSON or an `Output`; or a service or
            a command as in a suite, such as `{"http": {"url": …}}`.
        options: By name: `scorers` (or `scorer`), `threshold`, `judge`, `embeddings`, `repeat`, `timeout` and `skip_if`;
            see `EvalOptions`.

    Returns:
        The eval; nothing of it has run.

    Raises:
        ConfigError: an option is unknown or of the wrong kind, or no scorer is named.

    >>> from evalmark import describe_eval
    >>> shouts = describe_eval("shouts", [{"input": "a", "expected": "A"}], str.upper, scorers=["equals"])
    >>> [result.verdict for result in shouts.run(store=None).results]
    ['pass']
    """
    __tracebackhide__ = True
    check_options(f"describe_eval({name!r})", options, EvalOptions)
    frame = _module_frame(sys._getframe(1))
    file, line = ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
    fields: dict[str, Any] = {key: value for key, value in options.items() if key not in ("scorers", "scorer")}
    eval_spec = Eval(name=name, data=data, task=task, scorers=(), file=file, line=line, **fields)
    eval_spec = replace(eval_spec, scorers=_scorers(eval_spec, options))
    _check(eval_spec)
    if frame is not None:
        _register(eval_spec, frame)
    return eval_spec


def _scorers(eval_spec: Eval, options: EvalOptions) -> "tuple[ScorerLike, ...]":
    __tracebackhide__ = True
    one, several = options.get("scorer"), options.get("scorers")
    if one is not None and several is not None:
        raise ConfigError(f"{eval_spec.place}: {eval_spec.name!r} has both `scorer` and `scorers`; leave one out.")
    scorers = several if one is None else [one]
    if isinstance(scorers, str) or callable(scorers):
        scorers = [scorers]
    if not isinstance(scorers, Sequence) or not scorers:
        raise ConfigError(f"{eval_spec.place}: {eval_spec.name!r} has no scorers; name at least one: scorers=[…].")
    return tuple(scorers)


def _check(eval_spec: Eval) -> None:
    __tracebackhide__ = True
    place = eval_spec.place
    if not isinstance(eval_spec.name, str) or not eval_spec.name.strip():
        raise ConfigError(f"{place}: an eval needs a name; found {eval_spec.name!r}.")
    if isinstance(eval_spec.repeat, bool) or not isinstance(eval_spec.repeat, int) or eval_spec.repeat < 1:
        raise ConfigError(f"{place}: repeat has to be a whole number of at least 1; found {eval_spec.repeat!r}.")
    limit = eval_spec.timeout
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, float)) or not limit > 0):
        raise ConfigError(f"{place}: timeout is a number of seconds above 0, or None; found {limit!r}.")


def _register(eval_spec: Eval, frame: FrameType) -> None:
    # A list in the module itself: evalmark keeps no state of its own.
    evals: list[Eval] = frame.f_globals.setdefault(REGISTRY, [])
    evals.append(eval_spec)


def _module_frame(frame: FrameType | None) -> FrameType | None:
    """Return the frame of the module that is being imported, also where a helper of another module calls `describe_eval`."""
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return frame
