"""The flags of a command line that override a suite, and the models under test."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evalmark.core.errors import ConfigError
from evalmark.core.lazy import LazyModule
from evalmark.core.protocols import Target
from evalmark.inputs.suites.suite import SuiteTarget, TargetSpec
from evalmark.runs.targets.model import ModelTarget

from .models import ModelFactory

if TYPE_CHECKING:
    from evalmark.prompts.templates import prompt_files
    from evalmark.runs.targets import prompt as prompt_module
else:
    prompt_files = LazyModule("evalmark.prompts.templates.prompt_files")
    prompt_module = LazyModule("evalmark.runs.targets.prompt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """Values of a command line that replace those of a suite; None keeps the suite's."""

    target: str | None = None
    repeat: int | None = None
    embeddings: str | None = None
    timeout: float | None = None
    judges: tuple[str, ...] = ()
    """Judge models that replace those of the suite."""
    models: tuple[str, ...] = ()
    """Models under test that replace those of the suite or the prompt."""
    default_model: str | None = None
    """The model under test if neither flags, suite nor prompt name one; None: that is an error."""
    lock: str | None = None
    """The file of learned thresholds that replaces that of the suite; `none`: no thresholds from a file."""
    until_decided: bool = False
    """Whether the run stops as soon as its gate is decided."""
    seed: int | None = None
    """The seed of the random order of cases if the run stops early."""


NO_OVERRIDES = Overrides()


def model_targets(
    spec: TargetSpec, named: Sequence[str], models: ModelFactory, default_model: str | None = None
) -> tuple[Target, ...]:
    """Return each model as a target, with the prompt if there is one; `named` models replace those of the suite.

    `default_model` is used if no model is named.

    Raises:
        ConfigError: the prompt cannot be read, no model is named, or a name is not that of a model.
    """
    prompt = None if spec.prompt is None else prompt_files.read_prompt(spec.prompt)
    own = () if prompt is None or prompt.model is None else (prompt.model,)
    names = tuple(dict.fromkeys(named)) or spec.models or own or ((default_model,) if default_model else ())
    if not names:
        before = "" if spec.prompt is None else f"{spec.prompt}: "
        raise ConfigError(f"{before}no model is named; name one or several with --model provider/model.")
    labelled = [(models.chat(name), _label(spec.name, name, is_only=len(names) == 1)) for name in names]
    if prompt is not None:
        return tuple(
            prompt_module.PromptTarget(prompt=prompt, model=model, settings=spec.settings, label=label)
            for model, label in labelled
        )
    return tuple(
        ModelTarget(model=model, system=spec.system or "", settings=spec.settings, label=label)
        for model, label in labelled
    )


def _label(name: str, model: str, *, is_only: bool) -> str:
    """Return what reports call a model of a named target; empty: the model's own name."""
    return name if is_only or not name else f"{name}@{model}"


def distinct_targets(groups: Sequence[tuple[SuiteTarget, tuple[Target, ...]]]) -> tuple[Target, ...]:
    """Return the targets of a list; prompts on the same model are named after their files too, as `short@openai/NAME`."""
    names = [target.name for _, targets in groups for target in targets]
    twice = {name for name in names if names.count(name) > 1}
    return tuple(
        replace(target, label=_label(spec.prompt.name.split(".")[0], target.name, is_only=False))
        if target.name in twice
        and isinstance(spec, TargetSpec)
        and spec.prompt is not None
        and not spec.name
        and isinstance(target, prompt_module.PromptTarget)
        else target
        for spec, targets in groups
        for target in targets
    )
