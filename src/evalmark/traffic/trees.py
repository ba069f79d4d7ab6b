"""Answers and their steps as trees, and what they took."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from evalmark.values import Span, SpanKind, Usage


class Counted(Protocol):
    """What is counted of a span."""

    @property
    def id(self) -> str: ...
    @property
    def parent(self) -> str: ...
    @property
    def kind(self) -> SpanKind: ...
    @property
    def usage(self) -> Usage | None: ...
    @property
    def cost(self) -> float | None: ...


C = TypeVar("C", bound=Counted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Tokens and money of some spans, so far as they are recorded."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    """In US dollars."""
    uncounted: int = 0
    """Calls of models whose tokens nobody counted."""

    @property
    def usage(self) -> Usage | None:
        """The tokens; None where nobody counted any."""
        if self.input_tokens is None and self.output_tokens is None:
            return None
        return Usage(input_tokens=self.input_tokens, output_tokens=self.output_tokens)


def in_order(spans: Iterable[Span]) -> Iterator[tuple[Span, int]]:
    """Each answer followed by its steps, with how deep each stands; a step of something that is not there stands outermost."""
    spans = tuple(spans)
    known = {span.id for span in spans}
    below: defaultdict[str, list[Span]] = defaultdict(list)
    for span in spans:
        below[span.parent if span.parent in known else ""].append(span)
    below.setdefault("", [])
    while below:
        # Steps of each other, which no recording makes, are below nothing: they come last.
        first = "" if "" in below else next(iter(below))
        waiting = [(span, 0) for span in reversed(below.pop(first))]
        while waiting:
            span, depth = waiting.pop()
            yield span, depth
            waiting += [(step, depth + 1) for step in reversed(below.pop(span.id, []))]


def spent(spans: Sequence[Counted]) -> Spent:
    """What spans took in all: where a span and its steps both say it, what its steps say.

    >>> def said(id, parent, n):
    ...     return Span(id=id, parent=parent, session="1", project="p", started="", usage=Usage(input_tokens=n))
    >>> spent([said("a", "", 9), said("b", "a", 4), said("c", "a", 3)]).input_tokens
    7
    """
    parents = {span.id: span.parent for span in spans}
    counted = _innermost(spans, parents, lambda span: span.usage is not None)
    models = _innermost(spans, parents, lambda span: span.usage is not None or span.kind == "model")
    costs = _innermost(spans, parents, lambda span: span.cost is not None)
    usages = [span.usage for span in counted if span.usage is not None]
    return Spent(
        input_tokens=_sum(usage.input_tokens for usage in usages),
        output_tokens=_sum(usage.output_tokens for usage in usages),
        cost=_sum(span.cost for span in costs),
        uncounted=sum(span.usage is None for span in models),
    )


def _innermost(spans: Sequence[C], parents: Mapping[str, str], says: Callable[[C], bool]) -> list[C]:
    """Those that say something and have no step that does."""
    found = [span for span in spans if says(span)]
    above: set[str] = set()
    for span in found:
        at = span.parent
        while at and at not in above:
            above.add(at)
            at = parents.get(at, "")
    return [span for span in found if span.id not in above]


N = TypeVar("N", int, float)


def _sum(numbers: Iterable[N | None]) -> N | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
