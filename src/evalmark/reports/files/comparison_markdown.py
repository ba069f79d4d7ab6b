"""Two runs beside each other as Markdown, for a pull request."""

from collections.abc import Iterator, Sequence
from itertools import islice

from evalmark.core.text import cut, display_text, unwrap_single_input
from evalmark.reports.text import comparison
from evalmark.reports.text.side_names import TWO_RUNS, Heads, heads_of
from evalmark.reports.text.titles import name_of
from evalmark.reports.text.word_changes import GONE, NEW, Piece, marked, word_changes
from evalmark.stats.comparison.change import Comparison, TargetChange
from evalmark.stats.comparison.flip_examples import FlipExample

from .markdown import LONGEST, block, in_html, listed, safe

MARKS = {"better": "✅", "same": "✅", "worse": "❌", "cannot tell": "❔"}
_FLIPS = 50
"""Cases that are named where no number is given."""


def comparison_in_markdown(found: Comparison, pairs: Sequence[FlipExample] = (), limit: int = _FLIPS) -> Iterator[str]:
    """What else changed, the verdict and why, a table a target, and the cases that came out otherwise.

    `limit` of these are named; with `pairs`, both answers to each stand beside each other.
    """
    title = f"{comparison.compared_title(found)}: {comparison.compared_outcome(found)}"
    yield f"## {MARKS[found.outcome]} {safe(title)}\n\n"
    yield from comparison_part(found, pairs, limit)
    yield f"<sub>{safe(comparison.compared_runs(found))}</sub>\n"


def comparison_part(found: Comparison, pairs: Sequence[FlipExample] = (), limit: int = _FLIPS) -> Iterator[str]:
    """The same without its title, for a page of something else."""
    yield "".join(f"> {safe(warning)}\n" for warning in found.warnings) + ("\n" if found.warnings else "")
    said, command = comparison.restoring(found)
    if said:
        yield f"{safe(said)}" + (f" `{command.replace('`', '')}`" if command else "") + "\n\n"
    yield f"**{comparison.compared_outcome(found).capitalize()}:** {safe(comparison.verdict_sentence(found))}\n\n"
    heads = TWO_RUNS
    for target in found.targets:
        heads, several = heads_of(found, target), len(found.targets) > 1
        yield f"{safe(comparison.target_title(target, several=several, of_one_run=heads.of_one_run))}\n\n"
        yield _table(found, target, heads)
        yield from listed("", comparison.change_remarks(target, heads.where))
        yield from _flips(target, heads, limit)
        yield from _slices(target)
    yield from (_pair(pair, heads) for pair in pairs)


def _table(found: Comparison, target: TargetChange, heads: Heads) -> str:
    lines = [
        f"| metric | n | {safe(heads.before)} | {safe(heads.now)} | difference | {100 * found.level:g} % interval | p | verdict |",
        "|:--|--:|--:|--:|--:|:--|--:|:--|",
    ]
    for row in comparison.change_rows(target):
        cells = [
            safe(row.metric),
            row.n,
            row.before,
            row.now,
            f"**{row.difference}**",
            row.interval,
            row.p,
            row.verdict,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + f"\n\n{safe(' '.join(comparison.table_remarks(found)))}\n\n"


def _flips(target: TargetChange, heads: Heads, limit: int) -> Iterator[str]:
    for moved in comparison.moved_cases(target):
        several = len({flip.dataset for flip in moved.flips}) > 1
        heading = moved.heading[0].upper() + moved.heading[1:]
        yield f"<details><summary>{in_html(f'{heading}: {comparison.moved_title(moved, heads)}')}</summary>\n\n"
        lines = [comparison.flip_line(flip, heads, several=several) for flip in islice(moved.flips, limit)]
        yield from listed("", lines)
        left = len(moved.flips) - limit
        yield f"and {left:,} more\n\n" if left > 0 else ""
        yield "</details>\n\n"


def _slices(target: TargetChange) -> Iterator[str]:
    if remark := comparison.slices_remark(target):
        yield f"Slices: {safe(remark)}\n\n"
        yield from listed("", comparison.slice_lines(target))


def _pair(pair: FlipExample, heads: Heads) -> str:
    case = pair.now.trial.case
    title = f"{name_of(pair.now)}: {comparison.flip_said(pair.flip, heads)}"
    lines = [f"<details><summary>{in_html(title)}</summary>\n"]
    asked = (("asked", unwrap_single_input(case.input)), ("expected", case.expected))
    lines += [f"{label}\n{block(value)}\n" for label, value in asked if value is not None]
    sides = word_changes(pair.before.output.value, pair.now.output.value)
    rows = [("answer", _words(sides.before, GONE), _words(sides.now, NEW))]
    errors = [cut(display_text(result.output.error), LONGEST) for result in (pair.before, pair.now)]
    rows += [("error", errors[0], errors[1])] if any(errors) else []
    rows += [("scores", cut(before, LONGEST), cut(now, LONGEST)) for before, now in comparison.deciding(pair)]
    lines += [
        f"| | {safe(heads.before)} | {safe(heads.now)} |",
        "|:--|:--|:--|",
        *(f"| {' | '.join(map(safe, row))} |" for row in rows),
    ]
    return "\n".join([*lines, "\n</details>\n\n"])


def _words(pieces: Sequence[Piece], marks: tuple[str, str]) -> str:
    return cut(" ".join("".join(marked([piece], marks) for piece in pieces).split()), LONGEST)
