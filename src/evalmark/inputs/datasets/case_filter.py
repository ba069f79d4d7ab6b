"""Select cases by the conditions of `--filter`."""

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
"""Where a single word is searched: in the id and, if the id was generated, also in the input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One condition on a case."""

    field: str
    """`id`, `tag`, `dataset`, `input`, `id or input`, or `metadata.` and a key; a dot leads into a mapping."""
    pattern: str
    """With `*`, `?` and `[…]` as in file names; case-sensitive."""
    negated: bool = False

    def holds(self, case: Case, dataset: str) -> bool:
        """Tell whether one text of the field matches the pattern or, if negated, none does."""
        return any(fnmatchcase(text, self.pattern) for text in self._texts(case, dataset)) != self.negated

    def _texts(self, case: Case, dataset: str) -> Iterator[str]:
        if self.field == _WORD:
            yield from _leaves(case.id)
            if case.has_generated_id:  # nobody remembers a generated id
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
    """Selects the cases that meet every condition; without conditions, all cases."""

    conditions: tuple[Condition, ...] = ()
    texts: tuple[str, ...] = ()
    """The conditions as the user wrote them."""

    def __call__(self, case: Case, dataset: str) -> bool:
        """Tell whether a case of the dataset is selected."""
        return all(condition.holds(case, dataset) for condition in self.conditions)


def parse_filter(texts: Sequence[str]) -> CaseFilter:
    """Parse conditions: `FIELD=PATTERN`, `FIELD!=PATTERN`, or a part of the id.

    For a case with a generated id, such a part is also searched in the input.

    >>> wanted = parse_filter(["tag=geo", "id!=old-*"])
    >>> wanted(Case(id="new-1", tags=("geo",)), "cases"), wanted(Case(id="old-1", tags=("geo",)), "cases")
    (True, False)

    Raises:
        ConfigError: conditions are empty or name no field; the message names all faults.
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
        raise ConfigError("the condition is empty; write FIELD=PATTERN, or a part of the id.")
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
    """Escape a text for use in a pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in text)


def _composed(text: str) -> str:
    """Normalize a text, so that composed and decomposed accents are equal."""
    return text if text.isascii() else normalize("NFC", text)


def _found(metadata: Mapping[str, object], key: str) -> Iterator[object]:
    """Yield the value of a key; if no key has the whole name, follow its parts between dots."""
    if key in metadata:
        yield metadata[key]
        return
    parts = key.split(".")
    for end in range(1, len(parts)):
        inner = metadata.get(".".join(parts[:end]))
        if isinstance(inner, Mapping):
            yield from _found(inner, ".".join(parts[end:]))


def _leaves(value: object) -> Iterator[str]:
    """Yield all texts in a value, nested ones included; null has none."""
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
