"""What GitHub shows of two runs beside each other, at the code."""

from collections.abc import Iterator, Sequence

from evalmark.core.text import one_line
from evalmark.reports.text import comparison
from evalmark.reports.text.side_names import Heads, heads_of
from evalmark.reports.text.titles import name_of
from evalmark.stats.comparison.change import Comparison
from evalmark.stats.comparison.flip_examples import FlipExample

from .comparison_markdown import comparison_in_markdown
from .github import ANNOTATIONS, LIMIT, command, place_of, within


def comparison_for_github(found: Comparison, pairs: Sequence[FlipExample] = (), *, room: int = LIMIT) -> Iterator[str]:
    """A job summary of at most `room` bytes."""
    yield from within(room, comparison_in_markdown(found, pairs))


def comparison_annotations(
    found: Comparison, pairs: Sequence[FlipExample] = (), *, most: int = ANNOTATIONS
) -> list[str]:
    """Workflow commands, one a line: the verdict where it is not good, then cases that became worse, at their places."""
    said = []
    if found.outcome in ("worse", "cannot tell"):
        level = "error" if found.outcome == "worse" else "warning"
        title = f"{comparison.compared_title(found)}: {comparison.compared_outcome(found)}"
        said.append(command(level, {"title": title}, [comparison.verdict_sentence(found), *found.warnings]))
    worse = (pair for pair in pairs if pair.flip.is_worse)
    level = "error" if found.outcome == "worse" else "warning"
    said += [_annotation(pair, heads_of(found, found.targets[0]), level) for pair in worse]
    return said[:most]


def _annotation(pair: FlipExample, heads: Heads, level: str) -> str:
    case = pair.now.trial.case
    lines = [
        f"{heads.before}: {one_line(pair.before.output.value, 300)}",
        f"{heads.now}: {one_line(pair.now.output.value, 300)}",
    ]
    lines += [now for _, now in comparison.deciding(pair)]
    title = f"{name_of(pair.now)}: {comparison.flip_said(pair.flip, heads)}"
    return command(level, {**place_of(case.place), "title": title}, lines)
