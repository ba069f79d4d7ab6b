"""Read the models that a suite names: those under test, and the judges."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from evalmark.core.errors import DataError
from evalmark.core.values.call import RESERVED_SETTINGS
from evalmark.inputs.documents.document import DataPath
from evalmark.inputs.documents.files import allowed_path
from evalmark.inputs.documents.findings import json_excerpt
from evalmark.inputs.secrets.fields import secret_paths

from .suite import JudgeSpec, TargetSpec

PlaceOf = Callable[[DataPath], str]
Folders = tuple[Path, Path]
"""The suite's folder and the working directory; files elsewhere are refused."""
AddFault = Callable[[DataPath, str], None]
"""Adds the fault of the value at a path."""


def target_of(
    target: Mapping[str, Any],
    at: DataPath,
    folders: Folders,
    place_of: PlaceOf,
    add_fault: AddFault,
    *,
    is_faulty: bool,
) -> TargetSpec | None:
    """Read the models under test and their prompt; None if there are faults."""
    settings = target.get("settings") or {}
    _check_settings(at, settings, add_fault)
    models = _models_of(at, target, add_fault)
    prompt = None
    if "prompt" in target:
        try:
            prompt = allowed_path(target["prompt"], *folders)
        except DataError as fault:
            add_fault((*at, "prompt"), str(fault))
            return None
        if target.get("system") is not None:
            add_fault((*at, "system"), "cannot be combined with `prompt`; leave it out.")
    if not models and prompt is None and not settings:  # settings alone are for the models of --model
        if not is_faulty:  # else the schema has already reported the fault
            add_fault(
                at, "names no model; it takes {model: openai/NAME}, {models: [...]} or {prompt: FILE, models: [...]}."
            )
        return None
    return TargetSpec(
        models=models,
        prompt=prompt,
        system=target.get("system"),
        settings=settings,
        name=str(target.get("name") or ""),
        place=place_of(at),
    )


def _models_of(at: DataPath, target: Mapping[str, Any], add_fault: AddFault) -> tuple[str, ...]:
    """Read the models, without duplicates."""
    if "model" in target and "models" in target:
        add_fault((*at, "model"), "cannot be combined with `models`; put all of them there.")
    models = tuple(target.get("models") or ([target["model"]] if "model" in target else ()))
    for number, name in enumerate(models):
        if name in models[:number]:
            add_fault((*at, "models", number), f"names {json_excerpt(name)} a second time; leave it out.")
    return tuple(dict.fromkeys(models))


def judges_of(at: DataPath, value: Any, place_of: PlaceOf, add_fault: AddFault) -> tuple[JudgeSpec, ...]:
    """Read the judges at a path, one or a list, without duplicates."""
    alone = isinstance(value, (str, Mapping))
    judges: list[JudgeSpec] = []
    for number, item in enumerate([value] if alone else value or ()):
        where = at if alone else (*at, number)
        row: Mapping[str, Any] = {"model": item} if isinstance(item, str) else item or {}
        settings = row.get("settings") or {}
        _check_settings(where, settings, add_fault)
        if "model" not in row:
            continue
        judge = JudgeSpec(model=row["model"], settings=settings, place=place_of(where))
        if earlier := next((other for other in judges if other.model == judge.model), None):
            add_fault(
                where,
                f"names {json_excerpt(judge.model)}, and so does the one at {earlier.place}; leave one of them out.",
            )
        judges.append(judge)
    return tuple(judges)


def _check_settings(at: DataPath, settings: Mapping[str, Any], add_fault: AddFault) -> None:
    """Refuse secrets, whose values are not shown, and settings that the request sets itself."""
    for name in RESERVED_SETTINGS & set(settings):
        add_fault((*at, "settings", name), "would replace a part of the request; leave it out.")
    for where in secret_paths(settings, (*at, "settings")):
        add_fault(where, "would be recorded with every request; move it to an environment variable.")
