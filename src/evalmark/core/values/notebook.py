"""How runs, comparisons and results show themselves in notebooks, and become rows of a table."""

from importlib import import_module
from typing import Any


class NotebookValue:
    """Shows a value as HTML in a notebook and as one line in print, and returns its rows."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return one readable line."""
        line: str = _views().line_of(self)
        return line

    def _repr_html_(self) -> str:
        """Return an HTML fragment with its own styles, for light and dark notebooks, without a script."""
        page: str = _views().html_of(self)
        return page

    def to_records(self) -> list[dict[str, Any]]:
        """Return the rows of the value.

        Returns:
            A mapping for each trial of a run, each score of a result, or each metric of a comparison. Rows of a run have
            `dataset`, `case`, `repeat`, `target`, `verdict`, `seconds`, `error`, `input`, `expected`, `output`, and for each metric
            `NAME value` (0 to 1), `NAME raw`, `NAME passed`, `NAME status` and `NAME reason`. Unknown is None.

        >>> from evalmark import evaluate
        >>> run = evaluate([{"id": "1", "input": "a", "expected": "A"}], str.upper, ["equals"], store=None)
        >>> [(row["case"], row["verdict"], row["equals value"]) for row in run.to_records()]
        [('1', 'pass', 1.0)]
        """
        rows: list[dict[str, Any]] = _views().records_of(self)
        return rows

    def to_pandas(self) -> Any:
        """Return the rows of `to_records` as a `pandas.DataFrame`.

        Raises:
            MissingExtraError: pandas is not installed; evalmark does not install it.
        """
        return _views().pandas_of(self)


def _views() -> Any:
    # By name, and at the first use only: values know nothing of reports, and most programs never show one.
    return import_module("evalmark.reports.files.notebook")
