"""Read the tests of a promptfoo config: merge defaults, expand lists of values, and read files of rows."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from evalmark.inputs.documents.document import DataPath, Document, load_document
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import allowed_path
from evalmark.inputs.documents.json_walk import json_path
from evalmark.interop.shared.import_builder import ImportBuilder
from evalmark.interop.shared.items import dict_or_empty, list_or_empty
from evalmark.interop.shared.tables import read_rows

from .assertions import TYPES, UnsupportedAssertionError, fill_variables, without_raw_marks

Data = dict[str, Any]
MOST = 100_000
"""The most tests after lists of values, scenarios and files are expanded."""
CODE = (".py", ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts")
_REMOTE = ("http://", "https://", "huggingface://", "az://", "s3://")


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """One test with its defaults."""

    variables: Mapping[str, Any]
    asserts: tuple[tuple[Data, str], ...]
    """Each assertion with its place."""
    fields: Mapping[str, Any]
    """All other keys."""
    place: str
    lost: str = ""
    """Why the test cannot be in a suite; empty if it can."""

    @property
    def options(self) -> Mapping[str, Any]:
        """The options with a value."""
        options = dict_or_empty(self.fields.get("options"))
        return {key: value for key, value in options.items() if value is not None}


def tests_of(document: Document, data: Data, at: DataPath, builder: ImportBuilder) -> Iterator[Test]:
    """Yield every test of the config at a path.

    Raises:
        DataError: a test or assertion is invalid, or the config expands to more than 100,000 tests.
    """
    for number, test in enumerate(_all_tests(document, data, at, builder), 1):
        if number > MOST:
            raise PlacedError(document.place_of(at), f"the tests expand to more than {MOST:,}; divide the file.")
        yield test


def _all_tests(document: Document, data: Data, at: DataPath, builder: ImportBuilder) -> Iterator[Test]:
    reading = _TestReader(document, builder)
    defaults = reading.mapping((*at, "defaultTest"), data.get("defaultTest"))
    tests = data.get("tests")
    rows = [tests] if isinstance(tests, (str, dict)) else tests or []
    if not isinstance(rows, list):
        raise reading.fault((*at, "tests"), "is neither a list of tests nor the name of a file")
    for number, row in enumerate(rows):
        yield from reading.test(row, defaults, (*at, "tests", number) if isinstance(tests, list) else (*at, "tests"))
    for number, scenario in enumerate(reading.rows((*at, "scenarios"), data.get("scenarios"))):
        yield from reading.scenario(scenario, defaults, (*at, "scenarios", number))


@dataclass(frozen=True, slots=True)
class _TestReader:
    document: Document
    builder: ImportBuilder

    def fault(self, at: DataPath, what: str) -> PlacedError:
        return PlacedError(self.document.place_of(at), f"`{json_path(at)}` {what}.")

    def mapping(self, at: DataPath, value: Any) -> Data:
        if value is None or isinstance(value, dict):
            return value or {}
        if isinstance(value, str):
            self.left(at, "a test in a file of its own is not read; write it here")
            return {}
        raise self.fault(at, "is not a mapping")

    def rows(self, at: DataPath, value: Any) -> list[Any]:
        if value is None or isinstance(value, list):
            return value or []
        raise self.fault(at, "is not a list")

    def left(self, at: DataPath, why: str) -> None:
        self.builder.part(f"{self.document.place_of(at)} {json_path(at)}", "left out", why)

    def scenario(self, value: Any, defaults: Data, at: DataPath) -> Iterator[Test]:
        if isinstance(value, str):
            self.left(at, "a scenario in a file of its own is not read; write it here")
            return
        row = self.mapping(at, value)
        tests = [{}] if row.get("tests") is None else self.rows((*at, "tests"), row["tests"])
        for number, config in enumerate(self.rows((*at, "config"), row.get("config"))):
            under = merge_defaults(defaults, self.mapping((*at, "config", number), config))
            for number_in_scenario, test in enumerate(tests):
                yield from self.test(test, under, (*at, "tests", number_in_scenario))

    def test(self, value: Any, defaults: Data, at: DataPath) -> Iterator[Test]:
        if isinstance(value, str):
            yield from self.file(value, defaults, at)
            return
        row = self.mapping(at, value)
        if "path" in row and "vars" not in row:
            self.builder.part(
                f"{self.document.place_of(at)} {json_path(at)}", "left out", "a generator of tests is code"
            )
            return
        self.rows((*at, "assert"), row.get("assert"))
        self.rows(("defaultTest", "assert"), defaults.get("assert"))
        whole = merge_defaults(defaults, row)
        variables = self.mapping((*at, "vars"), whole.get("vars"))
        spread = not dict_or_empty(whole.get("options")).get("disableVarExpansion")
        place = self.document.place_of(at)
        for values in self.spread(variables, at) if spread else (variables,):
            yield self.one({**whole, "vars": values}, place, f"{place} {json_path(at)}")

    def one(self, whole: Data, place: str, where: str) -> Test:
        """Make a test from data with its defaults merged in."""
        rest = {key: value for key, value in whole.items() if key not in ("vars", "assert")}
        variables, lost = whole.get("vars") or {}, ""
        try:
            variables = resolve_variables(variables)
        except UnsupportedAssertionError as refused:
            lost = refused.why
        asserts = self.asserts(whole, place, where)
        return Test(variables=variables, asserts=asserts, fields=rest, place=where, lost=lost)

    def spread(self, variables: Data, at: DataPath) -> Iterator[Data]:
        """Yield one test for each combination of values of variables that are lists, as promptfoo does."""
        lists = [value if _is_spread(value) else [value] for value in variables.values()]
        size = 1
        for values in lists:
            size *= len(values)
        if size > MOST:
            raise self.fault((*at, "vars"), f"expands to {size:,} tests, more than {MOST:,}")
        for chosen in product(*lists):
            yield dict(zip(variables, chosen, strict=True))

    def asserts(self, whole: Data, place: str, where: str) -> tuple[tuple[Data, str], ...]:
        """Return the assertions, including those of sets; those of the default test come first."""
        assertions: list[tuple[Data, str]] = []
        for number, item in enumerate(list_or_empty(whole.get("assert"))):
            assertion = self.referred(item, where)
            if assertion is None:
                continue
            if not isinstance(assertion, dict) or not isinstance(assertion.get("type"), str):
                raise PlacedError(place, f"assertion {number + 1} of the test, its defaults first, has no `type`.")
            own = f"{where} {assertion.get('metric') or assertion['type']}"
            assertions += self.of_set(assertion, own) if assertion["type"] == "assert-set" else [(assertion, own)]
        return tuple(assertions)

    def of_set(self, assert_set: Data, own: str) -> Iterator[tuple[Data, str]]:
        """Yield the assertions of a set, which passes if each of them does."""
        if assert_set.get("threshold") is not None or assert_set.get("weight") == 0:
            self.builder.part(
                own, "left out", "promptfoo passes the set by its mean score; in evalmark each metric has to pass"
            )
            return
        self.builder.part(own, "kept", "each assertion of the set")
        for item in list_or_empty(assert_set.get("assert")):
            one = self.referred(item, own)
            if isinstance(one, dict) and isinstance(one.get("type"), str):
                yield one, own
            elif one is not None:
                self.builder.part(own, "left out", "an assertion of the set has no `type`")

    def referred(self, item: Any, where: str) -> Any:
        """Return an assertion, or the one to which its `$ref` points; None if it points to nothing."""
        if not isinstance(item, dict) or "$ref" not in item:
            return item
        name = str(item["$ref"])
        data = self.document.data
        data = data["config"] if isinstance(data, dict) and data.keys() == {"config"} else data
        for key in name.removeprefix("#/").split("/"):
            data = data.get(key) if isinstance(data, dict) else None
        if not name.startswith("#/") or not isinstance(data, dict):
            self.builder.part(f"{where} $ref", "left out", f"{name!r:.80} is not in the file")
            return None
        return {**data, **{key: value for key, value in item.items() if key != "$ref"}}

    def file(self, name: str, defaults: Data, at: DataPath) -> Iterator[Test]:
        """Yield the tests of a file that the config names; it must lie under the config's folder."""
        plain = name.removeprefix("file://")
        where = f"{self.document.place_of(at)} {json_path(at)}"
        if plain.lower().partition(":")[0].endswith(CODE):
            self.builder.part(where, "left out", "a generator of tests is code")
            return
        if plain.startswith(_REMOTE):
            self.builder.part(where, "left out", "it is on another machine; download it and name the file")
            return
        path = self.under(plain, at)
        if path.suffix.lower() == ".csv":
            for row in read_rows(path, (), self.builder.remark):
                yield self.one(merge_defaults(defaults, csv_test(row.cells)), row.place, row.place)
            return
        document = load_document(path)
        inner = _TestReader(document, self.builder)
        for number, test in enumerate(inner.rows((), document.data)):
            if isinstance(test, str):
                inner.left((number,), "a file of tests that names another one is not followed")
            else:
                yield from inner.test(test, defaults, (number,))

    def under(self, name: str, at: DataPath) -> Path:
        """Return a file in the folder of the config or below.

        Raises:
            DataError: the file is missing or lies elsewhere.
        """
        folder = self.document.path.parent
        try:
            return allowed_path(name, folder, folder)
        except PlacedError as error:
            raise self.fault(at, f"names {name!r:.60}, which cannot be read: {error.message.rstrip('.')}") from None


