"""A plan out of a suite file and what the command line says on top of it."""

from dataclasses import dataclass, replace
from pathlib import Path

from evalmark.cases import ReadOptions
from evalmark.errors import ConfigError
from evalmark.models import load_embedder
from evalmark.roles import Target
from evalmark.scorers import flag_thresholds
from evalmark.settings import Settings
from evalmark.suites import Suite, TargetSpec, read_suite
from evalmark.targets import Given, as_target
from evalmark.values import Gate

from .plan import Asked, Loader, Plan, ask, embedder_for, file_source, refuse


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """What a command line may say louder than the suite; None leaves the suite's word."""

    target: str | None = None
    repeat: int | None = None
    embeddings: str | None = None
    timeout: float | None = None


def plan_suite(
    path: Path, settings: Settings, overrides: Overrides = Overrides(), load: Loader = load_embedder
) -> Plan:
    """The plan that a suite file asks for; `load` makes an embedder of the model's name.

    Raises:
        ConfigError: the suite, its target or a metric cannot be used; all faults are named at once.
    """
    suite = read_suite(path)
    folders = (path.parent.resolve(), Path.cwd())
    faults: list[str] = []
    asked = _asked(suite, folders, faults)
    place = f"--target {overrides.target}" if overrides.target else suite.target_place
    target = _target(overrides.target or suite.target, place, folders, faults)
    refuse(faults)
    wanted = overrides.embeddings or suite.embeddings or settings.embeddings
    return Plan(
        name=suite.name,
        sources=tuple(file_source(s.path, s.name, ReadOptions(**s.options)) for s in suite.datasets),
        target=target,
        asked=asked,
        embedder=embedder_for(asked, wanted, settings, folders, load),
        repeat=overrides.repeat or suite.repeat,
        timeout=overrides.timeout or suite.timeout,
        gate=_gate(suite, asked),
        suite=str(path),
        notes=(*suite.notes, *_unused(suite)),
    )


def _asked(suite: Suite, folders: tuple[Path, ...], faults: list[str]) -> tuple[Asked, ...]:
    asked: list[Asked] = []
    for metric in suite.metrics:
        if metric.kind == "file":
            faults.append(
                f"{metric.place}: {metric.name} needs a judge, and this version asks no models yet; name a built-in scorer or module:attribute."
            )
            continue
        settings = dict(metric.settings) | ({} if metric.threshold is None else {"threshold": metric.threshold})
        try:
            asked.append(ask({metric.name: settings}, metric.place, folders))
        except ConfigError as fault:
            faults.append(str(fault))
    return tuple(asked)


def _target(name: str | TargetSpec | None, place: str, folders: tuple[Path, ...], faults: list[str]) -> Target:
    if name is None:
        return Given()
    if isinstance(name, TargetSpec):
        faults.append(f"{place}: {name.model} cannot be asked by this version; name a Python function that asks it.")
        return Given()
    try:
        return as_target(name, folders=folders)
    except ConfigError as fault:
        faults.append(f"{place}: {fault}")
        return Given()


def _gate(suite: Suite, asked: tuple[Asked, ...]) -> Gate | None:
    """The suite's gate; `flags: true` adds the interpretation limits of the RAG metrics in use."""
    if not suite.gate_flags:
        return suite.gate
    limits = flag_thresholds(a.name for a in asked if a.name)
    gate = suite.gate or Gate()
    return replace(gate, thresholds={**limits, **gate.thresholds})


def _unused(suite: Suite) -> tuple[str, ...]:
    """What the suite says that nothing acts on yet, so that nobody relies on it."""
    said = {"baseline": suite.baseline, "judge": ", ".join(judge.model for judge in suite.judges)}
    return tuple(
        f"The suite's `{key}` ({value}) is read but not used by this version." for key, value in said.items() if value
    )
