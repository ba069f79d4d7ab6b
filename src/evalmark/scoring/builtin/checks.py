"""Text checks: equality, containment, patterns, length, and the time limit."""

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from evalmark.core.errors import ConfigError
from evalmark.core.lazy import need
from evalmark.core.text import count
from evalmark.core.values.case import Case, Output
from evalmark.core.values.plain_data import canonical, plain
from evalmark.core.values.score import Score
from evalmark.scoring.binding.scores import check_score, missing_reference, unscored
from evalmark.scoring.binding.text import NO_EXPECTED, preview, preview_pair, text_of

if TYPE_CHECKING:
    import regex


@dataclass(frozen=True, slots=True, kw_only=True)
class Equals:
    """Check that the output equals the expected value or a liked example.

    Args:
        ignore_case: Compare texts without regard to case.
        strip: Ignore white space at both ends of texts.

    Returns:
        A score that passes (1) or fails (0); `unscored` if the case has no expected value and no liked example.

    >>> Equals()(Case(id="1", expected="Oslo"), Output(value="oslo")).reason
    "the output 'oslo' is not 'Oslo'"
    """

    name: ClassVar[str] = "equals"
    is_check: ClassVar[bool] = True

    ignore_case: bool = False
    strip: bool = False

    def lacks(self, case: Case) -> str:
        """Return why no output of the case can be scored; empty if it can."""
        return "" if case.liked else NO_EXPECTED

    def __call__(self, case: Case, output: Output) -> Score:
        liked = case.liked
        if not liked:
            return unscored(self.name, NO_EXPECTED)
        if any(self._key(output.value) == self._key(value) for value in liked):
            return check_score(self.name, True, f"the output is {preview(output.value)}")
        answer, expected = preview_pair(output.value, liked[0])
        others = f" nor any of {count(len(liked) - 1, 'other liked answer')}" if len(liked) > 1 else ""
        return check_score(
            self.name, False, f"the output {answer} is not {expected}{others}{_encoding_hint(output, liked)}"
        )

    def _key(self, value: Any) -> str:
        """Return a key that equal values share. A number never equals its text; 1 equals 1.0."""
        if isinstance(value, str):
            value = value.strip() if self.strip else value
            value = value.casefold() if self.ignore_case else value
            return canonical(value)
        return canonical(_integral(plain(value)))


