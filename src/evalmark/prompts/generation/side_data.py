"""The generation record beside the files: what they were made from, and which rules the prompt supports."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.inputs.documents.text import read_text

from .folder_files import has_content, write_json

NAME = "generated.json"
ABOUT = (
    "Kept by `evalmark generate`: from what each file beside this one was made, and whether the prompt bears out each "
    "rule. Nothing here has to be edited; without it, rules are looked at again."
)


class RuleGroundedness(NamedTuple):
    """Whether the prompt supports a rule."""

    grounded: bool
    reason: str = ""


class StageOrigin(NamedTuple):
    """How a stage was made last."""

    basis: str = ""
    """The hash of what it was made from; empty if it was not generated."""
    times: int = 0
    """How often it was redone."""
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRecord:
    """The whole generation record."""

    origins: Mapping[str, StageOrigin] = field(default_factory=dict)
    """By stage."""
    redo: tuple[str, ...] = ()
    """Stages that are to be redone."""
    marks: Mapping[str, RuleGroundedness] = field(default_factory=dict)
    """By the text of the rule, so that an edited rule has none."""

    def origin(self, stage: str) -> StageOrigin:
        """Return how a stage was made last."""
        return self.origins.get(stage, StageOrigin())

    def asked_anew(self, stages: Iterable[str]) -> "GenerationRecord":
        """Return the record with these stages marked for redoing."""
        names = tuple(stages)
        origins = {name: self.origin(name)._replace(times=self.origin(name).times + 1) for name in names}
        redo = tuple(dict.fromkeys((*self.redo, *names)))
        return replace(self, origins={**self.origins, **origins}, redo=redo)

    def made(self, stage: str, basis: str, model: str) -> "GenerationRecord":
        """Return the record with a finished stage."""
        origin = StageOrigin(basis, self.origin(stage).times, model)
        redo = tuple(name for name in self.redo if name != stage)
        return replace(self, origins={**self.origins, stage: origin}, redo=redo)


def read_record(folder: Path) -> GenerationRecord:
    """Read the record in a prompt's folder.

    Raises:
        DataError: The file was not written by `evalmark generate`.
    """
    path = folder / NAME
    if not has_content(path):
        return GenerationRecord()
    data = parse_json(read_text(path), str(path))
    try:
        return GenerationRecord(
            origins={
                name: StageOrigin(str(o["from"]), int(o["times"]), str(o["model"]))
                for name, o in data["stages"].items()
            },
            redo=tuple(map(str, data["redo"])),
            marks={
                str(row["rule"]): RuleGroundedness(row["grounded"] is True, str(row["reason"])) for row in data["rules"]
            },
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        raise PlacedError(
            str(path),
            "is not as `evalmark generate` writes it; delete it, and all it costs is that rules are looked at again.",
        ) from None


def write_record(folder: Path, side: GenerationRecord) -> None:
    """Write the record. Raises EvalmarkError if it cannot be written."""
    data: dict[str, Any] = {
        "about": ABOUT,
        "redo": list(side.redo),
        "stages": {
            name: {"from": origin.basis, "times": origin.times, "model": origin.model}
            for name, origin in side.origins.items()
        },
        "rules": [
            {"rule": rule, "grounded": mark.grounded, "reason": mark.reason} for rule, mark in side.marks.items()
        ],
    }
    write_json(folder / NAME, data)
