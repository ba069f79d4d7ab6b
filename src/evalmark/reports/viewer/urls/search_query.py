"""The query language of the box above a run's cases: text to conditions of the store.

A query is a list of terms, and each has to hold:

    verdict:fail OR label:bad metric.similarity<0.7 tag:refund -tag:old seconds>5 "thank you"

A term is a word, a phrase in double quotes, `verdict:`, `tag:`, `target:`, `label:` or `flipped:` with a value, `metadata.FIELD` with a
value or with a sign and a number, a regular expression between slashes, or `metric.NAME`, `seconds`, `tokens` or `cost` with a
sign and a number. A minus before a term excludes what it selects. `OR` joins the terms
beside it, before all others are joined: `a OR b c` is (a or b) and c. In quotes, a backslash makes the next character plain.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from evalmark.core.text import one_line
from evalmark.core.values.score import Verdict
from evalmark.storage.queries.filter import ResultFilter

from .search_terms import PATTERN, SearchTerm, TermError, connective_error, search_term

_TERM = re.compile(rf'-?{PATTERN}|-?(?:"(?:[^"\\]|\\.)*"|[^\s"])+|"', re.DOTALL)
MOST_TERMS = 20
LONGEST = 500
"""Characters of a query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """A parsed query; with a problem it has no terms."""

    text: str = ""
    terms: tuple[SearchTerm, ...] = ()
    problem: str = ""
    """Why the query cannot be read, as one sentence with the next step; empty if it can."""

    @property
    def lookups(self) -> frozenset[str]:
        """All that has to be looked up for the conditions."""
        return frozenset(chain.from_iterable(term.lookups for term in self.terms))

    @property
    def patterns(self) -> frozenset[str]:
        """The regular expressions of the conditions."""
        return frozenset(one.removeprefix("pattern:") for one in self.lookups if one.startswith("pattern:"))

    def without(self, number: int) -> str:
        """Return the text without the term of this number, counted from 0."""
        return " ".join(term.text for at, term in enumerate(self.terms) if at != number)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts that the only condition on verdicts selects; empty without such a condition, or with several."""
        chosen = [self._verdicts(term) for term in self.terms if self._verdicts(term)]
        return chosen[0] if len(chosen) == 1 else ()

    @property
    def without_verdicts(self) -> str:
        """The text without its conditions on verdicts."""
        return " ".join(term.text for term in self.terms if not self._verdicts(term)) if self.verdicts else self.text

    @staticmethod
    def _verdicts(term: SearchTerm) -> tuple[Verdict, ...]:
        return () if term.condition is None or term.excludes else term.condition.verdicts

    def restrict(self, filters: ResultFilter) -> ResultFilter:
        """Add the conditions that need no lookup to a filter; a query with a problem selects nothing."""
        if self.problem:
            return replace(filters, numbers=frozenset())
        known = (term.filter({}) for term in self.terms if not term.lookups)
        return replace(filters, also=(*filters.also, *known))


def parse_search_query(text: str, metrics: Collection[str]) -> SearchQuery:
    """Parse a query; never raises.

    Args:
        text: what was typed.
        metrics: the names of the run's metrics.

    Returns:
        The terms, or the problem of the first term that cannot be read.

    >>> found = parse_search_query('verdict:fail metric.exact<0.7 -tag:old "thank you"', ["exact"])
    >>> [term.words for term in found.terms]
    ['failed', 'exact below 0.7', 'not tagged old', 'has “thank you”']
    >>> parse_search_query("metric.exakt<0.7", ["exact"]).problem
    'This run has no metric exakt; did you mean metric.exact?'
    """
    text = text.strip()
    if len(text) > LONGEST:  # without its end it would select something else
        problem = f"A query has at most {LONGEST} characters; shorten it."
        return SearchQuery(text=text[: LONGEST + 1], problem=problem)  # links keep the problem
    try:
        return SearchQuery(text=text, terms=tuple(_group(parts, metrics) for parts in _groups(_parts(text))))
    except TermError as error:
        return SearchQuery(text=text, problem=str(error))


def _parts(text: str) -> Iterator[str]:
    for number, match in enumerate(_TERM.finditer(text), start=1):
        if number > MOST_TERMS:
            raise TermError(f"A query has at most {MOST_TERMS} conditions; put words that belong together in quotes.")
        if match[0] == '"':
            raise TermError(f"The quote at “{one_line(text[match.start() :], 30)}” has no end; add a closing quote.")
        yield match[0]


def _groups(parts: Iterator[str]) -> Iterator[list[str]]:
    """Yield the terms that OR joins, each without a neighbour alone."""
    group: list[str] = []
    is_joined = False
    for part in parts:
        if part == "OR":
            if not group or is_joined:
                raise connective_error(part)
            is_joined = True
        elif is_joined:
            group, is_joined = [*group, part], False
        else:
            if group:
                yield group
            group = [part]
    if is_joined:
        raise connective_error("OR")
    if group:
        yield group


def _group(parts: list[str], metrics: Collection[str]) -> SearchTerm:
    terms = tuple(search_term(part, metrics) for part in parts)
    if len(terms) == 1:
        return terms[0]
    return SearchTerm(text=" OR ".join(parts), words=" or ".join(term.words for term in terms), alternatives=terms)