def _integral(value: Any) -> Any:
    """Return the data with 1.0 written as 1."""
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
    """Check that the output contains certain texts: those given, or else the expected value.

    Args:
        any: At least one of these texts must occur.
        all: Each of these texts must occur.
        ignore_case: Compare without regard to case.

    Returns:
        A score that passes (1) or fails (0); `unscored` if no text is given and the case has no expected value.

    Raises:
        ConfigError: `any` or `all` holds an empty text or a value that is not a text.

    >>> Contains(all=["Oslo", "Bergen"])(Case(id="1"), Output(value="Oslo")).reason
    "'Bergen' is not in the output 'Oslo'"
    """

    name: ClassVar[str] = "contains"
    is_check: ClassVar[bool] = True

    any: str | Sequence[str] = ()
    all: str | Sequence[str] = ()
    ignore_case: bool = False

    def __post_init__(self) -> None:
        for setting, texts in (("any", _as_tuple(self.any)), ("all", _as_tuple(self.all))):
            if not all(isinstance(text, str) and text for text in texts):
                raise ConfigError(f"contains: `{setting}` holds an empty text or something else than text: {texts!r}.")

    def lacks(self, case: Case) -> str:
        """Return why no output of the case can be scored; empty if it can."""
        return "" if self.any or self.all else missing_reference(case)

    def __call__(self, case: Case, output: Output) -> Score:
        any_of, all_of = _as_tuple(self.any), _as_tuple(self.all)
        if not any_of and not all_of:
            any_of = tuple(map(text_of, case.references))
            if not any_of:
                return unscored(self.name, NO_EXPECTED)
        answer = self._folded(text_of(output.value))
        missing = [text for text in all_of if self._folded(text) not in answer]
        found = [text for text in any_of if self._folded(text) in answer]
        if missing or (any_of and not found):
            lacking = missing or list(any_of)
            texts = _join_texts(lacking, "and")
            are_not = "is not" if len(lacking) == 1 else "are not"
            found_none = f"none of {texts} is" if any_of and not missing and len(lacking) > 1 else f"{texts} {are_not}"
            reason = f"{found_none} in the output {preview(output.value)}"
            return check_score(self.name, False, reason, missing=lacking)
        present = [*all_of, *found]
        return check_score(
            self.name, True, f"the output {preview(output.value)} contains {_join_texts(present, 'and')}"
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
    r"""Check that the output matches a regular expression.

    Args:
        pattern: The pattern, in the syntax of Python's `re`. The package `regex` runs it.
        full: The whole output must match, not only a part of it.
        ignore_case: Match without regard to case.
        seconds: Time limit for one output, above 0. Patterns such as `(a|aa)+$` can take very long.

    Returns:
        A score that passes (1) or fails (0); status `error` if the pattern exceeds its time limit.

    Raises:
        ConfigError: The pattern is empty or invalid, or `seconds` is not a number above 0.

    >>> Regex(r"\d+ km")(Case(id="1"), Output(value="about 12 km")).reason
    "the output 'about 12 km' matches '\\\\d+ km' at '12 km'"
    """

    name: ClassVar[str] = "regex"
    is_check: ClassVar[bool] = True

    pattern: str
    full: bool = False
    ignore_case: bool = False
    seconds: float = 1.0

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
            return check_score(self.name, False, f"the output {preview(output.value)} does not match {self.pattern!r}")
        where = "" if self.full else f" at {preview(match.group())}"
        return check_score(self.name, True, f"the output {preview(output.value)} matches {self.pattern!r}{where}")

    def _compiled(self) -> "regex.Pattern[str]":
        module = need("regex")
        compiled: regex.Pattern[str] = module.compile(self.pattern, module.IGNORECASE if self.ignore_case else 0)
        return compiled


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """Check the number of characters and words of the output. At least one limit must be given.

    Args:
        min_chars: The smallest allowed number of characters.
        max_chars: The largest allowed number of characters.
        min_words: The smallest allowed number of words. Words are separated by white space.
        max_words: The largest allowed number of words.

    Returns:
        A score that passes (1) or fails (0), with both numbers in its detail.

    Raises:
        ConfigError: There is no limit, a limit is below 0, or a minimum is above its maximum.

    >>> Length(max_words=2)(Case(id="1"), Output(value="Oslo, of course")).reason
    "the output 'Oslo, of course' has 3 words, more than 2"
    """

    name: ClassVar[str] = "length"
    is_check: ClassVar[bool] = True

    min_chars: int | None = None
    max_chars: int | None = None
    min_words: int | None = None
    max_words: int | None = None

    def __post_init__(self) -> None:
        limits = (self.min_chars, self.max_chars, self.min_words, self.max_words)
        if all(limit is None for limit in limits):
            raise ConfigError("length: name at least one of min_chars, max_chars, min_words, max_words.")
        if any(limit is not None and limit < 0 for limit in limits):
            raise ConfigError("length: a limit is below 0.")
        for least, most in ((self.min_chars, self.max_chars), (self.min_words, self.max_words)):
            if least is not None and most is not None and least > most:
                raise ConfigError(f"length: no output has at least {least} and at most {most}.")

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
            self.name, not faults, f"the output {preview(output.value)} has {has}", characters=chars, words=words
        )


@dataclass(frozen=True, slots=True)
class Time:
    """Check that the target returned its output in time.

    Args:
        seconds: The longest allowed time, above 0.

    Returns:
        A score that passes (1) or fails (0); `unscored` if the output was read from a file and has no time.

    Raises:
        ConfigError: `seconds` is not a number above 0.

    >>> Time(2.0)(Case(id="1"), Output(value="Oslo", seconds=2.5)).reason
    'the output took 2.5 s, and 2 s are allowed'
    """

    name: ClassVar[str] = "time"
    is_check: ClassVar[bool] = True

    seconds: float

    def __post_init__(self) -> None:
        if not 0 < self.seconds < math.inf:
            raise ConfigError(f"time: `seconds` is {self.seconds!r}; it has to be a number above 0.")

    def __call__(self, case: Case, output: Output) -> Score:
        if output.seconds is None:
            return unscored(self.name, "the output has no time: it was read from a file")
        reason = f"the output took {output.seconds:z.3g} s, and {self.seconds:g} s are allowed"
        return check_score(self.name, output.seconds <= self.seconds, reason, seconds=output.seconds)
