"""The cases of a run as rows to read: input, output, expected output and scores side by side."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import escape

from evalmark.core.case_titles import input_title
from evalmark.core.text import one_line, unwrap_single_input
from evalmark.core.values.run import Metric, Run
from evalmark.core.values.score import Result, Score
from evalmark.reports.html.escaping import LONGEST, source_text
from evalmark.reports.html.rich_text import RichText, rich_text
from evalmark.reports.text.gate_marks import trials_decided
from evalmark.reports.text.transcripts import failed_tool_calls
from evalmark.reports.text.verdicts import column_score, raised_at, score_kind, score_text, shown_scores
from evalmark.reports.viewer.urls.case_query import CaseQuery
from evalmark.stats.summary.summary import MetricSummary, Summary
from evalmark.storage.queries.pages import NumberedResult

from .background import RunFigures
from .json_fields import field_text

_TITLE = 160
"""Longest title of a case in characters; two lines of a narrow column."""
_EXCERPT, _LINES = 560, 9
"""Most characters and lines of a text in a comfortable row."""
_BUDGET, _LEAST_TEXTS, _ROW, _FIELD = 118_000, 10_000, 1_600, 120
"""Bytes that rows of a page share, so that it loads at once; that texts have at least; of a row without its texts; and of a cell
of a JSON field without its text. An unfolded row has all of its texts.
"""
_ADDRESSES, _LONG_ADDRESS = 5, 60
"""Addresses with the filters and the order in each row, at most, and the characters from which only the title and a form have
it; they count for the budget.
"""
_SHORTEST = 100
"""Characters of a text that are always shown."""
_SCORES = 8
"""Most scores in a comfortable row; those that failed come first."""
_REASON = 1_000
_WAYS = (("lowest", ""), ("highest", "-"))
_RANKS = {"error": 0, "fail": 1, "unscored": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreLine:
    """A score of a row."""

    name: str
    kind: str
    text: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingRow:
    """The texts and scores of one result."""

    title: str
    input: RichText | None
    """The whole input, where it is more than the title; None in rows that show excerpts."""
    is_input_cut: bool
    output: RichText | None
    """None if there is only an error."""
    error: str
    expected: RichText | None
    """None if nothing was expected, or the output is the same."""
    is_as_expected: bool
    """Whether the output is exactly the expected one."""
    scores: tuple[ScoreLine, ...]
    more_scores: int
    fields: Mapping[str, str]
    """The texts of the JSON fields that are columns, by name."""
    failed_tools: str = ""
    """How many tool calls of an agent failed; empty if none did."""

    @property
    def is_cut(self) -> bool:
        """Whether there is more to unfold."""
        texts = (text for text in (self.input, self.output, self.expected) if text is not None)
        return self.is_input_cut or self.more_scores > 0 or any(text.is_cut for text in texts)


def worst_first(query: CaseQuery, figures: RunFigures | None, run: Run) -> CaseQuery:
    """Sort by what decided the gate, worst first, unless the address names an order.

    Without figures yet, cases that did not pass come first.
    """
    if query.is_ordered:
        return query
    conditions = replace(query.conditions, order="verdict")
    metric = None
    if figures is not None and not trials_decided(figures.summary, run.gate, figures.verdict):
        metric = _deciding_metric(figures.summary)
    if metric is not None:
        descending = metric.direction == "lower"
        conditions = replace(conditions, order="score", sorted_metric=metric.name, descending=descending)
    return replace(query, conditions=conditions)


def _deciding_metric(summary: Summary) -> MetricSummary | None:
    """Return the metric whose mean missed the gate, or the first one if no trial can fail."""
    metrics = {metric.name: metric for group in summary.counted for metric in group.metrics if metric.scale == "value"}
    missed = next((metrics[name] for name in summary.missed if name in metrics), None)
    total = summary.total
    only_ungated = total.ungated and not total.passed + total.failed + total.errors + total.unscored
    return missed or (next(iter(metrics.values()), None) if only_ungated else None)


def sort_orders(metrics: Sequence[str]) -> list[tuple[str, str]]:
    """List the orders of cases and how an address names them."""
    orders = [
        ("worst first", "verdict"),
        ("as in the dataset", "position"),
        ("by id", "case"),
        ("slowest first", "-seconds"),
    ]
    each = [(f"{way} {one_line(name, 40)}", f"{sign}score:{name}") for name in metrics for way, sign in _WAYS]
    return [*orders, *each]


def reading_rows(
    results: Sequence[NumberedResult],
    query: CaseQuery,
    metrics: Mapping[int, Mapping[str, Metric]],
    shown: Sequence[str],
) -> dict[int, ReadingRow]:
    """Make the rows of a page by the numbers of their results.

    Args:
        results: the results of the page.
        query: says how much of each text is shown.
        metrics: the metrics of each result by its number.
        shown: the metrics of the page, where a run has very many.
    """
    longest, lines = (LONGEST, 0) if query.density == "full" else (_EXCERPT, _LINES)
    lengths = (min(longest, len(source_text(text))) for one in results for text in _texts(one.result))
    address = escape(replace(query, is_ordered=True).string())
    copies = 3 if is_long_address(query) else _ADDRESSES  # with those of the filters and menus
    budget = max(
        _LEAST_TEXTS, _BUDGET - len(results) * (_ROW + _FIELD * len(query.json_fields) + copies * len(address))
    )
    longest = min(longest, fair_share(lengths, budget)) if len(results) > 1 else longest
    while True:
        draw = _RowTexts(query.as_text, longest, lines, query.json_fields)
        rows = {one.number: draw.row(one.result, metrics[one.number], shown) for one in results}
        size = sum(map(_size, rows.values()))
        if size <= budget or len(results) == 1 or longest <= _SHORTEST:
            return rows
        longest = max(_SHORTEST, min(longest * 9 // 10, longest * budget // size))  # much markup for little text


def is_long_address(query: CaseQuery) -> bool:
    """Return whether the filters and the order are too long to be repeated in each link of a row."""
    return len(replace(query, is_ordered=True).string()) > _LONG_ADDRESS


def fair_share(lengths: Iterable[int], budget: int) -> int:
    """Return the greatest length at which all texts, cut to it, fit into a budget.

    >>> fair_share([10, 500, 600], 700), fair_share([10, 20], 700)
    (345, 64000)
    """
    rest, ordered = budget, sorted(lengths)
    for number, length in enumerate(ordered):
        share = rest // (len(ordered) - number)
        if length > share:
            return max(share, 1)
        rest -= length
    return LONGEST


def _size(row: ReadingRow) -> int:
    """Return the bytes of the texts of a row."""
    texts = (text.html for text in (row.input, row.output, row.expected) if text is not None)
    reasons = (score.reason for score in row.scores)
    return sum(len(text.encode("utf-8", "replace")) for text in (*texts, *reasons, row.error, *row.fields.values()))


def _texts(result: Result) -> Iterator[Any]:
    case = result.trial.case
    yield from (value for value in (case.input, case.expected, result.output.value) if value is not None)


@dataclass(frozen=True, slots=True)
class _RowTexts:
    as_text: bool
    longest: int
    lines: int
    """Most lines of a text; 0 for all, with reasons of scores."""
    fields: Sequence[str]

    def row(self, result: Result, metrics: Mapping[str, Metric], shown: Sequence[str]) -> ReadingRow:
        case, output = result.trial.case, result.output
        title = input_title(case.input, case.id, result.trial.position, _TITLE)
        input_text = source_text(unwrap_single_input(case.input))
        expected = case.expected
        same = expected is not None and output.error is None and _same(expected, output.value)
        scores = self._scores(result, metrics, shown)
        return ReadingRow(
            title=title,
            input=None if self.lines or input_text.strip() == title else self._drawn(unwrap_single_input(case.input)),
            is_input_cut=bool(self.lines) and " ".join(input_text.split()) != title,
            output=None if output.value is None and output.error is not None else self._drawn(_or_empty(output.value)),
            error="" if output.error is None else output.error[:LONGEST] + raised_at(output),
            expected=None if expected is None or same else self._drawn(expected),
            is_as_expected=same,
            scores=tuple(scores[:_SCORES] if self.lines else scores),
            more_scores=max(0, len(scores) - _SCORES) if self.lines else 0,
            fields={name: field_text(result, name) for name in self.fields},
            failed_tools=failed_tool_calls(output),
        )

    def _drawn(self, value: Any) -> RichText:
        return rich_text(value, longest=self.longest, lines=self.lines, as_text=self.as_text)

    def _scores(self, result: Result, metrics: Mapping[str, Metric], shown: Sequence[str]) -> list[ScoreLine]:
        scores = [score for score in shown_scores(result) if score.name in shown]
        scores.sort(key=lambda score: _RANKS.get(score_kind(score), 3))
        return [self._score(score, metrics) for score in scores]

    def _score(self, score: Score, metrics: Mapping[str, Metric]) -> ScoreLine:
        reason = "" if self.lines else one_line(score.reason + raised_at(score), _REASON)
        kind = score_kind(score)
        is_brief = bool(self.lines) and kind in ("pass", "ungated")  # its threshold decided nothing
        text = column_score(score, metrics.get(score.name)) if is_brief else score_text(score, metrics)
        return ScoreLine(name=one_line(score.name, 60), kind=kind, text=text, reason=reason)


def _or_empty(value: Any) -> Any:
    return "" if value is None else value


def _same(expected: Any, value: Any) -> bool:
    return value is not None and source_text(expected).strip() == source_text(value).strip()
