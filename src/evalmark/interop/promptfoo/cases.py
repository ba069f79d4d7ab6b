"""Convert the tests of a promptfoo config to cases and metrics."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalmark.core.values.plain_data import canonical
from evalmark.interop.shared.assertions import JUDGED, KEY, PROMPTFOO, SET, SIMILAR
from evalmark.interop.shared.import_builder import ImportBuilder, MetricDraft
from evalmark.interop.shared.import_options import ImportOptions
from evalmark.interop.shared.import_result import PartOutcome
from evalmark.interop.shared.items import dict_or_empty, generated_row_id, input_from, is_number

from .assertion_requests import AssertionRequest, AssertionScope, UnsupportedAssertionError, reference_of, row_check
from .assertions import ignored_keys, read_assertion
from .code import allowed_code, code_entry, is_code
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
        row = _row(test, reference_of(draft), builder)
        if contexts := [text for one in draft for text in one.contexts]:
            row["contexts"] = list(dict.fromkeys(contexts))
        rows.append(row)
        requests.append(draft)
    shared = _shared(requests, rows)
    for one in shared.values():
        builder.metrics.append(_metric(one))
    unshared = [[one for one in draft if canonical(one.shape) not in shared] for draft in requests]
    groups = _judge_groups([one for draft in unshared for one in draft])
    names = _code_names([one for draft in unshared for one in draft if is_code(one)])
    for row, draft in zip(rows, unshared, strict=True):
        if draft:
            row.setdefault("metadata", {})[KEY] = [
                code_entry(one, names[canonical(one.shape)])
                if is_code(one)
                else row_check(one, row.get("expected"), groups.get(one.judge, ""))
                for one in draft
            ]
        builder.add(row)
    _add_row_scorers([one for draft in unshared for one in draft], groups, names, builder)


def _metric(one: AssertionRequest) -> MetricDraft:
    """Return the metric of an assertion that all tests have."""
    scorer = "evalmark.scorers:PromptfooAssertion" if one.scorer == PROMPTFOO else one.scorer
    kind = str(dict_or_empty(one.settings.get("assertion")).get("type") or one.scorer)
    return MetricDraft(
        name=one.name or kind, scorer=scorer, settings=one.settings, threshold=one.threshold, judge=one.judge
    )


def _judge_groups(requests: Sequence[AssertionRequest]) -> dict[str, str]:
    """Return the group of the checks of each judge; that of a single judge has no name."""
    judges = list(dict.fromkeys(one.judge for one in requests if _is_judged(one)))
    return {judge: "" if len(judges) == 1 else judge for judge in judges}


def _is_judged(one: AssertionRequest) -> bool:
    return one.scorer in JUDGED or any(map(_is_judged, one.members))


def _code_names(requests: Sequence[AssertionRequest]) -> dict[str, str]:
    """Return a name for each function that only some tests ask for."""
    names: dict[str, str] = {}
    for one in requests:
        name, number = one.name, 2
        while name in names.values() and canonical(one.shape) not in names:
            name, number = f"{one.name}-{number}", number + 1
        names.setdefault(canonical(one.shape), name)
    return names


def _add_row_scorers(
    requests: Sequence[AssertionRequest], groups: dict[str, str], names: dict[str, str], builder: ImportBuilder
) -> None:
    """Add the metrics that score what only some cases ask for."""
    kinds = {
        "judged" if _is_judged(one) else "similar" if one.scorer in SIMILAR else "code" if is_code(one) else ""
        for one in requests
    }
    if "" in kinds:
        builder.metrics.append(MetricDraft(name="assertions", scorer="evalmark.scorers:Assertions"))
    if "similar" in kinds:
        builder.metrics.append(MetricDraft(name="similar_assertions", scorer="evalmark.scorers:SimilarAssertions"))
    for judge, group in groups.items():
        settings = {"group": group} if group else {}
        scorer = "evalmark.scorers:JudgedAssertions"
        builder.metrics.append(MetricDraft(name="judged_assertions", scorer=scorer, settings=settings, judge=judge))
    done: set[str] = set()
    for one in requests:
        key = canonical(one.shape)
        if is_code(one) and key not in done:
            done.add(key)
            draft = _metric(one)
            builder.metrics.append(replace(draft, name=names[key], settings={**one.settings, "case_key": names[key]}))


def _excluded_reason(test: Test, all_given: bool) -> str:
    """Return why a test cannot be in the suite; empty if it can."""
    if test.fields.get("providerOutput") is None or all_given:
        return ""
    return "its output is given, and a suite has given outputs for all cases or for none"


def _requests_of(test: Test, builder: ImportBuilder, options: ImportOptions, folder: Path) -> list[AssertionRequest]:
    """Convert the assertions of a test, and record their outcomes."""
    scope = AssertionScope(variables=test.variables, options=test.options, folder=folder, graders=options.providers)
    if is_number(test.fields.get("threshold")) and test.asserts:
        return _whole_test(test, scope, builder)
    requests: list[AssertionRequest] = []
    for assertion, where in test.asserts:
        named = f"{where} ({assertion['type']})"
        try:
            request = _request(assertion, scope, options, builder)
        except UnsupportedAssertionError as refused:
            builder.part(named, "left out", refused.why)
            continue
        _note(request, assertion, where, builder)
        requests.append(request)
    return requests


def _request(
    assertion: Data, scope: AssertionScope, options: ImportOptions, builder: ImportBuilder
) -> AssertionRequest:
    """Convert an assertion; code that is not computed becomes a function beside the suite, if the user allows it.

    Raises:
        UnsupportedAssertionError: it cannot be converted, or is code that is not allowed.
    """
    try:
        return read_assertion(assertion, scope)
    except UnsupportedAssertionError:
        allowed = allowed_code(assertion, scope, options, builder)
        if allowed is None:
            raise
        return allowed


def _whole_test(test: Test, scope: AssertionScope, builder: ImportBuilder) -> list[AssertionRequest]:
    """Convert the assertions of a test with a threshold to one set, since their mean decides."""
    whole = {"type": "assert-set", "assert": [one for one, _ in test.asserts], "threshold": test.fields["threshold"]}
    try:
        request = replace(read_assertion(whole, scope), name="test")
    except UnsupportedAssertionError as refused:
        for assertion, where in test.asserts:
            why = f"the mean of the test's assertions counts, and one of them cannot be in it: {refused.why}"
            builder.part(f"{where} ({assertion['type']})", "left out", why)
        return []
    members = iter(request.members)
    for assertion, where in test.asserts:
        named = f"{where} ({assertion['type']})"
        if assertion.get("weight") == 0 and assertion["type"] != "assert-set":
            builder.part(named, "no effect", "its weight is 0 in a test whose mean score counts")
            continue
        change = next(members).change
        builder.part(named, "changed" if change else "kept", change or "a part of the check of the whole test")
    return [request]


def _note(request: AssertionRequest, assertion: Data, where: str, builder: ImportBuilder) -> None:
    """Record what became of an assertion."""
    named = f"{where} ({assertion['type']})"
    count = f" of {len(request.members)} checks" if request.members else ""
    builder.part(
        named, "changed" if request.change else "kept", request.change or f"{_scorer_text(request.scorer)}{count}"
    )
    if "weight" in assertion and request.scorer != SET and assertion["weight"] != 0:
        builder.part(f"{where} weight", "no effect", "whether a test passes does not depend on it")
    for key in ignored_keys(assertion) if assertion["type"] != "assert-set" else ():
        builder.part(f"{where} {key}", "no effect", "promptfoo does not know this key")


def _scorer_text(scorer: str) -> str:
    return "computed by promptfoo's definition" if scorer == PROMPTFOO else scorer


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
            metadata.pop("id", "") or test.name or generated_row_id(test.variables)
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
        return "kept", "the least weighted mean of the scores of its assertions"
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
            elif (
                one.scorer != SET
                and not one.transforms
                and (one.expected is None or canonical(one.expected) == expected)
            ):
                counts[key] = counts.get(key, 0) + 1
                first.setdefault(key, one)
            mine.add(key)
    return {key: one for key, one in first.items() if counts[key] == len(rows) and key not in twice}
