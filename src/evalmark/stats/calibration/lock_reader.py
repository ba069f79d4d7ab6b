"""Reads lock files strictly; every fault is reported with its line."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

from evalmark.core.errors import ConfigError, DataError
from evalmark.core.values.score import Direction
from evalmark.inputs.documents.document import DataPath, Document, load_document
from evalmark.inputs.documents.errors import PlacedError
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.shift import ScoreDistribution

from .lock_file import VERSION, LockedLabels, LockedThreshold, LockFile
from .threshold_calibration import Kind

AGAIN = "evalmark calibrate writes one"
ROUNDING = 1e-6
"""Bounds are written with six digits."""


@check_arguments
def read_lock(path: Path) -> LockFile:
    """Read the thresholds of a lock file.

    Raises:
        ConfigError: there is none, it is none, a newer evalmark has written it, or something in it is wrong.
    """
    if not path.exists():
        raise ConfigError(f"{path}: there is no such lock file; {AGAIN}.")
    try:
        document = load_document(path)
    except DataError as fault:
        raise ConfigError(f"{str(fault).rstrip('.')}; {AGAIN}.") from fault
    return _LockReader(document).lock()


class _LockReader:
    """Parses a lock file and collects its faults."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.faults: list[str] = []

    def lock(self) -> LockFile:
        data = self.document.data
        place = self.document.place_of()
        if not isinstance(data, Mapping) or "evalmark_lock" not in data:
            raise PlacedError(place, f"this is no lock file of evalmark, which begins with `evalmark_lock`; {AGAIN}.")
        version = data["evalmark_lock"]
        place = self.document.place_of(("evalmark_lock",))
        if isinstance(version, bool) or not isinstance(version, int) or version < 1:
            raise PlacedError(place, f"`evalmark_lock` is {version!r}, which is no version of a lock file; {AGAIN}.")
        if version > VERSION:
            raise PlacedError(
                place,
                f"a newer evalmark has written this lock file (version {version}, known is {VERSION}); update it.",
            )
        metrics = data.get("metrics")
        self._unknown((), data, ("evalmark_lock", "metrics"))
        if not isinstance(metrics, Mapping):
            self._find(("metrics",), "is missing, or no mapping from names to entries")
            metrics = {}
        found = {name: self._entry(("metrics", name), name, entry) for name, entry in metrics.items()}
        if self.faults:
            raise ConfigError.of(self.faults)
        entries = {name: one for name, one in found.items() if one is not None}
        return LockFile(metrics=entries, path=str(self.document.path))

    def _entry(self, at: DataPath, name: str, entry: Any) -> LockedThreshold | None:
        before = len(self.faults)
        found = self._checked(at, entry, ENTRY)
        if found is None:
            return None
        if len(self.faults) == before and found["bound"] > found["max_false_pass"] + ROUNDING:
            self._find((*at, "bound"), f"is {found['bound']}, more than `max_false_pass`, {found['max_false_pass']}")
        labels = self._checked((*at, "labels"), found["labels"], LABELS)
        if labels is None or len(self.faults) > before:
            return None
        scores = found.pop("scores", None)
        if scores is not None:
            scores = self._checked((*at, "scores"), scores, SCORES)
            if scores is None or not self._is_distribution((*at, "scores"), scores, before):
                return None
            found["scores"] = ScoreDistribution(**scores | {name: tuple(scores[name]) for name in ("points", "counts")})
        area = found.pop("auc")
        found |= {"labels": LockedLabels(**labels), "auc": None if area is None else tuple(map(float, area))}
        return LockedThreshold(metric=name, **found)

    def _is_distribution(self, at: DataPath, scores: Mapping[str, Any], before: int) -> bool:
        """Check that the fields of a distribution fit together, if there are no other faults."""
        points, counts = scores["points"], scores["counts"]
        if len(self.faults) == before and (len(points) != len(counts) or sorted(set(points)) != [*points]):
            self._find((*at, "points"), "does not ascend, or has not as many numbers as `counts`")
        return len(self.faults) == before

    def _checked(self, at: DataPath, value: Any, checks: "Mapping[str, Check]") -> dict[str, Any] | None:
        """Check the fields of a mapping; return None and a fault if it is not a mapping."""
        if not isinstance(value, Mapping):
            self._find(at, f"is {value!r}, not a mapping")
            return None
        self._unknown(at, value, checks)
        for name, (is_fine, what) in checks.items():
            if name not in value and name not in OPTIONAL:
                self._find((*at, name), "is missing")
            elif name in value and not is_fine(value[name]):
                self._find((*at, name), f"is {value[name]!r}, not {what}")
        found = {name: value[name] for name in checks if name in value}
        return found if len(found) == len(checks) or {*checks} - {*found} <= OPTIONAL else None

    def _unknown(self, at: DataPath, value: Mapping[Any, Any], known: Any) -> None:
        for name in value:
            if name not in known:
                self._find((*at, name), "is no field of a lock file")

    def _find(self, at: DataPath, finding: str) -> None:
        name = ".".join(map(str, at))
        self.faults.append(
            f"{self.document.place_of(at)}: `{name}` {finding}; put the file back as it was, or calibrate anew."
        )


Check = tuple[Callable[[Any], bool], str]
"""A test for a field, and its description."""


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_share(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1  # false for NaN and for numbers beyond double precision


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_area(value: Any) -> bool:
    return value is None or (isinstance(value, (list, tuple)) and len(value) == 3 and all(map(_is_share, value)))


def _is_list_of(is_fine: Callable[[Any], bool], value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(map(is_fine, value))


SHARE: Check = (_is_share, "a number from 0 to 1")
COUNT: Check = (_is_count, "a whole number from 0 on")
TEXT: Check = (_is_text, "a text")


def _one_of(words: tuple[str, ...]) -> Check:
    return (lambda value: value in words, f"one of {', '.join(words)}")


ENTRY: Mapping[str, Check] = {
    "threshold": SHARE,
    "direction": _one_of(get_args(Direction)),
    "max_false_pass": SHARE,
    "level": SHARE,
    "bound": SHARE,
    "method": TEXT,
    "auc": (_is_area, "null, or an area and the two ends of its interval"),
    "labels": (lambda value: True, ""),
    "version": TEXT,
    "judge": TEXT,
    "embedder": TEXT,
    "created": TEXT,
    "evalmark": TEXT,
    "base": TEXT,
    "scores": (lambda value: True, ""),
}
"""The fields of an entry, besides its name."""
OPTIONAL = {"scores", "cluster"}
"""Fields that lock files of older versions do not have."""
SCORES: Mapping[str, Check] = {
    "points": (lambda value: _is_list_of(_is_number, value), "a list of numbers"),
    "counts": (lambda value: _is_list_of(_is_count, value) and sum(value) > 0, "a list of whole numbers from 0 on"),
    "is_exact": (lambda value: isinstance(value, bool), "true or false"),
    "effective": (lambda value: _is_number(value) and value > 0, "a number above 0"),
}
LABELS: Mapping[str, Check] = {
    field.name: _one_of(get_args(Kind)) if field.name == "kind" else TEXT if field.type is str else COUNT
    for field in fields(LockedLabels)
}
