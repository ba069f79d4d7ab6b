"""Two runs beside each other, as a part of a page in HTML."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import islice

from evalmark.comparison import Comparison, TargetChange
from evalmark.wording import clean, compared

_FLIPS = 200
"""Cases that are named."""


def comparison_in_html(found: Comparison) -> Iterator[str]:
    """What else changed, the verdict and why, a table a target, and the cases that came out otherwise."""
    _, before = compared.compared_origin(found)
    yield f"<h2>Against {_safe(before)}: {compared.compared_outcome(found)}</h2>\n"
    yield "".join(f"<p class=quiet>{_safe(warning)}</p>\n" for warning in found.warnings)
    yield f"<p>{_safe(compared.verdict_sentence(found))}</p>\n"
    for target in found.targets:
        yield f"<p>{_safe(compared.target_title(target, several=len(found.targets) > 1))}</p>\n"
        yield _table(target)
        yield f"<p class=quiet>{_safe(' '.join(compared.table_remarks(found)))}</p>\n"
        yield _said(compared.change_remarks(target))
        yield from _flips(target)
        if remark := compared.slices_remark(target):
            yield f"<p class=quiet>Slices: {_safe(remark)}</p>\n"
        yield _said(compared.slice_lines(target))


def _table(target: TargetChange) -> str:
    headings = ("metric", "n", "before", "now", "difference", "p", "verdict")
    rows = [
        f"<tr><th>{_safe(row.metric)}<td>{row.n}<td>{_safe(row.before)}<td>{_safe(row.now)}"
        f"<td><b>{row.difference}</b><small>{row.interval}</small><td>{_safe(row.p)}<td>{_safe(row.verdict)}"
        for row in compared.change_rows(target)
    ]
    head = "".join(f"<th>{heading}" for heading in headings)
    return f"<div class=wide><table><thead><tr>{head}<tbody>{''.join(rows)}</table></div>\n"


def _flips(target: TargetChange) -> Iterator[str]:
    if not target.flips:
        return
    several = len({flip.dataset for flip in target.flips}) > 1
    lines = [compared.flip_line(flip, several=several) for flip in islice(target.flips, _FLIPS)]
    yield f"<details><summary>Flips: {compared.flips_title(target)}</summary>\n{_said(lines)}</details>\n"


def _said(lines: Sequence[tuple[str, str]]) -> str:
    rows = "".join(f"<tr><th>{_safe(about)}<td>{_safe(said)}" for about, said in lines)
    return f"<table class=said>{rows}</table>\n" if rows else ""


def _safe(text: str) -> str:
    return escape(clean(text))
