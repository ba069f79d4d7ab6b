"""Checks of the answer's text: equal, containing, matching a pattern, of a length, in time."""

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from evalmark.core.errors import ConfigError
from evalmark.core.lazy import need
from evalmark.core.values.case import Case, Output
from evalmark.core.values.plain_data import canonical, plain
from evalmark.core.values.score import Score
from evalmark.core.values.words import count
from evalmark.scoring.binding.scores import check_score, missing_reference, unscored
from evalmark.scoring.binding.text import NO_EXPECTED, preview, preview_pair, text_of

if TYPE_CHECKING:
    import regex


@dataclass(frozen=True, slots=True, kw_only=True)
class Equals:
    """The answer is the expected one, or one of the liked examples.

    >>> Equals()(Case(id="1", expected="Oslo"), Output(value="oslo")).reason
    "the answer 'oslo' is not 'Oslo'"
    """

    name: ClassVar[str] = "equals"
    is_check: ClassVar[bool] = True

    ignore_case: bool = False
    """Upper and lower case count as the same."""
    strip: bool = False
    """Blanks before and after do not count."""

    def lacks(self, case: Case) -> str:
        """Why no output of the case can be judged; empty where one can."""
        return "" if case.liked else NO_EXPECTED

    def __call__(self, case: Case, output: Output) -> Score:
        liked = case.liked
        if not liked:
            return unscored(self.name, NO_EXPECTED)
        if any(self._key(output.value) == self._key(value) for value in liked):
            return check_score(self.name, True, f"the answer is {preview(output.value)}")
        answer, expected = preview_pair(output.value, liked[0])
        others = f" nor any of {count(len(liked) - 1, 'other liked answer')}" if len(liked) > 1 else ""
        return check_score(
            self.name, False, f"the answer {answer} is not {expected}{others}{_encoding_hint(output, liked)}"
        )

    def _key(self, value: Any) -> str:
        """What two equal answers share; a number and its text are not equal, 1 and 1.0 are."""
        if isinstance(value, str):
            value = value.strip() if self.strip else value
            value = value.casefold() if self.ignore_case else value
        return canonical(_integral(plain(value)))


