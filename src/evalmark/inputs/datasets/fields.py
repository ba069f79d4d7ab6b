"""The column names that files use for the fields of a case."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from evalmark.core.errors import ConfigError

from .options import ReadOptions

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "case_id", "sample_id", "name"),
    "input": ("input", "inputs", "question", "query", "prompt", "user_input", "vars"),
    "expected": (
        "expected", "expected_output", "expected_answer", "reference", "reference_answer", "reference_output",
        "target", "ground_truth", "answer_key", "correct_answer", "gold",
    ),
    "ideal": ("ideal",),
    "answer": ("answer", "actual_output", "actual_answer", "output", "response", "submission", "prediction"),
    "contexts": ("contexts", "context", "passages"),
    "retrieved": ("retrieval_context", "retrieval_contexts", "retrieved_context", "retrieved_contexts"),
    "tool_calls": ("tool_calls", "tools_called"),
    "history": ("history", "messages", "conversation", "chat_history"),
    "tags": ("tags", "tag"),
    "split": ("split",),
    "liked": ("liked",),
    "disliked": ("disliked",),
    "outputs": ("outputs",),
    "metadata": ("metadata",),
}  # fmt: skip
"""Case, spaces, `-` and `_` are ignored: `Ground Truth`, `ground-truth` and `groundTruth` are the same name."""

_WEAK = frozenset(("name",))
"""Names that count only if a row has no other name of the same field."""
_CASE_FIELDS = frozenset(("input", "answer", "history", "tool_calls"))
"""A row needs at least one of these to be a case."""
_TYPED_AS_TEXT = frozenset(SYNONYMS) - {"metadata", "tool_calls"}


JUDGED_ANSWER = "`answer` is read as an answer to be judged"
"""The beginning of the note on a column that may hold the correct answers instead."""
_REFERENCES = frozenset(("expected", "ideal", "liked", "disliked", "outputs"))


def normalized_name(name: str) -> str:
    """Normalize a column name for comparison.

    >>> normalized_name("Ground Truth")
    'groundtruth'
    """
    return re.sub(r"[\s_\-]+", "", name.casefold())


_FIELD_OF = {normalized_name(name): field for field, names in SYNONYMS.items() for name in names}


@dataclass(frozen=True, slots=True)
class RowLayout:
    """The keys of the fields in rows with the same keys."""

    single: tuple[tuple[str, str], ...]
    """(field, key) for fields with one key."""
    several: tuple[tuple[str, tuple[str, ...]], ...]
    """(field, keys) for fields with several possible keys."""
    rest: tuple[str, ...]
    """Keys that go to the metadata."""

    def field(self, name: str) -> str | None:
        """Return the only key of a field."""
        return next((key for field, key in self.single if field == name), None)

    @property
    def may_hold_reference(self) -> bool:
        """Whether a key `answer` is the only one that could hold the correct answer."""
        fields = {field for field, _ in (*self.single, *self.several)}
        return normalized_name(self.field("answer") or "") == "answer" and not fields & _REFERENCES


def field_of(name: str, options: ReadOptions, *, wrapped: bool = False) -> str | None:
    """Return the field of a column, or None for metadata.

    >>> field_of("Ground Truth", ReadOptions()), field_of("colour", ReadOptions())
    ('expected', None)
    """
    columns = options.columns
    for field, column in columns.items():
        if name == column:
            return field
    field_name = _FIELD_OF.get(normalized_name(name))
    if wrapped and field_name == "answer" and normalized_name(name) == "output":
        field_name = "expected"
    return None if field_name in columns else field_name


def typed_as_text(options: ReadOptions) -> Callable[[str], bool]:
    """Return a function that tells whether the words of a column stay text."""

    def is_text(name: str) -> bool:
        return field_of(name, options) in _TYPED_AS_TEXT

    return is_text


def parse_columns(arguments: Iterable[str]) -> ReadOptions:
    """Make options from `FIELD=NAME` arguments of the command line; a field may have any of its names.

    >>> parse_columns(["question=Frage", "reference=Antwort"]).columns
    {'input': 'Frage', 'expected': 'Antwort'}

    Raises:
        ConfigError: an argument has another form, or there is no such field.
    """
    field_names = [f.name for f in fields(ReadOptions)[3:]]
    columns: dict[str, str] = {}
    for text in arguments:
        name, _, column = text.partition("=")
        field = _FIELD_OF.get(normalized_name(name))
        if field not in field_names or not column:
            raise ConfigError(
                f"--column {text}: it takes FIELD=NAME, with one of {', '.join(field_names)} before the sign."
            )
        if columns.setdefault(field, column) != column:
            raise ConfigError(f"--column {text}: {field} already has the column {columns[field]!r}.")
    return ReadOptions(**columns)


def with_answer_as_reference(layout: RowLayout) -> RowLayout:
    """Return the layout with `answer` as the key of the expected answer, if no other key holds one."""
    if not layout.may_hold_reference:
        return layout
    return replace(
        layout, single=tuple(("expected" if field == "answer" else field, key) for field, key in layout.single)
    )


def can_be_case(names: Iterable[str], options: ReadOptions) -> bool:
    """Tell whether a row with these columns may be a case."""
    return any(field_of(name, options) in _CASE_FIELDS for name in names)


def no_input_message(names: Sequence[str]) -> str:
    """Make the message for fields without an input or an answer."""
    some = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f"no input among {some or 'no fields at all'}; rename a field, or {column_advice('input', 'NAME')}"


def column_advice(field: str, column: str, opening: str = "say which one") -> str:
    """Explain how to name the column of a field."""
    return f"{opening}: `{field}: {column}` beside the `path` in a suite, `--column {field}={column}` in `evalmark rag`"


def layout_of(keys: Sequence[str], options: ReadOptions, *, wrapped: bool = False) -> RowLayout:
    """Assign the keys of a row to fields and metadata."""
    keys_of: dict[str, list[str]] = {}
    rest: list[str] = []
    for key in keys:
        field = field_of(key, options, wrapped=wrapped)
        if field is None:
            rest.append(key)
        else:
            keys_of.setdefault(field, []).append(key)
    for names in keys_of.values():
        weak = [name for name in names if name in _WEAK] if len(names) > 1 else []
        rest += weak
        names[:] = [name for name in names if name not in weak] or names
    return RowLayout(
        single=tuple((field, names[0]) for field, names in keys_of.items() if len(names) == 1),
        several=tuple((field, tuple(names)) for field, names in keys_of.items() if len(names) > 1),
        rest=tuple(rest),
    )
