"""Arranges answers and their steps as trees, sums up their usage, and writes them as JSON."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

from evalmark.core.values.case import Usage
from evalmark.core.values.plain_data import plain
from evalmark.core.values.session import Session, Span, seconds_between


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanSpending:
    """Tokens and cost of spans, as far as they are recorded."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    """US dollars."""
    uncounted: int = 0
    """Model calls without token counts."""

    @property
    def usage(self) -> Usage | None:
        """The tokens; None if no span has any."""
        if self.input_tokens is None and self.output_tokens is None:
            return None
        return Usage(input_tokens=self.input_tokens, output_tokens=self.output_tokens)


def in_order(spans: Iterable[Span]) -> Iterator[tuple[Span, int]]:
    """Yield each answer followed by its steps, with their depth. A step without a recorded parent has depth 0."""
    spans = tuple(spans)
    known = {span.id for span in spans}
    below: defaultdict[str, list[Span]] = defaultdict(list)
    for span in spans:
        below[span.parent if span.parent in known else ""].append(span)
    below.setdefault("", [])
    while below:
        # spans that are parents of each other come last
        first = "" if "" in below else next(iter(below))
        waiting = [(span, 0) for span in reversed(below.pop(first))]
        while waiting:
            span, depth = waiting.pop()
            yield span, depth
            waiting += [(step, depth + 1) for step in reversed(below.pop(span.id, []))]


def by_answer(spans: Sequence[Span]) -> list[tuple[Span | None, list[tuple[Span, int]]]]:
    """Return each answer with its steps and their depth; steps without a recorded parent come with None."""
    found: list[tuple[Span | None, list[tuple[Span, int]]]] = []
    without: dict[str, list[tuple[Span, int]]] = {}
    steps: list[tuple[Span, int]] = []
    for span, depth in in_order(spans):
        if not span.parent:
            steps = []
            found.append((span, steps))
            continue
        if depth == 0:
            if span.parent not in without:
                without[span.parent] = []
                found.append((None, without[span.parent]))
            steps = without[span.parent]
        steps.append((span, depth - (found[-1][0] is not None and steps is found[-1][1])))
    return found


def share_of_time(step: Span, answer: Span) -> tuple[float, float] | None:
    """Return when a step began and ended as shares of its answer's time; None if the times are impossible."""
    begin = seconds_between(answer.started, step.started)
    if begin is None or not answer.seconds or step.seconds is None:
        return None
    return min(1.0, begin / answer.seconds), min(1.0, (begin + step.seconds) / answer.seconds)


def total_spending(spans: Sequence[Span]) -> SpanSpending:
    """Sum up the usage of spans. Where a span and its steps both report usage, the steps count.

    >>> def span(id, parent, n):
    ...     return Span(id=id, parent=parent, session="1", project="p", started="", usage=Usage(input_tokens=n))
    >>> total_spending([span("a", "", 9), span("b", "a", 4), span("c", "a", 3)]).input_tokens
    7
    """
    parents = {span.id: span.parent for span in spans}
    counted = _innermost(spans, parents, lambda span: span.usage is not None)
    models = _innermost(spans, parents, lambda span: span.usage is not None or span.kind == "model")
    costs = _innermost(spans, parents, lambda span: span.cost is not None)
    usages = [span.usage for span in counted if span.usage is not None]
    return SpanSpending(
        input_tokens=_sum(usage.input_tokens for usage in usages),
        output_tokens=_sum(usage.output_tokens for usage in usages),
        cost=_sum(span.cost for span in costs),
        uncounted=sum(span.usage is None for span in models),
    )


def _innermost(spans: Sequence[Span], parents: Mapping[str, str], matches: Callable[[Span], bool]) -> list[Span]:
    """Return the spans for which `matches` holds, without those above another one."""
    found = [span for span in spans if matches(span)]
    above: set[str] = set()
    for span in found:
        at = span.parent
        while at and at != span.id and at not in above:
            above.add(at)
            at = parents.get(at, "")
    return [span for span in found if span.id not in above]


N = TypeVar("N", int, float)


def _sum(numbers: Iterable[N | None]) -> N | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def as_json(session: Session, spans: Iterator[Span]) -> Iterator[str]:
    """Yield a session with all its spans as JSON, piece by piece."""
    header = {field.name: plain(getattr(session, field.name)) for field in fields(session) if field.name != "spans"}
    yield f'{json.dumps(header, indent=2)[:-2]},\n  "spans": ['
    for number, span in enumerate(spans):
        yield f"{',' if number else ''}\n{json.dumps(plain(span), indent=2)}"
    yield "\n]}\n"
