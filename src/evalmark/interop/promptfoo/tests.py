"""Read the tests of a promptfoo config: merge defaults, expand lists of values, and read files of rows."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from evalmark.core.errors import DataError
from evalmark.core.values.plain_data import canonical
from evalmark.inputs.documents.document import DataPath, Document
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.json_walk import json_path
from evalmark.interop.shared.import_builder import ImportBuilder
from evalmark.interop.shared.items import dict_or_empty, list_or_empty, list_or_one
from evalmark.interop.shared.tables import RawRow, read_rows

from .assertion_requests import UnsupportedAssertionError
from .assertions import TYPES
from .sources import (
    CODE_ENDINGS,
    UnreadableSourceError,
    matching_files,
    read_documents,
    value_of_file,
    variable_files,
    variables_from,
)
from .templates import variables_of
from .variables import fill_variables, without_raw_marks

Data = dict[str, Any]
MOST = 100_000
"""The most tests after lists of values, scenarios and files are expanded."""
MOST_LETTERS = 200
"""Characters of a description that names its case."""
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
    name: str = ""
    """Its description, if no other test has it."""

    @property
    def options(self) -> Mapping[str, Any]:
        """The options with a value."""
        options = dict_or_empty(self.fields.get("options"))
        return {key: value for key, value in options.items() if value is not None}


def named(tests: Sequence[Test]) -> list[Test]:
    """Name each test by its description, unless tests with other variables have the same one."""
    names = unique_descriptions((test.fields.get("description"), test.variables) for test in tests)
    descriptions = (test.fields.get("description") for test in tests)
    return [
        replace(test, name=name) if isinstance(name, str) and name in names else test
        for test, name in zip(tests, descriptions, strict=True)
    ]


def unique_descriptions(tests: Iterable[tuple[Any, Any]]) -> frozenset[str]:
    """Return the descriptions that name one set of variables, of pairs of both."""
    variables: dict[str, set[str]] = {}
    for description, values in tests:
        if isinstance(description, str) and 0 < len(description) <= MOST_LETTERS and description.isprintable():
            variables.setdefault(description, set()).add(canonical(values))
    return frozenset(name for name, found in variables.items() if len(found) == 1)


def tests_of(document: Document, data: Data, at: DataPath, builder: ImportBuilder) -> Iterator[Test]:
    """Yield every test of the config at a path; a config without any has one test without variables.

    Raises:
        DataError: a test or assertion is invalid, or the config expands to more than 100,000 tests.
    """
    for number, test in enumerate(_all_tests(document, data, at, builder), 1):
        if number > MOST:
            raise PlacedError(document.place_of(at), f"the tests expand to more than {MOST:,}; divide the file.")
        yield test


def _all_tests(document: Document, data: Data, at: DataPath, builder: ImportBuilder) -> Iterator[Test]:
    reading = _TestReader(document, builder, document.path.parent)
    defaults = reading.mapping((*at, "defaultTest"), data.get("defaultTest"))
    tests = data.get("tests")
    rows = list_or_one(tests)
    if not isinstance(tests, (str, dict, list, type(None))):
        raise reading.fault((*at, "tests"), "is neither a list of tests nor the name of a file")
    if not rows and not data.get("scenarios") and (data.get("prompts") or tests == []) and "redteam" not in data:
        rows = [{}]  # promptfoo asks every prompt once
    for number, row in enumerate(rows):
        yield from reading.test(row, defaults, (*at, "tests", number) if isinstance(tests, list) else (*at, "tests"))
    scenarios = data.get("scenarios")
    if not isinstance(scenarios, (str, list, type(None))):
        raise reading.fault((*at, "scenarios"), "is not a list")
    for number, scenario in enumerate(list_or_one(scenarios)):
        yield from reading.scenario(scenario, defaults, (*at, "scenarios", number))


@dataclass(frozen=True, slots=True)
class _TestReader:
    document: Document
    builder: ImportBuilder
    folder: Path
    """The folder of the config, to which all names of files are relative."""

    def fault(self, at: DataPath, what: str) -> PlacedError:
        return PlacedError(self.document.place_of(at), f"`{json_path(at)}` {what}.")

    def mapping(self, at: DataPath, value: Any) -> Data:
        """Return a mapping, or the one in the file that is named in its place."""
        if isinstance(value, str):
            try:
                [document] = read_documents(value, self.folder)
            except (UnreadableSourceError, ValueError) as error:
                self.left(at, str(error))
                return {}
            value = document.data
        if value is None or isinstance(value, dict):
            return value or {}
        raise self.fault(at, "is not a mapping")

    def rows(self, at: DataPath, value: Any) -> list[Any]:
        if value is None or isinstance(value, list):
            return value or []
        raise self.fault(at, "is not a list")

    def left(self, at: DataPath, why: str) -> None:
        self.builder.part(f"{self.document.place_of(at)} {json_path(at)}", "left out", why)

    def scenario(self, value: Any, defaults: Data, at: DataPath) -> Iterator[Test]:
        if isinstance(value, str):
            for document in self.documents(value, at):
                inner = _TestReader(document, self.builder, self.folder)
                for number, scenario in enumerate(list_or_one(document.data)):
                    yield from inner.scenario(scenario, defaults, (number,))
            return
        row = self.mapping(at, value)
        tests = [{}] if row.get("tests") is None else list_or_one(row["tests"])
        for number, config in enumerate(self.expanded(row.get("config"), (*at, "config"))):
            under = merge_defaults(defaults, self.mapping((*at, "config", number), config))
            for number_in_scenario, test in enumerate(tests):
                yield from self.test(test, under, (*at, "tests", number_in_scenario))

    def expanded(self, value: Any, at: DataPath) -> Iterator[Any]:
        """Yield the items of a list, and those of the files that it names."""
        for item in list_or_one(value):
            if not isinstance(item, str):
                yield item
            elif item.lower().endswith(".csv"):
                yield from (csv_test(row.cells) for path in self.files(item, at) for row in self.csv_rows(path))
            else:
                for document in self.documents(item, at):
                    yield from list_or_one(document.data)

    def test(self, value: Any, defaults: Data, at: DataPath) -> Iterator[Test]:
        if isinstance(value, dict) and isinstance(value.get("path"), str) and "vars" not in value:
            if value.get("config"):
                self.left((*at, "config"), "it is for code that makes tests")
            value = value["path"]
        if isinstance(value, str):
            yield from self.file(value, defaults, at)
            return
        row = self.mapping(at, value)
        self.rows((*at, "assert"), row.get("assert"))
        self.rows(("defaultTest", "assert"), defaults.get("assert"))
        place = self.document.place_of(at)
        where = f"{place} {json_path(at)}"
        try:
            row, under = self.with_variables(row, at), self.with_variables(defaults, ("defaultTest",))
            whole = merge_defaults(under, row)
            variables = self.mapping((*at, "vars"), whole.get("vars"))
            spread = not dict_or_empty(whole.get("options")).get("disableVarExpansion")
            for values in self.spread(variables, at) if spread else (variables,):
                yield self.one({**whole, "vars": values}, place, where)
        except UnreadableSourceError as error:
            self.builder.part(where, "left out", str(error))

    def with_variables(self, row: Data, at: DataPath) -> Data:
        """Return a test whose variables are not in other files."""
        names = row.get("vars")
        if not isinstance(names, (str, list)) or not all(isinstance(name, str) for name in names):
            return row
        return {**row, "vars": variables_from([names] if isinstance(names, str) else names, self.folder)}

    def one(self, whole: Data, place: str, where: str) -> Test:
        """Make a test from data with its defaults merged in."""
        rest = {key: value for key, value in whole.items() if key not in ("vars", "assert")}
        variables, lost = whole.get("vars") or {}, ""
        try:
            variables = resolve_variables(variables, self.folder)
        except UnsupportedAssertionError as refused:
            lost = refused.why
        asserts = self.asserts(whole, place, where)
        return Test(variables=variables, asserts=asserts, fields=rest, place=where, lost=lost)

    def spread(self, variables: Data, at: DataPath) -> Iterator[Data]:
        """Yield one test for each combination of values of variables that are lists, as promptfoo does."""
        lists = [value if _is_spread(value) else variable_files(value, self.folder) for value in variables.values()]
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
            assertion = item
            if isinstance(item, dict) and "$ref" in item:
                self.builder.part(f"{where} $ref", "left out", f"{str(item['$ref'])!r:.80} is not in the file")
                continue
            if not isinstance(assertion, dict) or not isinstance(assertion.get("type"), str):
                self.builder.part(f"{where} assertion {number + 1}", "left out", "it has no `type`")
                continue
            own = f"{where} {assertion.get('metric') or assertion['type']}"
            assertions += (
                self.of_set(assertion, own, whole) if assertion["type"] == "assert-set" else [(assertion, own)]
            )
        return tuple(assertions)

    def of_set(self, assert_set: Data, own: str, test: Data) -> Iterator[tuple[Data, str]]:
        """Yield the assertions of a set, which passes if each of them does; or the set itself, if a mean score counts."""
        items = list_or_empty(assert_set.get("assert"))
        members: list[Data] = []
        for item in items:
            kind = item.get("type") if isinstance(item, dict) else None
            if isinstance(kind, str) and kind != "assert-set":
                members.append(item)
            else:
                what = "is a set itself, which promptfoo always fails" if kind == "assert-set" else "has no `type`"
                self.builder.part(own, "left out", f"an assertion of the set {what}")
        if assert_set.get("threshold") is not None or test.get("threshold") is not None:
            if len(members) == len(items):  # the mean of fewer assertions is another one
                yield {**assert_set, "assert": members}, own
            return
        self.builder.part(own, "kept", "each assertion of the set")
        yield from ((one, own) for one in members)

    def file(self, name: str, defaults: Data, at: DataPath) -> Iterator[Test]:
        """Yield the tests of a file or pattern that the config names; files lie under the config's folder or its project."""
        plain = name.removeprefix("file://")
        if plain.lower().partition(":")[0].endswith(CODE_ENDINGS):
            self.left(at, "a generator of tests is code")
        elif plain.startswith(_REMOTE):
            self.left(
                at, "it is on another machine; save its rows as CSV, a column for each variable, and name that file"
            )
        elif plain.lower().endswith(".csv"):
            for path in self.files(plain, at):
                for row in self.csv_rows(path):
                    yield self.one(merge_defaults(defaults, csv_test(row.cells)), row.place, row.place)
        else:
            for document in self.documents(plain, at):
                yield from self.in_document(document, defaults)

    def in_document(self, document: Document, defaults: Data) -> Iterator[Test]:
        inner = _TestReader(document, self.builder, self.folder)
        for number, test in enumerate(list_or_one(document.data)):
            if isinstance(test, dict):
                yield from inner.test(test, defaults, (number,))
            else:
                inner.left((number,), "it is not a test; a file of tests that names another one is not followed")

    def documents(self, name: str, at: DataPath) -> Iterator[Document]:
        """Yield the data files of a name or pattern; one that cannot be read is left out."""
        try:
            yield from read_documents(name, self.folder)
        except UnreadableSourceError as error:
            self.left(at, str(error))

    def files(self, name: str, at: DataPath) -> list[Path]:
        try:
            return matching_files(name, self.folder)
        except UnreadableSourceError as error:
            self.left(at, str(error))
            return []

    def csv_rows(self, path: Path) -> list[RawRow]:
        return read_rows(path, (), self.builder.remark)