_CELL = re.compile(r"(not-)?([a-z][a-z\-]*(?::[a-z]+)?)(?:\((-?[0-9.]+)\))?(?::(?!//)\s*(.*))?", re.DOTALL)
_ALONE = (
    "is-json",
    "contains-json",
    "is-refusal",
    "is-sql",
    "contains-sql",
    "is-xml",
    "contains-xml",
    "is-html",
    "contains-html",
    "latency",
)
"""Types that need no value."""
_CSV_SIMILAR = 0.8
_SHORT = {"fn": "javascript", "eval": "javascript", "grade": "llm-rubric", "file": "javascript"}


def _is_spread(value: Any) -> bool:
    """Tell whether promptfoo expands a list: only if its first item is a text."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], str)


def resolve_variables(variables: Mapping[str, Any]) -> Data:
    """Fill in the variables that the texts of other variables name.

    Raises:
        UnsupportedAssertionError: a text names a file, or is a template that does more.
    """
    resolved: Data = {}
    for name, value in variables.items():
        if isinstance(value, str) and value.startswith(("file://", "package:")):
            raise UnsupportedAssertionError(f"the variable {name!r:.40} is read from a file; write its content")
        try:
            resolved[name] = fill_variables(value, variables) if isinstance(value, str) else without_raw_marks(value)
            again = resolved[name] if isinstance(value, str) and value == without_raw_marks(value) else ""
            fill_variables(again, {})
        except UnsupportedAssertionError as refused:
            raise UnsupportedAssertionError(f"the variable {name!r:.40}: {refused.why}") from None
    return resolved


def csv_test(cells: Mapping[str, str]) -> Data:
    """Make the test of a CSV row, with special columns such as `__expected` and `__metadata:key`."""
    test: Data = {"vars": {name: cell for name, cell in cells.items() if not name.startswith("__")}, "assert": []}
    for name, cell in cells.items():
        if name.startswith("__") and cell.strip():
            _take_cell(test, name, cell)
    if metric := test.pop("__metric", ""):
        test["assert"] = [{**assertion, "metric": metric} for assertion in test["assert"]]
    return test


def _take_cell(test: Data, name: str, cell: str) -> None:
    """Add a special column to a test; unknown ones are copied, and reported later."""
    kind, _, key = name.partition(":")
    if re.fullmatch(r"__expected[0-9]*", kind):
        test["assert"].append(parse_cell_assertion(cell))
    elif kind in ("__description", "__providerOutput", "__threshold"):
        test[kind.removeprefix("__")] = cell
    elif kind == "__metadata" and key:
        test.setdefault("metadata", {})[key] = cell
    elif kind in ("__prefix", "__suffix"):
        test.setdefault("options", {})[kind.removeprefix("__")] = cell
    else:
        test[name] = cell


def parse_cell_assertion(cell: str) -> Data:
    """Parse the assertion of a cell: `TYPE: VALUE` or `TYPE(THRESHOLD): VALUE`; any other text means `equals`.

    >>> parse_cell_assertion("not-contains: sorry"), parse_cell_assertion("Oslo")
    ({'type': 'not-contains', 'value': 'sorry'}, {'type': 'equals', 'value': 'Oslo'})
    """
    match = _CELL.fullmatch(cell.strip())
    kind = _SHORT.get(match[2], match[2]) if match else ""
    if match is None or kind not in TYPES:
        return {"type": "equals", "value": cell}
    if match[4] is None and kind not in _ALONE:  # a word of an answer, such as "cost"
        return {"type": "equals", "value": cell}
    try:
        least = {} if match[3] is None else {"threshold": float(match[3])}
    except ValueError:  # 1.2.3, say
        return {"type": "equals", "value": cell}
    value = {} if match[4] is None else {"value": match[4]}
    usual = {"threshold": _CSV_SIMILAR} if kind == "similar" else {}
    return {"type": f"{match[1] or ''}{kind}", **value, **usual, **least}


def merge_defaults(defaults: Mapping[str, Any], test: Mapping[str, Any]) -> Data:
    """Merge a test with its defaults: variables, metadata and options by key, assertions after the default ones."""
    whole = {**defaults, **{key: value for key, value in test.items() if value is not None}}
    for key in ("vars", "metadata", "options"):
        over, under = test.get(key), defaults.get(key)
        if isinstance(over, dict) and isinstance(under, dict):
            whole[key] = {**under, **over}
    skips = dict_or_empty(test.get("options")).get("disableDefaultAsserts")
    first, more = defaults.get("assert") or [], test.get("assert") or []
    if isinstance(first, list) and isinstance(more, list) and (first or more):
        whole["assert"] = more if skips else [*first, *more]
    return whole
