"""The expected score of a scale: each number weighted with the probability that the judge gave it.

G-Eval (Liu et al. 2023, arXiv 2303.16634): the sum of p(s) times s over the numbers s of the scale, here divided by
the sum of p(s). The probabilities come from the tokens that the endpoint reports at the position of the verdict.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from evalmark.core.values.call import Reply, Token

MIN_MASS = 0.9
"""The smallest total probability on numbers of the scale."""
TOP_LOGPROBS = 20
"""How many of the most likely tokens are requested."""
_FIRST = re.compile(r"[\s:\"]*(0|[1-9]\d*)(\D.*)?", re.DOTALL)
_NEXT = re.compile(r"(\d*)(\D.*)?", re.DOTALL)


class WeightedScore(NamedTuple):
    """An expected score."""

    score: float
    mass: float
    """The total probability on numbers of the scale."""


class Scale(NamedTuple):
    """The numbers that a verdict may be."""

    low: int
    high: int

    def has(self, text: str) -> bool:
        """Return whether the digits are a number of the scale."""
        return bool(text) and text == str(int(text)) and self.low <= int(text) <= self.high

    def has_longer(self, text: str) -> bool:
        """Return whether a longer number of the scale starts with these digits."""
        return any(str(n).startswith(text) and str(n) != text for n in range(self.low, self.high + 1))


def weighted_score(reply: Reply, key: str, score: int, scale: Scale) -> WeightedScore | str:
    """Return the expected score at the judge's number, or why there is none.

    The number is in the reply's JSON, under `key`.
    """
    if not reply.tokens:
        return "the endpoint gave no probabilities"
    text = "".join(token.text for token in reply.tokens)
    places = list(re.finditer(rf'"{re.escape(key)}"\s*:\s*(-?\d+)', text))
    if len(places) != 1 or places[0][1] != str(score):
        return "the number is not found among the tokens"
    if any(not _is_probability(p) for token in reply.tokens for _, p in ((token.text, token.logprob), *token.others)):
        return "the endpoint gave numbers that are not log probabilities"
    tokens = list(_tokens_from(reply.tokens, places[0].start(1)))
    masses: dict[int, float] = {}
    for number, p in _number_probabilities(tokens, "", scale):
        masses[number] = masses.get(number, 0.0) + p
    return _expected(masses, scale)


def _expected(masses: Mapping[int, float], scale: Scale) -> WeightedScore | str:
    mass = math.fsum(masses.values())
    if mass > 1.001:
        return "the probabilities that the endpoint gave add up to more than 1"
    if mass < MIN_MASS:
        return f"only {mass:z.2f} of the probability lies on numbers from {scale.low} to {scale.high}"
    return WeightedScore(math.fsum(number * p for number, p in masses.items()) / mass, min(1.0, mass))


def _is_probability(logprob: float) -> bool:
    return not math.isnan(logprob) and logprob <= 1e-6


def _tokens_from(tokens: Sequence[Token], at: int) -> Iterator[Token]:
    """Yield the tokens from the one that holds the character at `at`."""
    end = 0
    for token in tokens:
        end += len(token.text)
        if end > at:
            yield token


def _number_probabilities(tokens: Sequence[Token], before: str, scale: Scale) -> Iterator[tuple[int, float]]:
    """Yield numbers with their probabilities, after the digits `before`.

    An alternative token does not show what would have followed it. Its digits count if no longer number of the scale starts
    with them, or if the model writes numbers as one token.
    """
    if not tokens:
        if scale.has(before):
            yield int(before), 1.0
        return
    here = {tokens[0].text: tokens[0].logprob, **dict(tokens[0].others)}
    read = {text: _digits(text, before) for text in here}
    whole = any(len(found[0]) > 1 for found in read.values() if found is not None)
    for text, logprob in here.items():
        if (found := read[text]) is None:
            continue
        digits, ended = found[0], found[1]
        number, p = before + digits, math.exp(min(0.0, logprob))
        if text == tokens[0].text and not ended and scale.has_longer(number):
            yield from ((n, p * q) for n, q in _number_probabilities(tokens[1:], number, scale))
        elif scale.has(number) and (ended or whole or not scale.has_longer(number)):
            yield int(number), p


def _digits(text: str, before: str) -> tuple[str, bool] | None:
    """Return the digits that a token adds, and whether the number ends in it; None if it is not part of a number."""
    match = (_NEXT if before else _FIRST).fullmatch(text)
    if match is None:
        return None
    return match[1], match[2] is not None or (bool(before) and not match[1])
