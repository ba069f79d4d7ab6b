"""Builds one case from one row of a test file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evalmark.core.text import count
from evalmark.core.values.case import Case
from evalmark.core.values.plain_data import fingerprint
from evalmark.scoring.binding.text import preview

from .row_values import InvalidRowError, backticked, input_values
from .spec import PromptRule, PromptSpec

REFERENCE_FIELDS = (
    "groundtruth",
    "expected",
    "expected_output",
    "expectedanswer",
    "reference",
    "referenceanswer",
    "ideal",
)
"""Fields with the ground truth."""
INPUT_FIELDS = ("testinput", "input", "inputs", "vars")
"""Fields with the values of all inputs, or the only value."""
TRUTH_WORDS = {"1": True, "true": True, "yes": True, "ok": True, "valid": True}
TRUTH_WORDS |= {"0": False, "false": False, "no": False, "err": False, "invalid": False}
UNKNOWN_WORDS = ("", "unknown", "null", "none")


@dataclass(frozen=True, slots=True)
class PromptCaseBuilder:
    """Builds cases from the rows of one file, with unique ids."""

    spec: PromptSpec
    notes: Callable[[str], None]
    seen: dict[str, str] = field(default_factory=dict)
    """The place where each id was used first."""
    advised: set[str] = field(default_factory=set)

    def build(self, row: Any, place: str) -> Case:
        """Return the case of a row: a mapping, or a text that is the input.

        Raises:
            InvalidRowError: The row is invalid; the text is a sentence without its full stop.
        """
        fields = _Fields(row, {known.name for known in self.spec.prompt.inputs})
        scenario = _text(fields.take("scenario"))
        whole, key = fields.first(INPUT_FIELDS)
        values = input_values(self.spec.prompt, whole, fields.inputs, self._parameters(scenario, place))
        if whole is not None and fields.inputs and any(values.get(k) != v for k, v in fields.inputs.items()):
            self._advise(f"{place}: `{key}` and the columns of the inputs differ; `{key}` is used.")
        raw = fields.take("ruleid")
        about = self._about(raw, fields, place)
        baseline = _truth("baseline", fields.take("baseline")) or False
        expected = self._expected(fields)
        name, tags = fields.take("testuid", "id"), _tags(fields.take("tags"))
        metadata = {
            "rule": about.text if about else None,
            "ruleid": (about and about.number) or _number(raw) or _text(raw) or None,
            "inverse": about.inverse if about else False,
            "scenario": scenario,
            "baseline": baseline,
            "valid": _truth("valid", fields.take("valid", "validity")),
            **fields.rest(),
        }
        kind = "baseline" if baseline else "" if about is None else "negative" if about.inverse else "positive"
        return Case(
            id=self._id(_text(name), [values, metadata["rule"], metadata["ruleid"], scenario, baseline], place),
            input=values,
            expected=expected,
            tags=(*((kind,) if kind else ()), *tags),
            metadata=metadata,
            place=place,
        )

    def _parameters(self, scenario: str, place: str) -> Mapping[str, Any]:
        if not scenario:
            return {}
        found = next((known for known in self.spec.prompt.scenarios if known.name == scenario), None)
        if found is None:
            self._advise(f"{place}: the prompt has no scenario {scenario!r}, so it sets no values.")
            return {}
        return found.parameters

    def _about(self, raw: Any, fields: "_Fields", place: str) -> PromptRule | None:
        """Return the rule that a test is about: as the row says, else by its number."""
        text, inverse = _text(fields.take("rule")), fields.take("inverse")
        number = _number(raw)
        known = None if number is None else self.spec.rule(number)
        if text:
            if known is not None and known.text != text:
                self._advise(f"{place}: the rule with this number has changed; the test keeps the rule that it names.")
            turned = _truth("inverse", inverse)
            same = next((rule for rule in self.spec.numbered if rule.text == text), None)
            fallback = (same or known or PromptRule(0, "")).inverse
            return PromptRule(number or (same.number if same else 0), text, fallback if turned is None else turned)
        if known is None and (number or (number is None and _text(raw))):
            there = count(len(self.spec.numbered), "rule")
            self._advise(f"{place}: {preview(raw)} is none of the {there} of the prompt; the test runs without a rule.")
        return known

    def _expected(self, fields: "_Fields") -> Any:
        """Return the ground truth; None if there is none or it was rejected."""
        found = [(key, value) for key in REFERENCE_FIELDS if (value := fields.take(key)) not in (None, "")]
        if len(found) > 1:
            raise InvalidRowError(f"`{found[0][0]}` and `{found[1][0]}` both hold the expected answer; leave one out")
        score = fields.peek("groundtruthscore")
        is_refused = (isinstance(score, (int, float)) and score < 0) or str(score).startswith("-")
        return found[0][1] if found and not is_refused else None

    def _id(self, own_id: str, content: list[Any], place: str) -> str:
        if own_id:
            if (earlier := self.seen.setdefault(own_id, place)) != place:
                raise InvalidRowError(f"the id {preview(own_id)} occurs a second time; the first one is at {earlier}")
            return own_id
        made = name = fingerprint("test-1", *content)[:12]
        number = 1
        while name in self.seen:
            number += 1
            name = f"{made}-{number}"
        self.seen[name] = place
        return name

    def _advise(self, note: str) -> None:
        kind = note.rpartition(";")[2]  # each advice is given once, at its first place
        if kind not in self.advised:
            self.advised.add(kind)
            self.notes(note)


class _Fields:
    """The fields of a row, each read once; unread fields are kept under their own names."""

    def __init__(self, row: Any, inputs: set[str]) -> None:
        if isinstance(row, str):
            row = {INPUT_FIELDS[0]: row}
        if not isinstance(row, Mapping):
            raise InvalidRowError(f"a test is a mapping of field names to values, not {preview(row)}")
        self._row = {str(key): value for key, value in row.items() if value is not None}
        self.inputs = {key: self._row.pop(key) for key in list(self._row) if key in inputs}
        self._names: dict[str, str] = {}
        for key in self._row:
            self._names.setdefault(_normalize_name(key), key)

    def peek(self, name: str) -> Any:
        """Return the value of a field; None if the row lacks it."""
        return self._row.get(self._names.get(name, name))

    def take(self, *names: str) -> Any:
        """Return and remove the value of the first of these fields that the row has."""
        for name in names:
            if (key := self._names.get(name, name)) in self._row:
                return self._row.pop(key)
        return None

    def first(self, names: tuple[str, ...]) -> tuple[Any, str]:
        """Return the first of these fields that is not blank, with its name in the row."""
        for name in names:
            key = self._names.get(name, name)
            found = self.take(name)
            if found is not None and not (isinstance(found, str) and not found.strip()):
                return found, key
        return None, ""

    def rest(self) -> dict[str, Any]:
        return dict(self._row)


def _normalize_name(name: str) -> str:
    """Return a field name without case, spaces, `-` and `_`.

    PromptPex's `expectedoutput` is a model's guess from before the rules existed. Every other spelling of it means the ground
    truth, as in all other files.
    """
    plain = "".join(letter for letter in name.casefold() if letter not in " _-")
    return "expected_output" if plain == "expectedoutput" and name != plain else plain


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _number(value: Any) -> int | None:
    text = _text(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None


def _truth(name: str, value: Any) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    text = _text(value).casefold()
    if text in UNKNOWN_WORDS:
        return None
    if text in TRUTH_WORDS:
        return TRUTH_WORDS[text]
    raise InvalidRowError(f"{backticked(name)} is {preview(value)}; it takes true or false")


def _tags(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.split(",")
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InvalidRowError(f"`tags` is {preview(value)}; it takes a list of texts")
    return tuple(text for item in value if (text := _text(item)))
