"""Two runs beside each other, as a part of a page in HTML."""

from collections.abc import Iterator
from itertools import islice

from evalmark.comparison import Comparison, TargetChange
from evalmark.wording import compared

from .html_parts import escaped, said

_FLIPS = 200
"""Cases that are named."""


def comparison_in_html(found: Comparison) -> Iterator[str]:
    """What else changed, the verdict and why, a table a target, and the cases that came out otherwise."""
    _, before = compared.compared_origin(found)
    yield f"<h2>Against {escaped(before)}: {compared.compared_outcome(found)}</h2>\n"
    yield "".join(f"<p class=quiet>{escaped(warning)}</p>\n" for warning in found.warnings)
    yield f"<p>{escaped(compared.verdict_sentence(found))}</p>\n"
    for target in found.targets:
        yield f"<p>{escaped(compared.target_title(target, several=len(found.targets) > 1))}</p>\n"
        yield _table(target)
        yield f"<p class=quiet>{escaped(' '.join(compared.table_remarks(found)))}</p>\n"
        yield said(compared.change_remarks(target))
        yield from _flips(target)
        if remark := compared.slices_remark(target):
            yield f"<p class=quiet>Slices: {escaped(remark)}</p>\n"
        yield said(compared.slice_lines(target))


def _table(target: TargetChange) -> str:
    headings = ("metric", "n", "before", "now", "difference", "p", "verdict")
    rows = [
        f"<tr><th>{escaped(row.metric)}<td>{row.n}<td>{escaped(row.before)}<td>{escaped(row.now)}"
        f"<td><b>{row.difference}</b><small>{row.interval}</small><td>{escaped(row.p)}<td>{escaped(row.verdict)}"
        for row in compared.change_rows(target)
    ]
    head = "".join(f"<th>{heading}" for heading in headings)
    return f"<div class=wide><table><thead><tr>{head}<tbody>{''.join(rows)}</table></div>\n"


def _flips(target: TargetChange) -> Iterator[str]:
    if not target.flips:
        return
    several = len({flip.dataset for flip in target.flips}) > 1
    lines = [compared.flip_line(flip, several=several) for flip in islice(target.flips, _FLIPS)]
    yield f"<details><summary>Flips: {compared.flips_title(target)}</summary>\n{said(lines)}</details>\n"
