"""Reads metric files strictly and reports all faults at once, each with line and path."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from evalmark.core.errors import DataError
from evalmark.core.suggestions import did_you_mean
from evalmark.core.values.call import RESERVED_SETTINGS
from evalmark.core.values.score import Direction
from evalmark.inputs.documents.document import DataPath, Document, load_document
from evalmark.inputs.documents.findings import Findings, json_excerpt
from evalmark.inputs.documents.json_walk import json_path
from evalmark.inputs.secrets.fields import secret_paths

from .measure import KEYS, Measure, MeasureKind, Option
from .metric import MAX_REPEATS, MetricFile
from .question import MATERIAL
from .template import has_stray_braces, is_text, load_prompt, slots_in

TOP_LEVEL_KEYS = (
    "name",
    "config",
    "metric_description",
    "score",
    "threshold",
    "direction",
    "repeat",
    "judge",
    "settings",
    "template",
)
CONFIG_KEYS = ("needs_history", "needs_example_output")
SCORE_KEYS = ("type", "description", "min", "max", "choices", "weighted")
PARENT_OF_KEY = dict.fromkeys(CONFIG_KEYS, "config") | dict.fromkeys(
    ("type", "min", "max", "choices", "weighted"), "score"
)
"""The parent of keys that are often written at the top level by mistake."""
METRIC_SLOTS = ("name", "description", "score")
"""Slots of a template that show the metric's own texts."""
INVALID_MEASURE = Measure(kind="scale")
"""Stands for a measure with a fault."""
MAX_WEIGHTED_SCALE = 101
"""The largest number of steps of a scale that can be weighted with probabilities."""


def read_metric(path: str | os.PathLike[str]) -> MetricFile:
    """Read the metric in a JSON or YAML file in Tiamat's format, with evalmark's additional keys.

    Args:
        path: The file.

    Returns:
        The checked metric.

    Raises:
        ConfigError: The file cannot be read or has faults; the message names all faults, one per line.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "polite.yaml")
    >>> _ = file.write_text('''
    ... name: polite
    ... config: {needs_history: false, needs_example_output: false}
    ... metric_description: Is it polite?
    ... score: {type: boolean, description: Whether it is polite}
    ... ''')
    >>> read_metric(file).measure.kind
    'boolean'
    """
    file = Path(path)
    if file.name.lower().endswith(".prompty"):
        raise DataError(
            f"{file}: a metric in a prompt file is read with `evalmark.prompts.metrics.metric_prompts.read_prompt_metric`; metric files of "
            "this form are JSON or YAML."
        )
    return parse_metric(load_document(file, is_text))


@cache
def packaged_metric(name: str) -> MetricFile:
    return parse_metric(load_prompt(name))


def parse_metric(document: Document) -> MetricFile:
    """Return the metric in a document.

    Raises:
        ConfigError: The document has faults; the message names all of them, one per line.
    """
    if hint := _wrong_file_hint(document.data):
        raise DataError(f"{document.place_of()}: {hint}")
    parser = _MetricParser(document=document, notes=list(document.notes))
    metric = parser.metric(document.data)
    parser.raise_faults()
    return metric


def _wrong_file_hint(data: Any) -> str | None:
    """Return a hint for a file of another kind; None for a metric."""
    if not isinstance(data, Mapping):
        return f"this is {json_excerpt(data)}; a metric is a mapping with `name`, `metric_description` and `score`."
    if {"metric_description", "score"} & data.keys():
        return None
    if "data" in data:
        return "this is a dataset; name it in a suite, under `datasets`."
    if {"datasets", "metrics"} & data.keys():
        return "this is a suite; run it with `evalmark run`."
    return None


class _FieldKind(NamedTuple):
    """The allowed values of a field."""

    description: str
    allows: Callable[[Any], bool]