def _integral(value: Any) -> Any:
    """Data with 1.0 written as 1."""
    if isinstance(value, dict):
        return {key: _integral(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_integral(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _encoding_hint(output: Output, liked: Sequence[Any]) -> str:
    texts = [v for v in liked if isinstance(v, str)]
    answer = output.value if isinstance(output.value, str) else None
    if answer is not None and unicodedata.normalize("NFC", answer) in {unicodedata.normalize("NFC", t) for t in texts}:
        return " (they look alike but are encoded differently: one is not in Unicode's composed form)"
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contains:
    """The answer contains a text: the expected answer, or what `any` and `all` name.

    >>> Contains(all=["Oslo", "Bergen"])(Case(id="1"), Output(value="Oslo")).reason
    "the answer 'Oslo' does not contain 'Bergen'"
    """

    name: ClassVar[str] = "contains"
    is_check: ClassVar[bool] = True

    any: str | Sequence[str] = ()
    """At least one of these."""
    all: str | Sequence[str] = ()
    """Every one of these."""
    ignore_case: bool = False
    """Upper and lower case count as the same."""

    def __post_init__(self) -> None:
        for setting, texts in (("any", _as_tuple(self.any)), ("all", _as_tuple(self.all))):
            if not all(isinstance(text, str) and text for text in texts):
                raise ConfigError(f"contains: `{setting}` holds an empty text or something else than text: {texts!r}.")

    def lacks(self, case: Case) -> str:
        """Why no output of the case can be judged; empty where one can."""
        return "" if self.any or self.all else missing_reference(case)

    def __call__(self, case: Case, output: Output) -> Score:
        wanted, every = _as_tuple(self.any), _as_tuple(self.all)
        if not wanted and not every:
            wanted = tuple(map(text_of, case.references))
            if not wanted:
                return unscored(self.name, NO_EXPECTED)
        answer = self._folded(text_of(output.value))
        missing = [text for text in every if self._folded(text) not in answer]
        found = [text for text in wanted if self._folded(text) in answer]
        if missing or (wanted and not found):
            lacking = missing or list(wanted)
            reason = f"the answer {preview(output.value)} does not contain {_join_texts(lacking, 'and' if missing else 'or')}"
            return check_score(self.name, False, reason, missing=lacking)
        present = [*every, *found]
        return check_score(
            self.name, True, f"the answer {preview(output.value)} contains {_join_texts(present, 'and')}"
        )

    def _folded(self, text: str) -> str:
        return text.casefold() if self.ignore_case else text


def _as_tuple(texts: str | Sequence[str]) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)


def _join_texts(texts: Sequence[str], joint: str) -> str:
    few = [preview(text) for text in texts[:3]]
    more = [f"{len(texts) - 3} more"] if len(texts) > 3 else []
    parts = few + more
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {joint} {parts[-1]}"


@dataclass(frozen=True, slots=True)
class Regex:
    r"""The answer matches a pattern, somewhere or as a whole; a pattern that takes too long is an error.

    >>> Regex(r"\d+ km")(Case(id="1"), Output(value="about 12 km")).reason
    "the answer 'about 12 km' matches '\\\\d+ km' at '12 km'"
    """

    name: ClassVar[str] = "regex"
    is_check: ClassVar[bool] = True

    pattern: str
    """In the syntax of Python's `re` (and of the `regex` package, which runs it)."""
    full: bool = False
    """The whole answer has to match, not a part of it."""
    ignore_case: bool = False
    """Upper and lower case count as the same."""
    seconds: float = 1.0
    """How long one answer may take; patterns such as `(a|aa)+$` can take for ever."""

    def __post_init__(self) -> None:
        if not self.pattern:
            raise ConfigError("regex: the pattern is empty and would match every answer.")
        if not 0 < self.seconds < math.inf:
            raise ConfigError(f"regex: `seconds` is {self.seconds!r}; it has to be a number above 0.")
        try:
            self._compiled()
        except need("regex").error as error:
            raise ConfigError(f"regex: the pattern {self.pattern!r} cannot be read: {error}.") from error

    def __call__(self, case: Case, output: Output) -> Score:
        text = text_of(output.value)
        compiled = self._compiled()
        try:
            search = compiled.fullmatch if self.full else compiled.search
            match = search(text, timeout=self.seconds)
        except TimeoutError:
            reason = (
                f"the pattern {self.pattern!r} took longer than {self.seconds:g} s "
                f"on an answer of {count(len(text), 'character')}; write it with fewer ways to match the same text"
            )
            return Score(name=self.name, status="error", reason=reason)
        if match is None:
            return check_score(self.name, False, f"the answer {preview(output.value)} does not match {self.pattern!r}")
        where = "" if self.full else f" at {preview(match.group())}"
        return check_score(self.name, True, f"the answer {preview(output.value)} matches {self.pattern!r}{where}")

    def _compiled(self) -> "regex.Pattern[str]":
        module = need("regex")
        compiled: regex.Pattern[str] = module.compile(self.pattern, module.IGNORECASE if self.ignore_case else 0)
        return compiled


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """The answer is neither too short nor too long.

    >>> Length(max_words=2)(Case(id="1"), Output(value="Oslo, of course")).reason
    "the answer 'Oslo, of course' has 3 words, more than 2"
    """

    name: ClassVar[str] = "length"
    is_check: ClassVar[bool] = True

    min_chars: int | None = None
    max_chars: int | None = None
    min_words: int | None = None
    """Words are what blanks separate."""
    max_words: int | None = None

    def __post_init__(self) -> None:
        limits = (self.min_chars, self.max_chars, self.min_words, self.max_words)
        if all(limit is None for limit in limits):
            raise ConfigError("length: name at least one of min_chars, max_chars, min_words, max_words.")
        if any(limit is not None and limit < 0 for limit in limits):
            raise ConfigError("length: a limit is below 0.")
        for least, most in ((self.min_chars, self.max_chars), (self.min_words, self.max_words)):
            if least is not None and most is not None and least > most:
                raise ConfigError(f"length: no answer has at least {least} and at most {most}.")

    def __call__(self, case: Case, output: Output) -> Score:
        text = text_of(output.value)
        chars, words = len(text), len(text.split())
        faults = [
            f"{count(number, noun)}, {'fewer' if least else 'more'} than {limit:,}"
            for number, noun, limit, least in (
                (chars, "character", self.min_chars, True),
                (chars, "character", self.max_chars, False),
                (words, "word", self.min_words, True),
                (words, "word", self.max_words, False),
            )
            if limit is not None and (number < limit if least else number > limit)
        ]
        has = " and ".join(faults) or f"{count(chars, 'character')} and {count(words, 'word')}"
        return check_score(
            self.name, not faults, f"the answer {preview(output.value)} has {has}", characters=chars, words=words
        )


@dataclass(frozen=True, slots=True)
class Time:
    """The answer came in time; an answer that was given beforehand has no time and is unscored.

    >>> Time(2.0)(Case(id="1"), Output(value="Oslo", seconds=2.5)).reason
    'the answer took 2.5 s, and 2 s are allowed'
    """

    name: ClassVar[str] = "time"
    is_check: ClassVar[bool] = True

    seconds: float
    """The longest an answer may take."""

    def __post_init__(self) -> None:
        if not 0 < self.seconds < math.inf:
            raise ConfigError(f"time: `seconds` is {self.seconds!r}; it has to be a number above 0.")

    def __call__(self, case: Case, output: Output) -> Score:
        if output.seconds is None:
            return unscored(self.name, "nothing was timed: the answer was given, not asked for")
        reason = f"the answer took {output.seconds:z.3g} s, and {self.seconds:g} s are allowed"
        return check_score(self.name, output.seconds <= self.seconds, reason, seconds=output.seconds)
