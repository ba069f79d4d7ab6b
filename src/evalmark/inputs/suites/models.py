"""The models that a suite names: one under test, and those that judge."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from evalmark.core.errors import DataError
from evalmark.core.values.call import RESERVED_SETTINGS
from evalmark.inputs.documents.document import DataPath
from evalmark.inputs.documents.files import allowed_path
from evalmark.inputs.secrets.fields import secret_paths

from .schema import json_excerpt
from .suite import JudgeSpec, TargetSpec

PlaceOf = Callable[[DataPath], str]
Folders = tuple[Path, Path]
"""The suite's own, and the working directory: no other may be reached."""
AddFault = Callable[[DataPath, str], None]
"""Takes what is wrong with the value at a path."""


def target_of(
    said: Mapping[str, Any], folders: Folders, place_of: PlaceOf, find: AddFault, *, is_faulty: bool
) -> TargetSpec | None:
    """The models under test, and the prompt they are asked with; None where something is wrong with how they are named."""
    at: DataPath = ("target",)
    settings = said.get("settings") or {}
    _check_settings(at, settings, find)
    models = _models_of(at, said, find)
    prompt = None
    if "prompt" in said:
        try:
            prompt = allowed_path(said["prompt"], *folders)
        except DataError as fault:
            find((*at, "prompt"), str(fault))
            return None
        if said.get("system") is not None:
            find((*at, "system"), "stands beside a prompt, which says everything itself; leave it out.")
    if not models and prompt is None:
        if not is_faulty:  # else it was named wrong, and that is said already
            find(at, "names no model; it takes {model: openai/NAME}, {models: [...]} or {prompt: FILE, models: [...]}.")
        return None
    return TargetSpec(models=models, prompt=prompt, system=said.get("system"), settings=settings, place=place_of(at))


def _models_of(at: DataPath, said: Mapping[str, Any], find: AddFault) -> tuple[str, ...]:
    """The models, each once."""
    if "model" in said and "models" in said:
        find((*at, "model"), "stands beside `models`; put all of them there.")
    models = tuple(said.get("models") or ([said["model"]] if "model" in said else ()))
    for number, name in enumerate(models):
        if name in models[:number]:
            find((*at, "models", number), f"names {json_excerpt(name)} a second time; leave it out.")
    return tuple(dict.fromkeys(models))


def judges_of(at: DataPath, said: Any, place_of: PlaceOf, find: AddFault) -> tuple[JudgeSpec, ...]:
    """The judges that stand at a path, one or a list, each named once."""
    alone = isinstance(said, (str, Mapping))
    judges: list[JudgeSpec] = []
    for number, item in enumerate([said] if alone else said or ()):
        where = at if alone else (*at, number)
        row: Mapping[str, Any] = {"model": item} if isinstance(item, str) else item or {}
        settings = row.get("settings") or {}
        _check_settings(where, settings, find)
        if "model" not in row:
            continue
        judge = JudgeSpec(model=row["model"], settings=settings, place=place_of(where))
        if earlier := next((other for other in judges if other.model == judge.model), None):
            find(
                where,
                f"names {json_excerpt(judge.model)}, and so does the one at {earlier.place}; leave one of them out.",
            )
        judges.append(judge)
    return tuple(judges)


def _check_settings(at: DataPath, settings: Mapping[str, Any], find: AddFault) -> None:
    """No secret among them, and nothing that the request says itself; what one holds is not shown."""
    for name in RESERVED_SETTINGS & set(settings):
        find((*at, "settings", name), "would take the place of what is asked; leave it out.")
    for where in secret_paths(settings, (*at, "settings")):
        find(where, "would be recorded with every request; put keys into the environment.")
