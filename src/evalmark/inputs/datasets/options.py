"""How a file is to be read, and what is said of a row that cannot be."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """What a user may say about a file whose columns or encoding do not speak for themselves."""

    format: str | None = None
    """`json`, `jsonl`, `csv`, `tsv`, `yaml` or `parquet`; None: by the end of the file's name."""
    encoding: str | None = None
    """None: UTF-8, with or without a byte order mark."""
    delimiter: str | None = None
    """Between the cells of a CSV file; None: the one the header suggests."""
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
        """The column that was named for each field."""
        named = {f.name: getattr(self, f.name) for f in fields(self)[3:]}
        return {field: column for field, column in named.items() if column is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRow:
    """A row that cannot be a case; the rows after it still can."""

    place: str
    """`file:line`."""
    message: str
    last: bool = False
    """Nothing after this place could be read."""

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"
