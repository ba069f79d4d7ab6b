"""Suggest a known name for an unknown one."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from .values.case import Case


def did_you_mean(name: str, known: Iterable[str], form: str = "{!r}", *, cutoff: float = 0.6) -> str:
    """Return a question that names the most similar known name; empty if none is similar.

    Args:
        name: the unknown name.
        known: the known names.
        form: how to write the known name.
        cutoff: the least similarity, from 0 to 1.

    >>> did_you_mean("colour", ["color", "size"]), did_you_mean("weight", ["color", "size"])
    ("did you mean 'color'?", '')
    """
    close = get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return f"did you mean {form.format(close[0])}?" if close else ""


def no_cluster_field(field: str, source: str, case: Case | None) -> str:
    """Describe a field that should cluster cases and that no case has, with what a case has instead.

    Args:
        field: the missing field.
        source: what names it: `cluster` or `--cluster`.
        case: one of the cases; None if there is none.

    >>> no_cluster_field("documnt", "--cluster", Case(id="1", input="Who?", metadata={"document": "a.pdf"}))
    "`documnt`, the field that --cluster names, in its metadata or its input; did you mean 'document'?"
    """
    given = () if case is None else (case.metadata, case.input)
    names = [str(name) for fields in given if isinstance(fields, Mapping) for name in fields]
    others = f"the first one has {', '.join(names[:10])}." if names else "add it to the rows, or leave it out."
    return f"`{field}`, the field that {source} names, in its metadata or its input; {did_you_mean(field, names) or others}"
