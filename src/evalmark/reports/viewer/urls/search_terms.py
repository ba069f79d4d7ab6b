"""The terms of a query: each a condition of the store, with its meaning in plain words."""

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import chain
from typing import TYPE_CHECKING, cast

from evalmark.core.lazy import LazyModule
from evalmark.core.text import one_line
from evalmark.core.values.score import Verdict
from evalmark.scoring.binding.scores import TOLERANCE
from evalmark.storage.queries.filter import Measure, ResultFilter

if TYPE_CHECKING:
    import regex
else:
    regex = LazyModule("regex")

VERDICT_VALUES: Mapping[str, Verdict] = {
    "pass": "pass",
    "passed": "pass",
    "fail": "fail",
    "failed": "fail",
    "error": "error",
    "unscored": "unscored",
    "ungated": "ungated",
}
LABEL_VALUES: Mapping[str, str] = {
    "good": "up",
    "bad": "down",
    "disputed": "disputed",
    "none": "none",
    "not-me": "not-mine",
}
"""Values of `label:`, and the filters on labels that they select."""
VERDICT_WORDS: Mapping[Verdict, str] = {
    "pass": "passed",
    "fail": "failed",
    "error": "ended in an error",
    "unscored": "unscored",
    "ungated": "not gated",
}
LABEL_WORDS = {
    "up": "labelled good",
    "down": "labelled bad",
    "disputed": "labels disputed",
    "none": "not labelled",
    "not-mine": "not labelled by me",
}
FLIPPED_WORDS = {
    "worse": "worse since the previous run",
    "better": "better since the previous run",
    "any": "worse or better since the previous run",
}
_MEASURES: Mapping[str, str] = {"seconds": "5", "tokens": "1000", "cost": "0.01"}
"""What an output took, each with the number of an example."""
_EXAMPLES = {"verdict": "fail", "tag": "refund", "target": "openai/gpt-5", "label": "bad", "flipped": "worse"}
_SIGN_WORDS = {"<": "below", "<=": "at most", ">": "above", ">=": "at least", "=": "equal to"}
_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"]+|"', re.DOTALL)
PATTERN = r"/(?:[^/\\]|\\.)+/i?(?=\s|$)"
"""A regular expression between slashes."""
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d*)(?:,(\d*))?\}|.", re.DOTALL)
_FIELD = re.compile(r"([A-Za-z]+):(?!//)(.*)", re.DOTALL)
_METRIC = re.compile(r'metric\.("(?:[^"\\]|\\.)*"|[^<>="]*)(<=|>=|<|>|=)?(.*)', re.DOTALL)
_METADATA = re.compile(r'metadata\.((?:"(?:[^"\\]|\\.)*"|[^<>=:"])*)(<=|>=|<|>|=|:)?(.*)', re.DOTALL)
_COMPARED = re.compile(r"(\w[\w.-]*?):?(<=|>=|<|>|=)(-?[\d.]+)", re.DOTALL)
_MEASURED = re.compile(rf"({'|'.join(_MEASURES)})(?::|(?=[<>=]))(<=|>=|<|>|=)?(.*)", re.DOTALL | re.IGNORECASE)
_FIELDS = "verdict:, tag:, target:, label:, flipped:, metadata.FIELD:, metric.NAME, seconds, tokens or cost"
_MOST_REPEATED = 20_000
"""A pattern with more repeated parts takes seconds and hundreds of megabytes to compile."""
_CONNECTIVES = {
    "AND": "every condition has to hold anyway: leave AND out",
    "OR": "OR stands between two conditions, one of which has to hold: verdict:fail OR label:bad",
    "NOT": "to exclude something, write a minus before it: -tag:refund",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTerm:
    """One condition of a query."""

    text: str
    """As typed."""
    words: str
    """The same in plain words, for readers."""
    condition: ResultFilter | None = None
    """None for a condition that has to be looked up, or for alternatives."""
    lookup: str = ""
    """What has to be looked up for this run: `label:` and a filter on labels, `flipped:` and a change, or `pattern:` and a regular
    expression; else empty.
    """
    excludes: bool = False
    alternatives: tuple["SearchTerm", ...] = ()
    """Conditions joined by OR."""

    @property
    def lookups(self) -> frozenset[str]:
        """All that has to be looked up for this condition."""
        own = [self.lookup] if self.lookup else []
        return frozenset(chain(own, *(one.lookups for one in self.alternatives)))

    def filter(self, found: Mapping[str, ResultFilter]) -> ResultFilter:
        """Return the condition as a filter; `found` has the filter of each lookup."""
        if self.alternatives:
            return ResultFilter(any_of=tuple(one.filter(found) for one in self.alternatives))
        condition = found[self.lookup] if self.condition is None else self.condition
        return ResultFilter(excluding=(condition,)) if self.excludes else condition


class TermError(Exception):
    """A term that cannot be read; its text is the sentence for the user."""


def quoted(value: str) -> str:
    r"""Write a value so that a query reads it as one plain text.

    >>> quoted("refund"), quoted('say "no" twice'), quoted("tag:x")
    ('refund', '"say \\"no\\" twice"', '"tag:x"')
    """
    if (
        re.fullmatch(r"\w[\w./@+-]*", value)
        and not value.startswith(("metric.", "metadata."))
        and value not in _CONNECTIVES
    ):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def connective_error(word: str) -> TermError:
    """Return the error of a word such as OR that stands where it joins nothing."""
    advice = _CONNECTIVES[word]
    return TermError(f"{advice[:1].upper()}{advice[1:]}; put the word in quotes to search for it.")


def search_term(part: str, metrics: Collection[str]) -> SearchTerm:
    """Parse one term.

    Raises:
        TermError: the term cannot be read.
    """
    excludes = part.startswith("-") and len(part) > 1
    body = part[1:] if excludes else part
    if body.startswith("/") and re.search(r"[\\^$|?*+()\[\]{}]|[^/]/i?$", body):
        term = _pattern_term(body)
    elif body.startswith("metric."):
        term = _metric_term(body, metrics)
    elif body.startswith("metadata."):
        term = _metadata_term(body)
    elif (measured := _MEASURED.fullmatch(body)) is not None:
        term = _measure_term(measured[1].lower(), measured[2] or "", measured[3])
    elif (field := _FIELD.fullmatch(body)) is not None:
        term = _field_term(field[1], field[2])
    else:
        term = _text_term(body, metrics)
    if not excludes:
        return replace(term, text=part)
    return replace(term, text=part, words=f"not {term.words}".replace("not has", "without"), excludes=True)


def compile_pattern(pattern: str) -> "regex.Pattern[str]":
    """Compile a regular expression that ignores case; searching takes a `timeout`."""
    return regex.compile(pattern, regex.IGNORECASE)


def repeated_size(pattern: str) -> int:
    r"""Count the parts of a regular expression with each counted repeat written out, as a compiled one holds them.

    >>> repeated_size("ab{3}"), repeated_size(r"(a{2}\{9}){10,20}"), repeated_size("[{9}]{,5}")
    (4, 100, 5)
    """
    sizes, last = [0], 0  # of the groups that are open, without the last part of each
    for token in _TOKEN.finditer(pattern):
        if token[1] or token[2]:
            last *= max(int(token[1] or 0), int(token[2] or 0))
            continue
        sizes[-1] += last
        last = 1
        if token[0] == "(":
            sizes, last = [*sizes, 0], 0
        elif token[0] == ")" and len(sizes) > 1:
            last = sizes.pop()
    return sum(sizes) + last


def _pattern_term(body: str) -> SearchTerm:
    if re.fullmatch(PATTERN, body, re.DOTALL) is None:
        raise TermError(
            f"The pattern at “{one_line(body, 30)}” has no end; add a closing slash, or put the text in quotes to search for it."
        )
    pattern = body[1 : body.rindex("/")]
    if repeated_size(pattern) > _MOST_REPEATED:
        raise TermError(
            f"The pattern {one_line(body, 60)} has {repeated_size(pattern):,} parts with its repeats written out, and {_MOST_REPEATED:,} are the "
            "most; write smaller numbers in its braces."
        )
    try:
        compile_pattern(pattern)
    except (ValueError, LookupError, OverflowError, RecursionError, regex.error) as error:
        place = f": {one_line(str(error), 80)}" if isinstance(error, regex.error) else ""
        raise TermError(
            f"The pattern {one_line(body, 60)} is no regular expression{place}. Put the text in quotes to search for it."
        ) from None
    return SearchTerm(text="", words=f"has a match of {one_line(body, 60)}", lookup=f"pattern:{pattern}")


def _text_term(body: str, metrics: Collection[str]) -> SearchTerm:
    if body in _CONNECTIVES:
        raise connective_error(body)
    if (compared := _COMPARED.fullmatch(body)) is not None:
        name, sign, number = compared.groups()
        close = get_close_matches(name, [*metrics, *_MEASURES], n=1)
        known = close[0] if close else "NAME"
        advice = f"write {known if known in _MEASURES else f'metric.{known}'}{sign}{number}"
        raise TermError(
            f"To filter by a score, the time, the tokens or the cost, {advice}; to search for this text, put it in quotes."
        )
    value = _plain(body)
    if not value.strip():
        raise TermError("The quotes are empty; write the text to search for between them.")
    return SearchTerm(text=body, words=f"has “{one_line(value, 60)}”", condition=ResultFilter(text=value))


def _field_term(name: str, written: str) -> SearchTerm:
    value, field = _plain(written), name.lower()
    if field not in _EXAMPLES:
        close = get_close_matches(field, [*_EXAMPLES, "metric", *_MEASURES], n=1)
        advice = f"did you mean {_key(close[0])}?" if close else f"use {_FIELDS}."
        raise TermError(f"There is no filter {one_line(name, 30)}:; {advice} Put the text in quotes to search for it.")
    if not value:
        raise TermError(f"{field}: needs a value right after the colon, such as {field}:{_EXAMPLES[field]}.")
    if field == "tag":
        return SearchTerm(text="", words=f"tagged {one_line(value, 60)}", condition=ResultFilter(tag=value))
    if field == "target":
        return SearchTerm(text="", words=f"target {one_line(value, 60)}", condition=ResultFilter(target=value))
    if field == "label":
        label = LABEL_VALUES[_one_of(value, LABEL_VALUES, "label")]
        return SearchTerm(text="", words=LABEL_WORDS[label], lookup=f"label:{label}")
    if field == "flipped":
        change = _one_of(value, FLIPPED_WORDS, "flipped")
        return SearchTerm(text="", words=FLIPPED_WORDS[change], lookup=f"flipped:{change}")
    verdicts = tuple(dict.fromkeys(VERDICT_VALUES[_one_of(one, VERDICT_VALUES, "verdict")] for one in value.split(",")))
    words = " or ".join(VERDICT_WORDS[one] for one in verdicts)
    return SearchTerm(text="", words=words, condition=ResultFilter(verdicts=verdicts))


def _key(name: str) -> str:
    return f"{name}:" if name in _EXAMPLES else "metric.NAME" if name == "metric" else f"{name}>"


def _one_of(value: str, known: Mapping[str, str], field: str) -> str:
    """Return a value in lower case.

    Raises:
        TermError: the value is not known.
    """
    if (lower := value.strip().lower()) in known:
        return lower
    close = get_close_matches(lower, known, n=1)
    names = reversed({known[name]: name for name in reversed([*known])}.values())  # each meaning by its first name
    advice = f"did you mean {field}:{close[0]}?" if close else f"use {', '.join(names)}."
    raise TermError(f"There is no {field} {one_line(value, 30) or 'without a name'}; {advice}")


def _metric_term(body: str, metrics: Collection[str]) -> SearchTerm:
    match = _METRIC.fullmatch(body)
    name = "" if match is None else _plain(match[1])
    sign, written = ("", "") if match is None else (match[2] or "", match[3])
    is_any = name == "any" and name not in metrics
    if name not in metrics and not is_any:
        close = get_close_matches(name, metrics, n=1)
        known = ", ".join(one_line(one, 40) for one in list(metrics)[:8]) or "no metric at all"
        advice = f"did you mean metric.{quoted(close[0])}?" if close else f"it has {known}."
        raise TermError(f"This run has no metric {one_line(name, 40) or 'without a name'}; {advice}")
    number = _number(written)
    if not sign or number is None:
        raise TermError(
            f"metric.{quoted(name)} needs a sign (<, <=, >, >= or =) and a number, such as metric.{quoted(name)}<0.7."
        )
    low, high = score_range(sign, number)
    words = f"{'any score' if is_any else one_line(name, 60)} {_SIGN_WORDS[sign]} {short_number(number)}"
    return SearchTerm(text="", words=words, condition=ResultFilter(metric="" if is_any else name, low=low, high=high))


def _metadata_term(body: str) -> SearchTerm:
    match = _METADATA.fullmatch(body)
    name, sign, value = ("", "", "") if match is None else (_plain(match[1]), match[2] or "", _plain(match[3]))
    if not all(name.split(".")) or re.search(r'["\[\]]', name):
        raise TermError(
            "metadata. needs the name of a field, of nested objects with dots between: metadata.region:eu, metadata.user.plan:free."
        )
    if not sign or not value:
        raise TermError(
            f"metadata.{quoted(name)} needs a value, such as metadata.{quoted(name)}:eu, or a sign and a number, such as "
            f"metadata.{quoted(name)}>3."
        )
    number, shown = _number(value), one_line(name, 60)
    if sign in (":", "="):
        low, high = (None, None) if number is None else score_range("=", number, tolerance=0.0)
        condition = ResultFilter(metadata=name, value=value, low=low, high=high)
        return SearchTerm(text="", words=f"{shown} is {one_line(value, 60)}", condition=condition)
    if number is None:
        raise TermError(f"metadata.{quoted(name)}{sign} needs a number, such as metadata.{quoted(name)}{sign}3.")
    low, high = score_range(sign, number, tolerance=0.0)
    words = f"{shown} {_SIGN_WORDS[sign]} {short_number(number)}"
    return SearchTerm(text="", words=words, condition=ResultFilter(metadata=name, low=low, high=high))


def _measure_term(name: str, sign: str, written: str) -> SearchTerm:
    number = _number(written)
    if not sign or number is None:
        raise TermError(f"{name} needs a sign (<, <=, >, >= or =) and a number, such as {name}>{_MEASURES[name]}.")
    low, high = score_range(sign, number, tolerance=0.0)
    words = f"{name} {_SIGN_WORDS[sign]} {'$' * (name == 'cost')}{short_number(number)}"
    if name == "seconds" and sign != "=":
        word = "slower" if sign.startswith(">") else "faster"
        limit = f"{short_number(number)} s"
        words = f"{limit} or {word}" if sign.endswith("=") else f"{word} than {limit}"
    return SearchTerm(text="", words=words, condition=ResultFilter(measure=cast("Measure", name), low=low, high=high))


def score_range(sign: str, number: float, tolerance: float = TOLERANCE) -> tuple[float | None, float | None]:
    """Return the range that a comparison selects, both ends included, by default with the tolerance of thresholds.

    A score that rounding put just below a threshold passes it, so it does not count as below the same number here.

    >>> [round(end, 7) for end in score_range("=", 0.7)]
    [0.699999, 0.700001]
    """
    slack = tolerance * max(1.0, abs(number))
    below = math.nextafter(number - slack, -math.inf)
    above = math.nextafter(number + slack, math.inf)
    return {
        "<": (None, below),
        "<=": (None, number + slack),
        ">": (above, None),
        ">=": (number - slack, None),
        "=": (number - slack, number + slack),
    }[sign]


def _number(text: str) -> float | None:
    try:
        number = float(_plain(text))
    except ValueError:
        return None
    return number if math.isfinite(number) and abs(number) < 1e300 else None


def short_number(number: float) -> str:
    """Format a number so that it is read back as the same.

    >>> short_number(0.7), short_number(5.0), short_number(1234567.0), short_number(0.1234567)
    ('0.7', '5', '1234567', '0.1234567')
    """
    short = f"{number:g}"
    return short if float(short) == number and "e" not in short else f"{number!r}".removesuffix(".0")


def _plain(text: str) -> str:
    """Return a text without its quotes and the backslashes in them."""
    return "".join(
        re.sub(r"\\(.)", r"\1", piece[1:-1], flags=re.DOTALL) if piece.startswith('"') and len(piece) > 1 else piece
        for piece in _PIECE.findall(text)
    )