_CELL = re.compile(
    rf"(not-)?({'|'.join(map(re.escape, sorted(TYPES)))})(?:\(([0-9]+(?:\.[0-9]+)?)\))?(?::(.*))?", re.DOTALL
)
_WITH_THRESHOLD = (
    "answer-relevance", "classifier", "context-faithfulness", "context-recall", "context-relevance", "cost", "latency",
    "levenshtein", "perplexity-score", "perplexity", "rouge-n", "similar", "starts-with",
)  # fmt: skip
"""Types that take a threshold from a cell; promptfoo ignores that of others."""
_CSV_THRESHOLD, _CSV_SIMILAR = 0.75, 0.8
"""The thresholds of these types in a cell without one, whatever they are in a config."""
_CODE_CELL = re.compile(r"file://[^:]+(\.py|\.[cm]?[jt]s)(?::\w+)?")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_PASSES = 5
"""How often promptfoo fills variables into variables."""
_SHORT = {"fn:": "javascript:", "eval:": "javascript:", "grade:": "llm-rubric:"}


def _is_spread(value: Any) -> bool:
    """Tell whether promptfoo expands a list: only if its first item is a text."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], str)


def resolve_variables(variables: Mapping[str, Any], folder: Path) -> Data:
    """Read the variables that are files, and fill in those that the texts of other variables name.

    Raises:
        UnsupportedAssertionError: a file is code or cannot be read, or a text is a template that does more.
    """
    values = dict(variables)
    for name, value in variables.items():
        if isinstance(value, str) and value.startswith(("file://", "package:")):
            try:
                values[name] = value_of_file(value, folder)
            except (UnreadableSourceError, DataError) as error:
                raise UnsupportedAssertionError(f"the variable {name!r:.40}: {error}") from None
        elif isinstance(value, str):
            values[name] = value.removesuffix("\n")
    try:
        return {name: _resolved(value, values) for name, value in values.items()}
    except UnsupportedAssertionError as refused:
        raise UnsupportedAssertionError(f"a variable: {refused.why}") from None


def _resolved(value: Any, variables: Mapping[str, Any]) -> Any:
    """Fill in variables until nothing changes; a text with an unknown variable stays as it is."""
    plain = without_raw_marks(value)
    if not isinstance(value, str) or plain != value:
        return plain
    for _ in range(_PASSES):
        names = variables_of(plain)
        if not names or any(name not in variables for name in names):
            break
        plain = fill_variables(plain, variables)
    return plain


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
    elif kind in ("__description", "__providerOutput"):
        test[kind.removeprefix("__")] = cell
    elif kind == "__threshold":
        test |= {"threshold": float(cell)} if _NUMBER.fullmatch(cell.strip()) else {}
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
    text = cell.strip()
    if code := _CODE_CELL.fullmatch(text):
        return {"type": "python" if code[1] == ".py" else "javascript", "value": text}
    first = next((short for short in _SHORT if text.startswith(short)), "")
    match = _CELL.fullmatch(_SHORT.get(first, "") + text.removeprefix(first))
    if match is None:
        return {"type": "equals", "value": text}
    kind = match[2]
    value = {} if match[4] is None else {"value": match[4].strip()}
    if kind not in _WITH_THRESHOLD:
        return {"type": f"{match[1] or ''}{kind}", **value}
    usual = _CSV_SIMILAR if kind == "similar" else _CSV_THRESHOLD
    return {"type": f"{match[1] or ''}{kind}", **value, "threshold": float(match[3]) if match[3] else usual}


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
