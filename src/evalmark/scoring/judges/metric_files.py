"""Reads metric files strictly and reports all faults at once, each with line and path."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from evalmark.core.errors import ConfigError, DataError
from evalmark.core.values.call import RESERVED_SETTINGS
from evalmark.core.values.score import Direction
from evalmark.inputs.documents.document import DataPath, Document, load_document
from evalmark.inputs.documents.json_walk import json_path
from evalmark.inputs.secrets.fields import secret_paths

from .field_reader import MAX_REPEATS, FieldReader, json_preview
from .measure import KEYS, Measure, MeasureKind, Option
from .metric import MetricFile
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
    """Return a metric that is shipped with evalmark."""
    return parse_metric(load_prompt(name))


def parse_metric(document: Document) -> MetricFile:
    """Return the metric in a document.

    Raises:
        ConfigError: The document has faults; the message names all of them, one per line.
    """
    if hint := _wrong_file_hint(document.data):
        raise DataError(f"{document.place_of()}: {hint}")
    parser = _MetricParser(document=document, fields=FieldReader(), notes=list(document.notes))
    metric = parser.metric(document.data)
    faults = parser.fields.faults
    if faults:
        messages = [
            f"{document.place_of(at)}: {json_path(at)} {sentence}" for at, sentence in _by_line(faults, document)
        ]
        raise ConfigError.of(messages)
    return metric


def _by_line(faults: list[tuple[DataPath, str]], document: Document) -> list[tuple[DataPath, str]]:
    def line(fault: tuple[DataPath, str]) -> int:
        at = fault[0]
        return next((n for end in range(len(at), -1, -1) if (n := document.lines.get(at[:end]))), 1)

    return sorted(faults, key=line)


def _wrong_file_hint(data: Any) -> str | None:
    """Return a hint for a file of another kind; None for a metric."""
    if not isinstance(data, Mapping):
        return f"this is {json_preview(data)}; a metric is a mapping with `name`, `metric_description` and `score`."
    if {"metric_description", "score"} & data.keys():
        return None
    if "data" in data:
        return "this is a dataset; name it in a suite, under `datasets`."
    if {"datasets", "metrics"} & data.keys():
        return "this is a suite; run it with `evalmark run`."
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _MetricParser:
    """Converts one document into a metric and collects faults."""

    document: Document
    fields: FieldReader
    notes: list[str] = field(default_factory=list)

    def metric(self, data: Mapping[str, Any]) -> MetricFile:
        """Return the metric; it is valid only if no fault was found."""
        fields = self.fields
        self._unknown((), data, TOP_LEVEL_KEYS)
        config = fields.mapping((), data, "config") or {}
        self._unknown(("config",), config, CONFIG_KEYS)
        history = self._truth(("config",), config, "needs_history")
        example = self._truth(("config",), config, "needs_example_output")
        score = fields.mapping((), data, "score") or {}
        self._unknown(("score",), score, SCORE_KEYS)
        measure = self._measure(score)
        return MetricFile(
            name=fields.text((), data, "name") or "",
            description=fields.text((), data, "metric_description") or "",
            measure=measure,
            needs_history=history,
            needs_example_output=example,
            threshold=self._threshold(data, measure),
            direction=self._direction(data),
            repeat=fields.whole((), data, "repeat", 1, MAX_REPEATS, needed=False) or 1,
            weighted=self._weighted(score, measure),
            template=self._template(data, history, example),
            judge=fields.text((), data, "judge", needed=False),
            settings=self._settings(data),
            notes=tuple(self.notes),
        )

    def _unknown(self, at: DataPath, data: Mapping[str, Any], known: tuple[str, ...]) -> None:
        for key in (key for key in data if key not in (*known, "$schema")):
            where = f"`{at[-1]}`" if at else "a metric"
            if not at and key in PARENT_OF_KEY:
                advice = f"write it under `{PARENT_OF_KEY[key]}`."
            elif close := get_close_matches(str(key).lower(), known, n=1):
                advice = f"did you mean `{close[0]}`?"
            else:
                advice = f"{where} knows {', '.join(known)}."
            self.fields.find((*at, key), f"is no key of {where}; {advice}")

    def _truth(self, at: DataPath, data: Mapping[str, Any], key: str) -> bool:
        """Return a truth value; the texts "true" and "false" are accepted, with a note."""
        found = data.get(key)
        if isinstance(found, str) and found.strip().lower() in ("true", "false"):
            place = self.document.place_of((*at, key))
            self.notes.append(f"{place}: {json_path((*at, key))} is the text {found!r}; it is read as the truth value.")
            return found.strip().lower() == "true"
        return self.fields.truth(at, data, key) or False

    def _measure(self, score: Mapping[str, Any]) -> Measure:
        at: DataPath = ("score",)
        said = self.fields.text(at, score, "type")
        kind = self._kind(said)
        description = self.fields.text(at, score, "description") or ""
        if kind in ("scale", None) and {"type", "min", "max"} & score.keys():
            return self._scale(at, score, description, kind)
        self._unused(score, kind)
        options = self._options(score) if kind == "choice" else {}
        return Measure(kind=kind or "boolean", description=description, options=options)

    def _scale(self, at: DataPath, score: Mapping[str, Any], description: str, kind: MeasureKind | None) -> Measure:
        """Return a scale; check its bounds even if the type is wrong."""
        low, high = (self.fields.whole(at, score, key, needed=kind is not None) for key in ("min", "max"))
        if low is not None and high is not None and low >= high:
            self.fields.find((*at, "min"), f"is {low} and `max` is {high}; `min` has to be less than `max`.")
        fits = low is not None and high is not None and low < high
        return Measure(kind="scale", description=description, low=low or 0, high=high or 1) if fits else INVALID_MEASURE

    def _kind(self, said: str | None) -> MeasureKind | None:
        found: dict[str, MeasureKind] = {kind: kind for kind in KEYS}
        if said is None or said.lower() in found:
            return found.get((said or "").lower())
        close = get_close_matches(said.lower(), found, n=1)
        advice = f"did you mean `{close[0]}`?" if close else f"there are {', '.join(found)}."
        self.fields.find(("score", "type"), f"is {json_preview(said)}, which is no type of score; {advice}")
        return None

    def _unused(self, score: Mapping[str, Any], kind: str | None) -> None:
        """Add a note for keys that belong to another type."""
        others = ("min", "max") if kind == "choice" else ("min", "max", "choices")
        for key in others if kind is not None else ():
            if key in score:
                self.notes.append(f"{self.document.place_of(('score', key))}: `{key}` has no effect on a {kind}.")

    def _options(self, score: Mapping[str, Any]) -> dict[str, Option]:
        at: DataPath = ("score", "choices")
        said = self.fields.mapping(("score",), score, "choices") or {}
        if said and len(said) < 2:
            self.fields.find(at, "has one choice; name at least two.")
        options = {}
        for name, item in said.items():
            described = isinstance(item, Mapping)
            row = item if described else {"worth": item}
            self._unknown((*at, name), row, ("worth", "meaning"))
            if not name.strip() or len(name) > 40:
                self.fields.find((*at, name), "is no name for a choice; use 1 to 40 characters.")
            if "worth" not in row:
                self.fields.find(
                    (*at, name), "has no `worth`; it takes a number from 0 to 1, or null for `cannot tell`."
                )
            where = (*at, name, "worth") if described else (*at, name)
            meaning = self.fields.text((*at, name), row, "meaning", needed=False)
            options[name] = Option(self.fields.share(where, row.get("worth")), meaning or "")
        return options

    def _threshold(self, data: Mapping[str, Any], measure: Measure) -> float | None:
        found: Any = data.get("threshold")
        at: DataPath = ("threshold",)
        low, high = (measure.low, measure.high) if measure.kind == "scale" else (0, 100)
        is_number = isinstance(found, (int, float)) and not isinstance(found, bool)
        is_raw = is_number and found > 1 and low <= found <= high and measure is not INVALID_MEASURE
        if is_raw and measure.kind in ("scale", "percentage"):
            meant = f"{found:g} of {low}..{high} is {(found - low) / (high - low):g}"
            self.fields.find(at, f"is {found:g}; it takes a number from 0 to 1, and {meant}.")
            return None
        return self.fields.share(at, found)

    def _direction(self, data: Mapping[str, Any]) -> Direction:
        found = data.get("direction")
        if found not in (None, "higher", "lower"):
            self.fields.find(
                ("direction",), f"is {json_preview(found)}; it takes `higher` or `lower`, whichever is better."
            )
        return "lower" if found == "lower" else "higher"

    def _weighted(self, score: Mapping[str, Any], measure: Measure) -> bool:
        if "weighted" not in score:
            return False
        wanted = self._truth(("score",), score, "weighted")
        fits = measure.kind == "scale" and measure.low >= 0 and measure.high - measure.low < MAX_WEIGHTED_SCALE
        if wanted and not fits:
            self.fields.find(
                ("score", "weighted"),
                f"is for scales of at most {MAX_WEIGHTED_SCALE} numbers, from 0 or more; leave it out.",
            )
        return wanted and fits

    def _settings(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        found = self.fields.mapping((), data, "settings", needed=False) or {}
        for name in RESERVED_SETTINGS & set(found):
            self.fields.find(("settings", name), "would replace a part of the request; remove it.")
        for at in secret_paths(found, ("settings",)):
            self.fields.find(at, "would be recorded with every question; put keys into the environment.")
        return found

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
            self.fields.find(("template",), f"is {json_preview(found)}; it takes a text, or a list of texts.")
            return ()
        used = frozenset[str]().union(*map(slots_in, sections))
        at: DataPath = ("template",)
        for slot in sorted(used - set(MATERIAL) - set(METRIC_SLOTS)):
            close = get_close_matches(slot, (*MATERIAL, *METRIC_SLOTS), n=1)
            advice = (
                f"did you mean {{{{{close[0]}}}}}?" if close else f"there are {', '.join((*MATERIAL, *METRIC_SLOTS))}."
            )
            self.fields.find(at, f"has a slot {{{{{slot}}}}} that nothing fills; {advice}")
        if any(map(has_stray_braces, sections)):
            self.fields.find(
                at, "holds {{, }} or {% that open no slot; slots are names such as {{output}}, and no more."
            )
        if "output" not in used:
            self.fields.find(at, "has no slot {{output}}, so nothing would be judged.")
        for slot, needed, key in (("history", history, CONFIG_KEYS[0]), ("expected", example, CONFIG_KEYS[1])):
            if slot in used and not needed:
                self.fields.find(at, f"shows {{{{{slot}}}}}, and `config.{key}` is not true.")
        return tuple(sections)
