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
        found = {name: self._entry(("metrics", name), name, said) for name, said in metrics.items()}
        if self.faults:
            raise ConfigError.of(self.faults)
        entries = {name: entry for name, entry in found.items() if entry is not None}
        return LockFile(metrics=entries, path=str(self.document.path))

    def _entry(self, at: DataPath, name: str, said: Any) -> LockedThreshold | None:
        before = len(self.faults)
        found = self._checked(at, said, ENTRY)
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

    def _checked(self, at: DataPath, said: Any, wanted: "Mapping[str, Check]") -> dict[str, Any] | None:
        """Check the fields of a mapping; return None and a fault if it is not a mapping."""
        if not isinstance(said, Mapping):
            self._find(at, f"is {said!r}, not a mapping")
            return None
        self._unknown(at, said, wanted)
        for name, (is_fine, what) in wanted.items():
            if name not in said and name not in OPTIONAL:
                self._find((*at, name), "is missing")
            elif name in said and not is_fine(said[name]):
                self._find((*at, name), f"is {said[name]!r}, not {what}")
        found = {name: said[name] for name in wanted if name in said}
        return found if len(found) == len(wanted) or {*wanted} - {*found} <= OPTIONAL else None

    def _unknown(self, at: DataPath, said: Mapping[Any, Any], known: Any) -> None:
        for name in said:
            if name not in known:
                self._find((*at, name), "is no field of a lock file")

    def _find(self, at: DataPath, finding: str) -> None:
        name = ".".join(map(str, at))
        self.faults.append(
            f"{self.document.place_of(at)}: `{name}` {finding}; put the file back as it was, or calibrate anew."
        )


Check = tuple[Callable[[Any], bool], str]
"""A test for a field, and its description."""


def _is_number(said: Any) -> bool:
    return isinstance(said, (int, float)) and not isinstance(said, bool)


def _is_share(said: Any) -> bool:
    return _is_number(said) and 0 <= said <= 1  # false for NaN and for numbers beyond double precision


def _is_count(said: Any) -> bool:
    return isinstance(said, int) and not isinstance(said, bool) and said >= 0


def _is_text(said: Any) -> bool:
    return isinstance(said, str)


def _is_area(said: Any) -> bool:
    return said is None or (isinstance(said, (list, tuple)) and len(said) == 3 and all(map(_is_share, said)))


def _is_list_of(is_fine: Callable[[Any], bool], said: Any) -> bool:
    return isinstance(said, (list, tuple)) and all(map(is_fine, said))


SHARE: Check = (_is_share, "a number from 0 to 1")
COUNT: Check = (_is_count, "a whole number from 0 on")
TEXT: Check = (_is_text, "a text")


def _one_of(words: tuple[str, ...]) -> Check:
    return (lambda said: said in words, f"one of {', '.join(words)}")


ENTRY: Mapping[str, Check] = {
    "threshold": SHARE,
    "direction": _one_of(get_args(Direction)),
    "max_false_pass": SHARE,
    "level": SHARE,
    "bound": SHARE,
    "method": TEXT,
    "auc": (_is_area, "null, or an area and the two ends of its interval"),
    "labels": (lambda said: True, ""),
    "version": TEXT,
    "judge": TEXT,
    "embedder": TEXT,
    "created": TEXT,
    "evalmark": TEXT,
    "base": TEXT,
    "scores": (lambda said: True, ""),
}
"""The fields of an entry, besides its name."""
OPTIONAL = {"scores", "cluster"}
"""Fields that lock files of older versions do not have."""
SCORES: Mapping[str, Check] = {
    "points": (lambda said: _is_list_of(_is_number, said), "a list of numbers"),
    "counts": (lambda said: _is_list_of(_is_count, said) and sum(said) > 0, "a list of whole numbers from 0 on"),
    "is_exact": (lambda said: isinstance(said, bool), "true or false"),
    "effective": (lambda said: _is_number(said) and said > 0, "a number above 0"),
}
LABELS: Mapping[str, Check] = {
    field.name: _one_of(get_args(Kind)) if field.name == "kind" else TEXT if field.type is str else COUNT
    for field in fields(LockedLabels)
}
