"""Convert the tests of a promptfoo config to cases and metrics."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalmark.core.values.plain_data import canonical
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import open_file
from evalmark.inputs.documents.text import MAX_ROW
from evalmark.interop.shared.assertions import CHECKS, JUDGED, KEY
from evalmark.interop.shared.import_builder import ImportBuilder, MetricDraft
from evalmark.interop.shared.import_options import ImportOptions
from evalmark.interop.shared.import_result import PartOutcome
from evalmark.interop.shared.items import dict_or_empty, generated_row_id, input_from

from .assertions import (
    JUDGES,
    AssertionRequest,
    UnsupportedAssertionError,
    python_file,
    read_assertion,
    reference_of,
    row_checks,
)
from .tests import Test

Data = dict[str, Any]
_OF_TEST = ("description", "metadata", "providerOutput", "options")
_NO_EFFECT_OPTIONS = ("disableVarExpansion", "disableDefaultAsserts", "disableConversationVar", "runSerially")
_OF_ASSERTIONS = ("transform", "postprocess", "rubricPrompt", "factuality", "provider")
"""Options of a test that its assertions use."""


def add_tests(tests: Sequence[Test], builder: ImportBuilder, options: ImportOptions, folder: Path) -> None:
    """Add the cases and metrics; assertions of all tests become metrics, others go to the cases' metadata."""
    requests: list[list[AssertionRequest]] = []
    rows: list[Data] = []
    all_given = all(isinstance(test.fields.get("providerOutput"), str) for test in tests)
    for test in tests:
        if why := test.lost or _excluded_reason(test, all_given):
            builder.part(test.place, "left out", why)
            continue
        draft = _requests_of(test, builder, options, folder)
        rows.append(_row(test, reference_of(draft), builder))
        requests.append(draft)
    shared = _shared(requests, rows)
    for one in shared.values():
        name = one.name or one.scorer
        builder.metrics.append(
            MetricDraft(name=name, scorer=one.scorer, settings=one.settings, threshold=one.threshold, judge=one.judge)
        )
    for row, draft in zip(rows, requests, strict=True):
        unshared = [one for one in draft if canonical(one.shape) not in shared]
        row_requests = [one for one in unshared if _fits_metadata(one, row)]
        if row_requests:
            row.setdefault("metadata", {})[KEY] = row_checks(row_requests, row.get("expected"))
        _note_outcomes(draft, [one for one in unshared if one not in row_requests], builder)
        builder.add(row)
    _own_scorers(builder)


def _note_outcomes(draft: Sequence[AssertionRequest], lost: Sequence[AssertionRequest], builder: ImportBuilder) -> None:
    """Record the outcomes of a test's assertions."""
    for one in draft:
        if one in lost:
            why = "only some tests have it, or with other settings, but in evalmark it scores all cases of a suite"
            builder.part(one.where, "left out", why)
        else:
            builder.part(one.where, "kept", one.scorer)


def _excluded_reason(test: Test, all_given: bool) -> str:
    """Return why a test cannot be in the suite; empty if it can."""
    if test.fields.get("providerOutput") is None or all_given:
        return ""
    return "its output is given, and a suite has given outputs for all cases or for none"


def _requests_of(test: Test, builder: ImportBuilder, options: ImportOptions, folder: Path) -> list[AssertionRequest]:
    requests: list[AssertionRequest] = []
    for assertion, where in test.asserts:
        if (file := python_file(assertion)) is not None and options.allows(folder / file[0]):
            _python(assertion, file, where, builder, folder)
            continue
        try:
            request = read_assertion(assertion, test.variables, test.options)
        except UnsupportedAssertionError as refused:
            builder.part(f"{where} ({assertion['type']})", "left out", refused.why)
            continue
        if "weight" in assertion:
            builder.part(f"{where} weight", "no effect", "whether a test passes does not depend on it")
        requests.append(replace(request, where=f"{where} ({assertion['type']})"))
    return requests


