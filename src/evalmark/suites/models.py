"""The models that a suite names: one under test, and those that judge."""

from collections.abc import Callable, Mapping
from typing import Any

from evalmark.documents import DataPath, secrets_in
from evalmark.values import NO_SETTINGS

from .schema import shown
from .suite import JudgeSpec, TargetSpec

PlaceOf = Callable[[DataPath], str]
Find = Callable[[DataPath, str], None]
"""Takes what is wrong with the value at a path."""


def target_of(said: Mapping[str, Any], place_of: PlaceOf, find: Find) -> TargetSpec | None:
    """The model under test; None where something is wrong with how it is named."""
    at: DataPath = ("target",)
    settings = said.get("settings") or {}
    _check_settings(at, settings, find)
    if "model" not in said:
        return None
    return TargetSpec(model=said["model"], system=said.get("system"), settings=settings, place=place_of(at))


def judges_of(at: DataPath, said: Any, place_of: PlaceOf, find: Find) -> tuple[JudgeSpec, ...]:
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
            find(where, f"names {shown(judge.model)}, and so does the one at {earlier.place}; leave one of them out.")
        judges.append(judge)
    return tuple(judges)


def _check_settings(at: DataPath, settings: Mapping[str, Any], find: Find) -> None:
    """No secret among them, and nothing that the request says itself; what one holds is not shown."""
    for name in NO_SETTINGS & set(settings):
        find((*at, "settings", name), "would take the place of what is asked; leave it out.")
    for where in secrets_in(settings, (*at, "settings")):
        find(where, "would be recorded with every request; put keys into the environment.")