_TEXT = _FieldKind("a text", lambda value: isinstance(value, str) and bool(value.strip()))
_TRUTH = _FieldKind("true or false", lambda value: isinstance(value, bool))
_MAPPING = _FieldKind("a mapping", lambda value: isinstance(value, Mapping))
_FILLED_MAPPING = _FieldKind("a mapping", lambda value: isinstance(value, Mapping) and bool(value))
_INTEGER = _FieldKind("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool))
_REPEATS = _FieldKind(
    f"a whole number from 1 to {MAX_REPEATS}", lambda value: _INTEGER.allows(value) and 1 <= value <= MAX_REPEATS
)
_SHARE = _FieldKind("a number from 0 to 1", lambda value: _is_number(value) and 0 <= value <= 1)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class _MetricParser(Findings):
    """Converts one document into a metric and collects faults."""

    def metric(self, data: Mapping[str, Any]) -> MetricFile:
        """Return the metric; it is valid only if no fault was found."""
        self._unknown((), data, TOP_LEVEL_KEYS)
        config = self._value(("config",), data.get("config"), _FILLED_MAPPING) or {}
        self._unknown(("config",), config, CONFIG_KEYS)
        history = self._truth(("config",), config, "needs_history")
        example = self._truth(("config",), config, "needs_example_output")
        score = self._value(("score",), data.get("score"), _FILLED_MAPPING) or {}
        self._unknown(("score",), score, SCORE_KEYS)
        measure = self._measure(score)
        return MetricFile(
            name=self._value(("name",), data.get("name"), _TEXT) or "",
            description=self._value(("metric_description",), data.get("metric_description"), _TEXT) or "",
            measure=measure,
            needs_history=history,
            needs_example_output=example,
            threshold=self._threshold(data, measure),
            direction=self._direction(data),
            repeat=self._value(("repeat",), data.get("repeat"), _REPEATS, needed=False) or 1,
            weighted=self._weighted(score, measure),
            template=self._template(data, history, example),
            judge=self._value(("judge",), data.get("judge"), _TEXT, needed=False),
            settings=self._settings(data),
            notes=tuple(self.notes),
        )

    def _value(self, at: DataPath, found: Any, kind: _FieldKind, *, needed: bool = True) -> Any:
        """Return a value; None and a fault if its kind does not allow it, or if it is missing and needed."""
        if found is None and not needed:
            return None
        if found is not None and kind.allows(found):
            return found
        fault = "is missing" if found is None else f"is {json_excerpt(found)}"
        self.add_fault(at, f"{fault}; it takes {kind.description}.")
        return None

    def _unknown(self, at: DataPath, data: Mapping[str, Any], known: tuple[str, ...]) -> None:
        for key in (key for key in data if key not in (*known, "$schema")):
            where = f"`{at[-1]}`" if at else "a metric"
            if not at and key in PARENT_OF_KEY:
                advice = f"write it under `{PARENT_OF_KEY[key]}`."
            else:
                advice = did_you_mean(str(key).lower(), known, "`{}`") or f"{where} knows {', '.join(known)}."
            self.add_fault((*at, key), f"is not a key of {where}; {advice}")

    def _truth(self, at: DataPath, data: Mapping[str, Any], key: str) -> bool:
        """Return a truth value; the texts "true" and "false" are accepted, with a note."""
        found = data.get(key)
        if isinstance(found, str) and found.strip().lower() in ("true", "false"):
            where = (*at, key)
            self.note(self.line_of(where), f"{json_path(where)} is the text {found!r}; it is read as the truth value.")
            return found.strip().lower() == "true"
        return self._value((*at, key), found, _TRUTH) or False

    def _measure(self, score: Mapping[str, Any]) -> Measure:
        at: DataPath = ("score",)
        kind = self._kind(self._value((*at, "type"), score.get("type"), _TEXT))
        description = self._value((*at, "description"), score.get("description"), _TEXT) or ""
        if kind in ("scale", None) and {"type", "min", "max"} & score.keys():
            return self._scale(at, score, description, kind)
        self._unused(score, kind)
        options = self._options(score) if kind == "choice" else {}
        return Measure(kind=kind or "boolean", description=description, options=options)

    def _scale(self, at: DataPath, score: Mapping[str, Any], description: str, kind: MeasureKind | None) -> Measure:
        """Return a scale; check its bounds even if the type is wrong."""
        low, high = (
            self._value((*at, key), score.get(key), _INTEGER, needed=kind is not None) for key in ("min", "max")
        )
        if low is not None and high is not None and low >= high:
            self.add_fault((*at, "min"), f"is {low} and `max` is {high}; `min` has to be less than `max`.")
        fits = low is not None and high is not None and low < high
        return Measure(kind="scale", description=description, low=low or 0, high=high or 1) if fits else INVALID_MEASURE

    def _kind(self, name: str | None) -> MeasureKind | None:
        kinds: dict[str, MeasureKind] = {kind: kind for kind in KEYS}
        if name is None or name.lower() in kinds:
            return kinds.get((name or "").lower())
        advice = did_you_mean(name.lower(), kinds, "`{}`") or f"there are {', '.join(kinds)}."
        self.add_fault(("score", "type"), f"is {json_excerpt(name)}, which is not a type of score; {advice}")
        return None

    def _unused(self, score: Mapping[str, Any], kind: str | None) -> None:
        """Add a note for keys that belong to another type."""
        others = ("min", "max") if kind == "choice" else ("min", "max", "choices")
        for key in others if kind is not None else ():
            if key in score:
                self.note(self.line_of(("score", key)), f"`{key}` has no effect on a {kind}.")

    def _options(self, score: Mapping[str, Any]) -> dict[str, Option]:
        at: DataPath = ("score", "choices")
        choices = self._value(("score", "choices"), score.get("choices"), _FILLED_MAPPING) or {}
        if len(choices) == 1:
            self.add_fault(at, "has one choice; name at least two.")
        options = {}
        for name, item in choices.items():
            described = isinstance(item, Mapping)
            row = item if described else {"worth": item}
            self._unknown((*at, name), row, ("worth", "meaning"))
            if not name.strip() or len(name) > 40:
                self.add_fault((*at, name), "cannot name a choice; use 1 to 40 characters.")
            if "worth" not in row:
                self.add_fault((*at, name), "has no `worth`; it takes a number from 0 to 1, or null for `cannot tell`.")
            where = (*at, name, "worth") if described else (*at, name)
            meaning = self._value((*at, name, "meaning"), row.get("meaning"), _TEXT, needed=False)
            options[name] = Option(self._share(where, row.get("worth")), meaning or "")
        return options

    def _threshold(self, data: Mapping[str, Any], measure: Measure) -> float | None:
        found: Any = data.get("threshold")
        at: DataPath = ("threshold",)
        low, high = (measure.low, measure.high) if measure.kind == "scale" else (0, 100)
        is_raw = _is_number(found) and found > 1 and low <= found <= high and measure is not INVALID_MEASURE
        if is_raw and measure.kind in ("scale", "percentage"):
            share = f"{found:g} of {low}..{high} is {(found - low) / (high - low):g}"
            self.add_fault(at, f"is {found:g}; it takes a number from 0 to 1, and {share}.")
            return None
        return self._share(at, found)

    def _share(self, at: DataPath, found: Any) -> float | None:
        share = self._value(at, found, _SHARE, needed=False)
        return None if share is None else float(share)

    def _direction(self, data: Mapping[str, Any]) -> Direction:
        found = data.get("direction")
        if found not in (None, "higher", "lower"):
            self.add_fault(
                ("direction",), f"is {json_excerpt(found)}; it takes `higher` or `lower`, whichever is better."
            )
        return "lower" if found == "lower" else "higher"

    def _weighted(self, score: Mapping[str, Any], measure: Measure) -> bool:
        if "weighted" not in score:
            return False
        weighted = self._truth(("score",), score, "weighted")
        fits = measure.kind == "scale" and measure.low >= 0 and measure.high - measure.low < MAX_WEIGHTED_SCALE
        if weighted and not fits:
            self.add_fault(
                ("score", "weighted"),
                f"is for scales of at most {MAX_WEIGHTED_SCALE} numbers, from 0 or more; leave it out.",
            )
        return weighted and fits

    def _settings(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        settings: Mapping[str, Any] = self._value(("settings",), data.get("settings"), _MAPPING, needed=False) or {}
        for name in RESERVED_SETTINGS & set(settings):
            self.add_fault(("settings", name), "would replace a part of the request; remove it.")
        for at in secret_paths(settings, ("settings",)):
            self.add_fault(at, "would be recorded with every question; move it to an environment variable.")
        return settings

    def _template(self, data: Mapping[str, Any], history: bool, example: bool) -> tuple[str, ...]:
        if data.get("template") is None:
            return ()
        found = data["template"]
        sections = [found] if isinstance(found, str) else found
        if (
            not isinstance(sections, list)
            or not sections
            or not all(isinstance(s, str) and s.strip() for s in sections)
        ):
            self.add_fault(("template",), f"is {json_excerpt(found)}; it takes a text, or a list of texts.")
            return ()
        used = frozenset[str]().union(*map(slots_in, sections))
        at: DataPath = ("template",)
        for slot in sorted(used - set(MATERIAL) - set(METRIC_SLOTS)):
            known = (*MATERIAL, *METRIC_SLOTS)
            advice = did_you_mean(slot, known, "{{{{{}}}}}") or f"there are {', '.join(known)}."
            self.add_fault(at, f"has the unknown slot {{{{{slot}}}}}; {advice}")
        if any(map(has_stray_braces, sections)):
            self.add_fault(at, "holds {{, }} or {% outside a slot; a slot is a name such as {{output}}.")
        if "output" not in used:
            self.add_fault(at, "has no slot {{output}}, so nothing would be judged.")
        for slot, needed, key in (("history", history, CONFIG_KEYS[0]), ("expected", example, CONFIG_KEYS[1])):
            if slot in used and not needed:
                self.add_fault(at, f"shows {{{{{slot}}}}}, and `config.{key}` is not true.")
        return tuple(sections)
