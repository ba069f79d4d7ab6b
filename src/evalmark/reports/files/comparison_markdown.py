"""Comparison of two runs as Markdown."""

from collections.abc import Iterator, Sequence
from itertools import islice

from evalmark.core.text import cut, display_text, unwrap_single_input
from evalmark.reports.text import changed_cases
from evalmark.reports.text import comparison as comparison_text
from evalmark.reports.text.change_words import OUTCOME_SIGNS
from evalmark.reports.text.comparison import TWO_RUNS, SideNames, side_names
from evalmark.reports.text.titles import trial_title
from evalmark.reports.text.word_changes import GONE, NEW, TextPiece, mark_changes, word_changes
from evalmark.stats.comparison.change import Comparison, TargetChange
from evalmark.stats.comparison.flip_examples import FlipExample

from .markdown import LONGEST, html_block, html_text, markdown_list, markdown_text

_FLIPS = 50
"""Default number of listed cases."""


def comparison_in_markdown(
    comparison: Comparison, pairs: Sequence[FlipExample] = (), limit: int = _FLIPS
) -> Iterator[str]:
    """Yield a comparison as Markdown: other differences, verdict, tables and changed cases.

    `limit` is the number of listed cases; `pairs` adds both outputs side by side.
    """
    title = f"{comparison_text.comparison_title(comparison)}: {comparison_text.outcome_text(comparison)}"
    yield f"## {OUTCOME_SIGNS[comparison.outcome]} {markdown_text(title)}\n\n"
    yield from comparison_body(comparison, pairs, limit)
    yield f"<sub>{markdown_text(comparison_text.runs_line(comparison))}</sub>\n"


def comparison_body(comparison: Comparison, pairs: Sequence[FlipExample] = (), limit: int = _FLIPS) -> Iterator[str]:
    """Yield the comparison without its title."""
    yield "".join(f"> {markdown_text(warning)}\n" for warning in comparison.warnings) + (
        "\n" if comparison.warnings else ""
    )
    hint, command = comparison_text.rescore_hint(comparison)
    if hint:
        yield f"{markdown_text(hint)}" + (f" `{command.replace('`', '')}`" if command else "") + "\n\n"
    yield f"**{comparison_text.outcome_text(comparison).capitalize()}:** {markdown_text(comparison_text.verdict_sentence(comparison))}\n\n"
    heads = TWO_RUNS
    for target in comparison.targets:
        heads, several = side_names(comparison, target), len(comparison.targets) > 1
        yield f"{markdown_text(comparison_text.target_title(target, several=several, of_one_run=heads.of_one_run))}\n\n"
        yield _table(comparison, target, heads)
        yield from markdown_list("", comparison_text.change_remarks(target, heads.where))
        yield from _flips(target, heads, limit)
        yield from _slices(target)
    yield from (_pair(pair, heads) for pair in pairs)


def _table(comparison: Comparison, target: TargetChange, heads: SideNames) -> str:
    lines = [
        f"| metric | n | {markdown_text(heads.before)} | {markdown_text(heads.now)} | difference | {100 * comparison.level:g} % interval | p | verdict |",
        "|:--|--:|--:|--:|--:|:--|--:|:--|",
    ]
    for row in comparison_text.change_rows(target, comparison.gate):
        cells = [
            markdown_text(row.metric),
            row.n,
            row.before,
            row.now,
            f"**{row.difference}**",
            row.interval,
            row.p,
            f"{OUTCOME_SIGNS[row.outcome]} {row.verdict}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + f"\n\n{markdown_text(' '.join(comparison_text.table_remarks(comparison)))}\n\n"


def _flips(target: TargetChange, heads: SideNames, limit: int) -> Iterator[str]:
    for changed in changed_cases.changed_cases(target):
        several = len({flip.dataset for flip in changed.flips}) > 1
        heading = changed.heading[0].upper() + changed.heading[1:]
        yield f"<details><summary>{html_text(f'{heading}: {changed_cases.changed_cases_title(changed, heads)}')}</summary>\n\n"
        lines = [changed_cases.flip_line(flip, heads, several=several) for flip in islice(changed.flips, limit)]
        yield from markdown_list("", lines)
        left = len(changed.flips) - limit
        yield f"and {left:,} more\n\n" if left > 0 else ""
        yield "</details>\n\n"


def _slices(target: TargetChange) -> Iterator[str]:
    if remark := comparison_text.slices_remark(target):
        yield f"Slices: {markdown_text(remark)}\n\n"
        yield from markdown_list("", comparison_text.slice_lines(target))


def _pair(pair: FlipExample, heads: SideNames) -> str:
    case = pair.now.trial.case
    title = f"{trial_title(pair.now.trial)}: {changed_cases.flip_text(pair.flip, heads)}"
    lines = [f"<details><summary>{html_text(title)}</summary>\n"]
    fields = (("input", unwrap_single_input(case.input)), ("expected", case.expected))
    lines += [f"{label}\n{html_block(value)}\n" for label, value in fields if value is not None]
    sides = word_changes(pair.before.output.value, pair.now.output.value)
    rows = [("answer", _words(sides.before, GONE), _words(sides.now, NEW))]
    errors = [cut(display_text(result.output.error), LONGEST) for result in (pair.before, pair.now)]
    rows += [("error", errors[0], errors[1])] if any(errors) else []
    rows += [("scores", cut(before, LONGEST), cut(now, LONGEST)) for before, now in changed_cases.pair_scores(pair)]
    lines += [
        f"| | {markdown_text(heads.before)} | {markdown_text(heads.now)} |",
        "|:--|:--|:--|",
        *(f"| {' | '.join(map(markdown_text, row))} |" for row in rows),
    ]
    return "\n".join([*lines, "\n</details>\n\n"])


def _words(pieces: Sequence[TextPiece], marks: tuple[str, str]) -> str:
    return cut(" ".join("".join(mark_changes([piece], marks) for piece in pieces).split()), LONGEST)
