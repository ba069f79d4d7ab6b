"""Which cases of a dataset are wanted: the conditions of `--filter`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from unicodedata import normalize

from evalmark.core.errors import ConfigError
from evalmark.core.values.case import Case

KNOWN = "id, tag, dataset, input, metadata.KEY"
METADATA = "metadata."
_WORD = "id or input"
"""What a word alone is looked for in: the id, or, where that was made of the row, the input as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One thing that has to be true of a case."""

    field: str
    """`id`, `tag`, `dataset`, `input`, `id or input`, or `metadata.` and a key; a dot leads into a mapping."""
    pattern: str
    """With `*`, `?` and `[…]` as in names of files; capital and small letters differ."""
    negated: bool = False

    def holds(self, case: Case, dataset: str) -> bool:
        """Whether one of the texts that the field holds fits the pattern, or, negated, none does."""
        return any(fnmatchcase(text, self.pattern) for text in self._texts(case, dataset)) != self.negated

    def _texts(self, case: Case, dataset: str) -> Iterator[str]:
        if self.field == _WORD:
            yield from _leaves(case.id)
            if case.has_generated_id:  # nobody knows such an id by heart
                yield from _leaves(case.input)
        elif self.field.startswith(METADATA):
            for found in _found(case.metadata, self.field.removeprefix(METADATA)):
                yield from _leaves(found)
        else:
            yield from _leaves(_FIELDS[self.field](case, dataset))


_FIELDS: Mapping[str, Callable[[Case, str], object]] = {
    "id": lambda case, dataset: case.id,
    "tag": lambda case, dataset: case.tags,
    "dataset": lambda case, dataset: dataset,
    "input": lambda case, dataset: case.input,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFilter:
    """Chooses the cases of which every condition is true; without conditions, all of them."""

    conditions: tuple[Condition, ...] = ()
    texts: tuple[str, ...] = ()
    """The conditions as they were written."""

    def __call__(self, case: Case, dataset: str) -> bool:
        """Whether a case of the dataset of this name is wanted."""
        return all(condition.holds(case, dataset) for condition in self.conditions)


def parse_filter(texts: Sequence[str]) -> CaseFilter:
    """The filter that conditions make together: `FIELD=PATTERN`, `FIELD!=PATTERN`, or a part of the id alone.

    Of a case whose id was made of the row, such a part is looked for in its input too.

    >>> wanted = parse_filter(["tag=geo", "id!=old-*"])
    >>> wanted(Case(id="new-1", tags=("geo",)), "cases"), wanted(Case(id="old-1", tags=("geo",)), "cases")
    (True, False)

    Raises:
        ConfigError: a condition is empty or names no field; all faults are named at once.
    """
    conditions: list[Condition] = []
    faults: list[str] = []
    for text in texts:
        try:
            conditions.append(_condition(text))
        except ConfigError as fault:
            faults.append(f"--filter {text!r}: {fault}")
    if faults:
        raise ConfigError.of(faults)
    return CaseFilter(conditions=tuple(conditions), texts=tuple(texts))


def _condition(text: str) -> Condition:
    field, sign, pattern = text.partition("=")
    if not text.strip():
        raise ConfigError("there is nothing to choose by; write FIELD=PATTERN, or a part of the id.")
    if not sign:
        return Condition(field=_WORD, pattern=f"*{_plain(_composed(text))}*")
    negated = field.endswith("!")
    field = field.removesuffix("!").strip()
    if pattern.startswith("="):
        raise ConfigError(f"one = is enough: {field}={pattern.lstrip('=')}.")
    _check_field(field)
    return Condition(field=field, pattern=_composed(pattern), negated=negated)


def _check_field(field: str) -> None:
    if field in _FIELDS or (field.startswith(METADATA) and field != METADATA):
        return
    if field in (METADATA, METADATA.rstrip(".")):
        raise ConfigError("name the key whose value counts, as metadata.KEY=PATTERN.")
    close = get_close_matches(field.casefold(), _FIELDS, n=1)
    advice = f"did you mean {close[0]}?" if close else f"known are {KNOWN}."
    raise ConfigError(f"there is no field {field!r}; {advice}")


def _plain(text: str) -> str:
    """A pattern that fits this text and no other."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in text)


def _composed(text: str) -> str:
    """With one letter for what may also be written as two, `e` and its accent: they look the same."""
    return text if text.isascii() else normalize("NFC", text)


def _found(metadata: Mapping[str, object], key: str) -> Iterator[object]:
    """What stands under a key; where no key has the whole name, its parts between dots lead down."""
    if key in metadata:
        yield metadata[key]
        return
    parts = key.split(".")
    for end in range(1, len(parts)):
        inner = metadata.get(".".join(parts[:end]))
        if isinstance(inner, Mapping):
            yield from _found(inner, ".".join(parts[end:]))


def _leaves(value: object) -> Iterator[str]:
    """The texts in a value: of a list or a mapping, those of everything in it; null has none."""
    if isinstance(value, str):
        yield _composed(value)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    elif value is not None:
        yield str(value).lower() if isinstance(value, bool) else str(value)
