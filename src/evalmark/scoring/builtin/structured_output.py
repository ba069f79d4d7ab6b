"""A check that compares JSON output with expected data, field by field."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from evalmark.core.errors import ConfigError
from evalmark.core.text import count
from evalmark.core.values.case import Case, Output
from evalmark.core.values.score import Score
from evalmark.scoring.binding.scores import missing_reference, unscored
from evalmark.scoring.binding.text import NO_EXPECTED, preview
from evalmark.scoring.matching.differences import describe_data, describe_difference
from evalmark.scoring.matching.equality import (
    ABSENT,
    Comparator,
    Fuzzy,
    check_data,
    check_rule,
    field_matches,
    fuzzy_options,
    holds_nan,
    json_data,
    strict_equal,
)
from evalmark.scoring.matching.json_text import NotJsonError, parse_json_text

Match = Literal["strict", "fuzzy"] | Callable[[Any, Any, str], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredOutput:
    """Check that the output is JSON, as text or data, whose fields have the expected values.

    Args:
        expected: The expected fields, as data or JSON text; None uses the case's expected value or any liked example.
        match: `strict`: equal at every level; `fuzzy`: see `fuzzy`; or a function of expected value, found value and field.
        require_all: Every field must match; False makes the value the share of matching fields.
        allow_extras: Allow fields that are not expected; False makes the value 0 if there is one.
        error_field: A field that reports an error; the output fails if it is set. None: no such field.
        fuzzy: What `match: fuzzy` ignores: `ignore_case`, `substring`, `any_order`, `tolerance`, `coerce`.

    Returns:
        A score from 0 to 1 that passes at 1, with the mismatches in its detail; `unscored` without expected data.

    Raises:
        ConfigError: A setting is invalid, or `expected` is not JSON.

    >>> StructuredOutput()(Case(id="1", expected={"city": "Oslo"}), Output(value='{"city": "Rome"}')).reason
    "0 of 1 field match: city: expected 'Oslo', found 'Rome'"
    """

    name: ClassVar[str] = "structured_output"
    is_check: ClassVar[bool] = True

    expected: Any = None
    match: Match = "strict"
    require_all: bool = True
    allow_extras: bool = True
    error_field: str | None = "error"
    fuzzy: Mapping[str, Any] | Fuzzy | None = None

    def __post_init__(self) -> None:
        check_rule(self.match, "match", ("strict", "fuzzy"), self.name)
        if self.fuzzy is not None and self.match != "fuzzy":
            raise ConfigError(f"{self.name}: `fuzzy` only applies to fuzzy matching; set `match: fuzzy` too.")
        fuzzy_options(self.fuzzy, False, self.name)
        if self.expected is not None:
            expected_data, fault = _expected_data(self.expected)
            if fault:
                raise ConfigError(f"{self.name}: `expected` is {preview(describe_data(self.expected))}, and {fault}.")
            check_data(expected_data, rules=self.match == "fuzzy", setting="match", place=self.name)

    def lacks(self, case: Case) -> str:
        """Return why no output of the case can be scored; empty if it can."""
        return missing_reference(case) if self.expected is None else ""

    def __call__(self, case: Case, output: Output) -> Score:
        if output.value is None:
            return self._failed("there is no output")
        try:
            found = json_data(parse_json_text(output.value) if isinstance(output.value, str) else output.value)
        except NotJsonError as error:
            return self._failed(f"the output {preview(output.value)} is not JSON: {error}")
        values = case.references if self.expected is None else (self.expected,)
        read = [_expected_data(value) for value in values]
        expected_data = [expected for expected, fault in read if not fault]
        reported = self._error(found, expected_data)
        if reported is not None:
            return self._failed(f"the output reports an error: {self.error_field}: {preview(reported)}")
        if not expected_data:
            why = (
                f"the expected answer is {preview(describe_data(values[0]))}, and {read[0][1]}"
                if values
                else NO_EXPECTED
            )
            return unscored(
                self.name, f"{why}; to check only that the output is JSON, use `is_json`" if not values else why
            )
        try:
            return max((self._compared(one, found) for one in expected_data), key=lambda score: score.value or 0.0)
        except TimeoutError as error:
            return Score(name=self.name, status="error", reason=f"the expected answer cannot be applied: {error}")

    def _failed(self, reason: str) -> Score:
        return Score(name=self.name, raw=0.0, value=0.0, passed=False, reason=reason)

    def _error(self, found: Any, expected_data: list[Any]) -> Any:
        """Return the value of the error field, unless that field is itself expected."""
        field = self.error_field
        if (
            field is None
            or not isinstance(found, dict)
            or any(isinstance(w, dict) and field in w for w in expected_data)
        ):
            return None
        return found.get(field) or None

    def _compared(self, expected: Any, found: Any) -> Score:
        if not isinstance(expected, dict):
            return self._whole(expected, found)
        if not isinstance(found, dict):
            fields = ", ".join(expected) or "none"
            reason = f"the output {preview(describe_data(found))} is not an object; expected fields are {fields}"
            return self._failed(reason)
        faults = [
            (key, describe_difference(self._same(key), expected_data, found.get(key, ABSENT), key))
            for key, expected_data in expected.items()
            if not field_matches(self._same(key), expected_data, found, key)
        ]
        return self._score(expected, found, faults)

    def _whole(self, expected: Any, found: Any) -> Score:
        """Compare expected data without fields: a list, a number or a text."""
        same = self._same("")
        if same(expected, found):
            return Score(name=self.name, raw=1.0, value=1.0, passed=True, reason="the output is the expected one")
        return self._failed(f"the output does not match: {describe_difference(same, expected, found)}")

    def _same(self, field: str) -> Comparator:
        if self.match == "strict":
            return strict_equal
        if self.match == "fuzzy":
            return fuzzy_options(self.fuzzy, False, self.name)
        compare = self.match
        return lambda expected, found: compare(expected, found, field)

    def _score(self, expected: Mapping[str, Any], found: Mapping[str, Any], faults: list[tuple[str, str]]) -> Score:
        total, extras = len(expected), [key for key in found if key not in expected]
        matched = total - len(faults)
        refused = bool(extras) and not self.allow_extras
        share = matched / total if total else 1.0
        value = 0.0 if refused or (faults and self.require_all) else share
        detail = {
            "matched": matched,
            "total": total,
            "mismatches": [_mismatch(key, expected[key], found) for key, _ in faults],
            "extras": extras,
        }
        reason = _reason(total, faults, extras, refused)
        return Score(name=self.name, raw=value, value=value, passed=value == 1.0, reason=reason, detail=detail)


def _expected_data(value: Any) -> tuple[Any, str]:
    """Return the expected value as data, and what is wrong with it."""
    try:
        data = json_data(parse_json_text(value) if isinstance(value, str) else value)
    except NotJsonError as error:
        return None, f"it is not JSON: {error}"
    return data, "it holds NaN, which nothing equals" if holds_nan(data) else ""


def _mismatch(key: str, expected_data: Any, found: Mapping[str, Any]) -> dict[str, Any]:
    """Describe one field that does not match; it has no `found` if the field is missing."""
    there = {"found": describe_data(found[key])} if key in found else {}
    return {"field": key, "expected": describe_data(expected_data), **there}


def _reason(total: int, faults: list[tuple[str, str]], extras: list[str], refused: bool) -> str:
    parts = []
    if faults:
        matching = total - len(faults)
        verb = "matches" if matching == 1 else "match"
        parts.append(f"{matching} of {count(total, 'field')} {verb}: {'; '.join(reported for _, reported in faults)}")
    if refused:
        parts.append(f"{count(len(extras), 'unexpected field')}: {', '.join(extras)}")
    if parts:
        return "; ".join(parts)
    besides = f", and there are others: {', '.join(extras)}" if extras and total else ""
    if not total:
        return "the output is JSON, and no field of it is expected"
    return f"{'the expected field matches' if total == 1 else f'all {total:,} expected fields match'}{besides}"
