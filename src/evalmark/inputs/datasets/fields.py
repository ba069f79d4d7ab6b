"""The names under which files keep the fields of a case."""

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
"""Case, spaces, `-` and `_` do not count: `Ground Truth`, `ground-truth` and `groundTruth` are one name."""

_WEAK = frozenset(("name",))
"""Names that count only where a row has no other of the same field."""
_ASKING = frozenset(("input", "answer", "history", "tool_calls"))
"""A row without any of these is no case."""
_TYPED_AS_TEXT = frozenset(SYNONYMS) - {"metadata", "tool_calls"}


JUDGED_ANSWER = "`answer` is read as an answer to be judged"
"""How a note begins that tells of a column which may as well hold the right answers."""
_REFERENCES = frozenset(("expected", "ideal", "liked", "disliked", "outputs"))


def normalized_name(name: str) -> str:
    """A name without what does not count in it.

    >>> normalized_name("Ground Truth")
    'groundtruth'
    """
    return re.sub(r"[\s_\-]+", "", name.casefold())


_FIELD_OF = {normalized_name(name): field for field, names in SYNONYMS.items() for name in names}


@dataclass(frozen=True, slots=True)
class RowLayout:
    """Which key of a row holds which field; the same for all rows with the same keys."""

    single: tuple[tuple[str, str], ...]
    """(field, key), where one key holds the field."""
    several: tuple[tuple[str, tuple[str, ...]], ...]
    """(field, keys), where more than one could."""
    rest: tuple[str, ...]
    """Keys that go to the metadata."""

    def field(self, name: str) -> str | None:
        """The key that holds a field alone."""
        return next((key for field, key in self.single if field == name), None)

    @property
    def may_hold_reference(self) -> bool:
        """Whether a key `answer` is all that could be the right answer."""
        known = {field for field, _ in (*self.single, *self.several)}
        return normalized_name(self.field("answer") or "") == "answer" and not known & _REFERENCES


def field_of(name: str, options: ReadOptions, *, wrapped: bool = False) -> str | None:
    """The field that a column holds, or None for metadata.

    >>> field_of("Ground Truth", ReadOptions()), field_of("colour", ReadOptions())
    ('expected', None)
    """
    columns = options.columns
    for field, column in columns.items():
        if name == column:
            return field
    found = _FIELD_OF.get(normalized_name(name))
    if wrapped and found == "answer" and normalized_name(name) == "output":
        found = "expected"
    return None if found in columns else found


def typed_as_text(options: ReadOptions) -> Callable[[str], bool]:
    """Tells the columns whose words stay words."""

    def is_text(name: str) -> bool:
        return field_of(name, options) in _TYPED_AS_TEXT

    return is_text


def parse_columns(said: Iterable[str]) -> ReadOptions:
    """Options out of `FIELD=NAME`, as a command line says them; a field goes by any of its names.

    >>> parse_columns(["question=Frage", "reference=Antwort"]).columns
    {'input': 'Frage', 'expected': 'Antwort'}

    Raises:
        ConfigError: it has another form, or there is no such field.
    """
    known = [f.name for f in fields(ReadOptions)[3:]]
    found: dict[str, str] = {}
    for text in said:
        name, _, column = text.partition("=")
        field = _FIELD_OF.get(normalized_name(name))
        if field not in known or not column:
            raise ConfigError(f"--column {text}: it takes FIELD=NAME, with one of {', '.join(known)} before the sign.")
        if found.setdefault(field, column) != column:
            raise ConfigError(f"--column {text}: {field} is said to be the column {found[field]!r} already.")
    return ReadOptions(**found)


def with_answer_as_reference(layout: RowLayout) -> RowLayout:
    """The layout with `answer` as the key of the expected answer, where no other key holds one."""
    if not layout.may_hold_reference:
        return layout
    return replace(
        layout, single=tuple(("expected" if field == "answer" else field, key) for field, key in layout.single)
    )


def can_be_case(names: Iterable[str], options: ReadOptions) -> bool:
    """Whether a row with these columns may be a case."""
    return any(field_of(name, options) in _ASKING for name in names)


def no_input_message(names: Sequence[str]) -> str:
    """What to say of fields among which there is neither an input nor an answer."""
    some = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f"no input among {some or 'no fields at all'}; rename a field, or {column_advice('input', 'NAME')}"


def column_advice(field: str, column: str, opening: str = "say which one") -> str:
    """How a user says which column holds a field."""
    return f"{opening}: `{field}: {column}` beside the `path` in a suite, `--column {field}={column}` in `evalmark rag`"


def layout_of(keys: Sequence[str], options: ReadOptions, *, wrapped: bool = False) -> RowLayout:
    """Sort the keys of a row into fields and metadata."""
    found: dict[str, list[str]] = {}
    rest: list[str] = []
    for key in keys:
        field = field_of(key, options, wrapped=wrapped)
        if field is None:
            rest.append(key)
        else:
            found.setdefault(field, []).append(key)
    for names in found.values():
        weak = [name for name in names if name in _WEAK] if len(names) > 1 else []
        rest += weak
        names[:] = [name for name in names if name not in weak] or names
    return RowLayout(
        single=tuple((field, names[0]) for field, names in found.items() if len(names) == 1),
        several=tuple((field, tuple(names)) for field, names in found.items() if len(names) > 1),
        rest=tuple(rest),
    )
