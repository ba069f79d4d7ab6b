"""The names under which files keep the fields of a case."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

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
_TYPED_AS_TEXT = frozenset(SYNONYMS) - {"metadata", "tool_calls"}


def _plainly(name: str) -> str:
    return re.sub(r"[\s_\-]+", "", name.casefold())


_FIELD_OF = {_plainly(name): field for field, names in SYNONYMS.items() for name in names}


@dataclass(frozen=True, slots=True)
class Layout:
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


def field_of(name: str, options: ReadOptions, *, wrapped: bool = False) -> str | None:
    """The field that a column holds, or None for metadata.

    >>> field_of("Ground Truth", ReadOptions()), field_of("colour", ReadOptions())
    ('expected', None)
    """
    columns = options.columns
    for field, column in columns.items():
        if name == column:
            return field
    found = _FIELD_OF.get(_plainly(name))
    if wrapped and found == "answer" and _plainly(name) == "output":
        found = "expected"
    return None if found in columns else found


def typed_as_text(options: ReadOptions) -> Callable[[str], bool]:
    """Tells the columns whose words stay words."""

    def is_text(name: str) -> bool:
        return field_of(name, options) in _TYPED_AS_TEXT

    return is_text


def layout_of(keys: Sequence[str], options: ReadOptions, *, wrapped: bool = False) -> Layout:
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
    return Layout(
        single=tuple((field, names[0]) for field, names in found.items() if len(names) == 1),
        several=tuple((field, tuple(names)) for field, names in found.items() if len(names) > 1),
        rest=tuple(rest),
    )
