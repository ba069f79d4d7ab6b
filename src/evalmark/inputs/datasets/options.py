"""Options for reading a file, and rows that cannot be read."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How to read a file whose format, encoding or columns are not the usual ones."""

    format: str | None = None
    """`json`, `jsonl`, `csv`, `tsv`, `yaml` or `parquet`; None: by the file's ending."""
    encoding: str | None = None
    """None: UTF-8, with or without a byte order mark."""
    delimiter: str | None = None
    """The delimiter of a CSV file; None: detected from the header."""
    id: str | None = None
    """The column (or key) that holds the id; the same for every field below. None: any usual name."""
    input: str | None = None
    expected: str | None = None
    answer: str | None = None
    contexts: str | None = None
    history: str | None = None
    tags: str | None = None
    liked: str | None = None
    disliked: str | None = None

    @property
    def columns(self) -> dict[str, str]:
        """The column set for each field."""
        named = {f.name: getattr(self, f.name) for f in fields(self)[3:]}
        return {field: column for field, column in named.items() if column is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRow:
    """A row that is not a valid case; later rows are still read."""

    place: str
    """`file:line`."""
    message: str
    last: bool = False
    """Nothing after this place could be read."""

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"