def _python(assertion: Data, file: tuple[str, str], where: str, builder: ImportBuilder, folder: Path) -> None:
    """Add a function in a file that the user named; the file is copied."""
    path, function = folder / file[0], file[1]
    try:
        with open_file(path) as opened:
            text = opened.read(MAX_ROW).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PlacedError(str(path), f"cannot be read: {error}.") from None
    if builder.files.setdefault(path.name, text) != text:
        builder.part(f"{where} (python)", "left out", f"another file has the name {path.name}; rename one of them")
        return
    settings: Data = {"file": path.name, "function": function}
    if isinstance(least := assertion.get("threshold"), (int, float)):
        settings["least"] = float(least)
    if all(dict(draft.settings) != settings for draft in builder.metrics):
        name = str(assertion.get("metric") or function)
        builder.metrics.append(MetricDraft(name=name, scorer="evalmark.scorers:PythonAssertion", settings=settings))
    builder.part(f"{where} (python)", "kept", f"the function {function} of {path.name}, which scores every case")


def _row(test: Test, expected: Any, builder: ImportBuilder) -> Data:
    fields = test.fields
    metadata = dict(dict_or_empty(fields.get("metadata")))
    if isinstance(text := fields.get("description"), str) and text:
        metadata = {"description": text, **metadata}
    if metadata:
        builder.part(f"{test.place} metadata", "kept", "in the metadata of its case")
    for key in [name for name in fields if name not in _OF_TEST and fields[name] is not None]:
        builder.part(f"{test.place} {key}", *_outcome_of(key))
    for key in [name for name in test.options if name not in (*_NO_EFFECT_OPTIONS, *_OF_ASSERTIONS)]:
        builder.part(f"{test.place} options.{key}", "left out", "evalmark does not support it for one test")
    row: Data = {
        "id": str(
            metadata.pop("id", "") or generated_row_id(test.variables)
        ),  # equal to the id in the results of this test
        "input": input_from(test.variables),
    }
    row |= {"expected": expected} if expected is not None else {}
    row |= {"answer": fields["providerOutput"]} if isinstance(fields.get("providerOutput"), str) else {}
    return row | ({"metadata": metadata} if metadata else {})


def _outcome_of(key: str) -> tuple[PartOutcome, str]:
    """Return the outcome of a key of a test."""
    if key == "assertScoringFunction":
        return "left out", "it is code"
    if key == "threshold":
        return "left out", "promptfoo passes a test by its mean score; in evalmark each metric has to pass"
    return "left out", "evalmark does not support it for one test"


def _shared(requests: Sequence[Sequence[AssertionRequest]], rows: Sequence[Data]) -> dict[str, AssertionRequest]:
    """Return the assertions that every test has, compared with its own reference answer."""
    counts: dict[str, int] = {}
    first: dict[str, AssertionRequest] = {}
    twice: set[str] = set()
    for draft, row in zip(requests, rows, strict=True):
        expected = canonical(row.get("expected"))
        mine: set[str] = set()
        for one in draft:
            key = canonical(one.shape)
            if key in mine:
                twice.add(key)  # they compare with different answers, but a case has only one
            elif one.expected is None or canonical(one.expected) == expected:
                counts[key] = counts.get(key, 0) + 1
                first.setdefault(key, one)
            mine.add(key)
    return {key: one for key, one in first.items() if counts[key] == len(rows) and key not in twice}


def _fits_metadata(one: AssertionRequest, row: Data) -> bool:
    """Return whether a check can be in a case's metadata."""
    base = one.scorer.removeprefix("not-")
    same = one.expected is None or canonical(one.expected) == canonical(row.get("expected"))
    is_check = base in CHECKS and (same or base in ("equals", "contains", "structured_output"))
    return is_check or (base in JUDGED and same and not one.judge)


def _own_scorers(builder: ImportBuilder) -> None:
    scorers = [name for row in builder.cases for item in row.get("metadata", {}).get(KEY, ()) for name in item]
    if any(name.removeprefix("not-") in CHECKS for name in scorers):
        builder.metrics.append(MetricDraft(name="assertions", scorer="evalmark.scorers:Assertions"))
    if any(name in JUDGES for name in scorers):
        builder.metrics.append(MetricDraft(name="judged_assertions", scorer="evalmark.scorers:JudgedAssertions"))
