"""Build cases from rows of files and from Python values."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalmark.core.errors import DataError
from evalmark.core.values.case import Case, Example, Output, Turn
from evalmark.inputs.documents.errors import PlacedError

from .converters import CONVERTERS
from .fault_list import FaultList
from .fields import JUDGED_ANSWER, RowLayout, column_advice, layout_of, no_input_message, with_answer_as_reference
from .ids import FieldError, SeenIds, generated_id
from .options import BadRow, ReadOptions
from .rows import DatasetFile, RowReader, ignore_note
from .similar_names import similar_name_notes

_MOST_LAYOUTS = 1_000
_NOTHING: Mapping[str, Any] = {}
_SCORING_FIELDS = frozenset(("assert", "asserts", "assertions", "evaluators", "metrics", "scorers", "threshold"))
"""Fields with which rows of other tools configure scoring."""


class RowError(ValueError):
    """A row is invalid; the text names every fault."""


class CaseBuilder:
    """Builds the cases of one file and checks that their ids are unique."""

    def __init__(self, source: DatasetFile) -> None:
        """`source` is a file whose format reader has started."""
        self._source = source
        self._layouts: dict[tuple[str, ...], RowLayout] = {}
        self._places = SeenIds()
        self._repeats: dict[str, int] = {}

    def build(self, row: Any, line: int, column: int = 0) -> Case:
        """Build the case of a row: a mapping, a text (the input), or a case.

        Raises:
            RowError: the row is invalid.
        """
        if isinstance(row, Case):
            return self._adopt(row, line, column)
        if isinstance(row, str):
            row = {"input": row}
        if not isinstance(row, Mapping):
            raise RowError(f"a row is a mapping of field names to values, not {type(row).__name__}.")
        faults: list[str] = []
        raw_fields = self._found(row, faults)
        values = self._converted(raw_fields, faults)
        case = None if faults else self._case(values, row, self._source.place(line, column), faults)
        if case is None:
            raise RowError("; ".join(faults) + ".")
        self._register(case.id, line, column)
        return case

    def _adopt(self, case: Case, line: int, column: int) -> Case:
        if not isinstance(case.id, str) or not case.id.strip():
            raise RowError("the case has no id.")
        self._register(case.id, line, column)
        return case

    def _register(self, name: str, line: int, column: int) -> None:
        if earlier := self._places.put(name, line, column):
            raise RowError(f"the id {name!r} occurs a second time; the first one is at {self._source.place(*earlier)}.")

    def _layout(self, row: Mapping[str, Any]) -> RowLayout:
        keys = tuple(row)
        layout = self._layouts.get(keys)
        if layout is None:
            if not all(isinstance(key, str) for key in keys):
                raise RowError("the field names of a row are texts.")
            layout = layout_of(keys, self._source.options, wrapped=self._source.wrapped)
            if self._source.answer_is_reference:
                layout = with_answer_as_reference(layout)
            if not self._layouts:
                self._explain_answer(layout)
            self._explain_judging(layout)
            for note in similar_name_notes(layout.rest):
                self._source.notes(note)
            if len(self._layouts) < _MOST_LAYOUTS:
                self._layouts[keys] = layout
        return layout

    def _explain_answer(self, layout: RowLayout) -> None:
        """Note how an ambiguous column was read."""
        if layout.may_hold_reference:
            self._source.notes(
                f"{JUDGED_ANSWER}; if it is the right one, {column_advice('expected', 'answer', 'say so')}."
            )

    def _explain_judging(self, layout: RowLayout) -> None:
        """Note that another tool's scoring fields have no effect."""
        for key in layout.rest:
            if key.casefold() in _SCORING_FIELDS:
                self._source.notes(
                    f"`{key}` is kept in the metadata and has no effect; name scorers and thresholds in the suite."
                )

    def _found(self, row: Mapping[str, Any], faults: list[str]) -> dict[str, tuple[str, Any]]:
        """Return the key and value of each field that is not empty."""
        layout = self._layout(row)
        raw_fields = {field: (key, value) for field, key in layout.single if (value := row[key]) is not None}
        for field, keys in layout.several:
            full = [key for key in keys if row[key] is not None]
            if len(full) > 1:
                names = " and ".join(f"`{key}`" for key in full)
                option = f"; {column_advice(field, full[0])}" if field in ReadOptions.__slots__ else ""
                faults.append(f"{names} both hold the {field}{option}")
            elif full:
                raw_fields[field] = (full[0], row[full[0]])
        if layout.rest:
            raw_fields["rest"] = ("", {key: row[key] for key in layout.rest})
        return raw_fields

    def _converted(self, raw_fields: dict[str, tuple[str, Any]], faults: list[str]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for field, (key, value) in raw_fields.items():
            convert = CONVERTERS.get(field)
            if convert is None:
                values[field] = value
                continue
            try:
                values[field] = convert(value, self._source.cells and isinstance(value, str))
            except FieldError as fault:
                faults.append(f"`{key}`: {fault}")
        return values

    def _case(self, values: dict[str, Any], row: Mapping[str, Any], place: str, faults: list[str]) -> Case | None:
        given_output = _given(values)
        history: tuple[Turn, ...] = values.get("history", ())
        question = values.get("input")
        if question is None and history and history[-1].role == "user":
            question, history = history[-1].content, history[:-1]
        expected, examples = _examples(values, faults)
        metadata = _metadata(values, faults)
        is_conversation = bool(history) and history[-1].role == "system"  # instructions alone, which a model answers
        if question is None and given_output is None and not is_conversation:
            faults.append(self._no_input(row))
        if faults:
            return None
        name = values.get("id") or self._made_id(question, values.get("history"), expected, row)
        return Case(
            id=name,
            input=question,
            expected=expected,
            examples=examples,
            contexts=_contexts(values, given_output),
            history=history,
            given=given_output,
            tags=values.get("tags", ()) + values.get("split", ()),
            metadata=metadata,
            place=place,
        )

    def _made_id(self, question: Any, history: Any, expected: Any, row: Mapping[str, Any]) -> str:
        """Generate an id from the row; duplicates get a number."""
        turns = [[turn.role, turn.content] for turn in history] if history else None
        name = generated_id(question, turns, expected, row)
        count = self._repeats.get(name, 1 if self._places.seen(name) else 0) + 1
        if count == 1:
            return name
        self._repeats[name] = count
        return f"{name}-{count}"

    def _no_input(self, row: Mapping[str, Any]) -> str:
        column = self._source.options.input
        if column is not None and column not in row:
            names = ", ".join(list(row)[:12]) + (", …" if len(row) > 12 else "")
            return f"there is no `{column}` among {names}"
        return no_input_message(list(row))


def _given(values: Mapping[str, Any]) -> Output | None:
    answer, calls = values.get("answer"), values.get("tool_calls", ())
    if answer is None and not calls:
        return None
    return Output(value=answer, contexts=values.get("retrieved"), tool_calls=calls)


def _contexts(values: Mapping[str, Any], given_output: Output | None) -> tuple[str, ...] | None:
    """Return the case's contexts; retrieved passages belong to the output, if the row has one."""
    contexts: tuple[str, ...] | None = values.get("contexts")
    return values.get("retrieved") if contexts is None and given_output is None else contexts


def _examples(values: Mapping[str, Any], faults: list[str]) -> tuple[Any, tuple[Example, ...]]:
    """Return the expected answer and the further examples."""
    expected, ideal = values.get("expected"), values.get("ideal", ())
    if ideal and expected is not None:
        faults.append("`ideal` and another field both hold the expected answer; leave one out")
    further = tuple(Example(value=value) for value in ideal[1:])
    examples = further + values.get("liked", ()) + values.get("disliked", ()) + values.get("outputs", ())
    return (ideal[0] if ideal else expected), examples


def _metadata(values: Mapping[str, Any], faults: list[str]) -> Mapping[str, Any]:
    metadata, rest = values.get("metadata", _NOTHING), values.get("rest", _NOTHING)
    if not metadata or not rest:
        return dict(metadata or rest)
    if both := sorted(metadata.keys() & rest.keys()):
        faults.append(f"`{both[0]}` occurs both in the metadata and outside of them")
    return {**metadata, **rest}


def without_repeats(notes: Callable[[str], None]) -> Callable[[str], None]:
    """Return a function that passes on each note once."""
    passed: set[str] = set()

    def note(text: str) -> None:
        if text not in passed:
            passed.add(text)
            notes(text)

    return note


def build_cases(source: DatasetFile, reader: RowReader) -> Iterator[Case | BadRow]:
    """Yield cases and bad rows. A fault before the first row is raised; a later one is yielded as the last row."""
    builder: CaseBuilder | None = None
    try:
        for line, column, value in reader(source):
            if builder is None:
                builder = CaseBuilder(source)
            if isinstance(value, PlacedError):
                yield BadRow(place=value.place, message=value.message)
                continue
            try:
                case = builder.build(value, line, column)
            except RowError as fault:
                yield BadRow(place=source.place(line, column), message=str(fault))
                continue
            yield case
    except PlacedError as fault:
        if builder is None:
            raise
        yield BadRow(place=fault.place, message=f"{fault.message} The rest of the file cannot be read.", last=True)


def as_cases(
    items: Iterable[Case | Mapping[str, Any] | str],
    *,
    notes: Callable[[str], None] | None = None,
    answer_is_reference: bool = False,
) -> list[Case]:
    """Make cases from Python values: cases, mappings with any usual field names, and texts (inputs).

    Args:
        items: the values.
        notes: called with remarks for the user, one sentence each.
        answer_is_reference: whether `answer` holds the expected answer of mappings without another one.

    >>> as_cases(["ping", {"question": "2 + 2?", "reference": "4"}])[1].expected
    '4'

    Raises:
        DataError: some items are not valid cases; the message names all of them.
    """
    cases: list[Case] = []
    faults = FaultList()
    for row in iter_cases(items, notes=notes, answer_is_reference=answer_is_reference):
        if isinstance(row, Case):
            cases.append(row)
        else:
            faults.add(row.message, row.place)
    if found := faults.lines():
        raise DataError("\n".join(found))
    return cases


def iter_cases(
    items: Iterable[Case | Mapping[str, Any] | str],
    place: str = "",
    *,
    notes: Callable[[str], None] | None = None,
    answer_is_reference: bool = False,
) -> Iterator[Case | BadRow]:
    """Make cases from Python values one by one; an invalid item is yielded as a `BadRow`.

    Args:
        items: cases, mappings or texts.
        place: the place of each case and the beginning of each fault; empty: the number of the item.
        notes: called with remarks for the user, one sentence each.
        answer_is_reference: whether `answer` holds the expected answer of mappings without another one.

    Raises:
        DataError: `items` is a single text, mapping or case.
    """
    if isinstance(items, (str, Mapping, Case)):
        raise DataError(f"cases come as a list of cases, mappings or texts, not as one {type(items).__name__}.")
    source = _ItemList(Path(), ReadOptions(), without_repeats(notes or ignore_note))
    source.answer_is_reference = answer_is_reference
    builder = CaseBuilder(source)
    for number, item in enumerate(items, start=1):
        try:
            case = builder.build(item, number)
        except RowError as fault:
            where = f"{place}: {source.place(number)}" if place else source.place(number)
            yield BadRow(place=where, message=str(fault))
        else:
            yield replace(case, place=place) if place else case


class _ItemList(DatasetFile):
    """Python values instead of the rows of a file."""

    def place(self, line: int, column: int = 0) -> str:
        return f"item {line}"
