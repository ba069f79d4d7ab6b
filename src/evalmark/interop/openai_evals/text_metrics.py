"""The text metrics of OpenAI's `text_similarity` grader, except `cosine`.

OpenAI names the metrics but does not publish how it computes them. Where a metric has several usual definitions, each
is a variant here: an import takes the one that gives the stored scores of old runs, and the first one if there are none.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

from rapidfuzz import fuzz, utils
from rapidfuzz.distance import LCSseq

from evalmark.core.lazy import need

TextMetric = Callable[[str, str], float]
"""A function of output and reference that gives a number from 0 to 1."""
_WORD = re.compile(r"[a-z0-9]+")


def text_metric(name: str, variant: str = "") -> TextMetric | None:
    """Return a metric by its name at OpenAI, in its first variant if none is named; None if there is none.

    >>> text_metric("rouge_1")("the cat sat", "The cat ran.") == 2 / 3
    True
    """
    variants = METRICS.get(name, {})
    return variants.get(variant or next(iter(variants), ""))


def _ratio(output: str, reference: str) -> float:
    return fuzz.ratio(output, reference) / 100


def _weighted_ratio(output: str, reference: str) -> float:
    return fuzz.WRatio(output, reference, processor=utils.default_process) / 100


def _bleu(output: str, reference: str) -> float:
    """Return BLEU-4 of a sentence as sacrebleu computes it, with exponential smoothing."""
    return float(need("sacrebleu", "text").sentence_bleu(output, [reference]).score) / 100


def _bleu_words(output: str, reference: str) -> float:
    """Return BLEU-4 (Papineni et al., 2002) of words between blanks, without smoothing."""
    found, expected = output.split(), reference.split()
    shares = [_overlap(found, expected, n) for n in range(1, 5)]
    if not found or any(common == 0 for common, _, _ in shares):
        return 0.0
    precision = sum(math.log(common / total) for common, total, _ in shares) / 4
    return math.exp(min(0.0, 1 - len(expected) / len(found)) + precision)


def _gleu(output: str, reference: str) -> float:
    """Return Google's BLEU (Wu et al., 2016): the smaller of precision and recall of all 1- to 4-grams."""
    counts = [_overlap(output.split(), reference.split(), n) for n in range(1, 5)]
    common, found, expected = (sum(numbers) for numbers in zip(*counts, strict=True))
    return common / max(found, expected) if found and expected else 0.0


def _meteor(output: str, reference: str) -> float:
    """Return METEOR (Lavie and Agarwal, 2007) of equal words, without stems and synonyms."""
    found, expected = output.lower().split(), reference.lower().split()
    pairs = _aligned(found, expected)
    if not pairs:
        return 0.0
    precision, recall = len(pairs) / len(found), len(pairs) / len(expected)
    mean = precision * recall / (0.9 * precision + 0.1 * recall)
    chunks = 1 + sum(b != (a[0] + 1, a[1] + 1) for a, b in pairwise(pairs))
    return float(mean * (1 - 0.5 * (chunks / len(pairs)) ** 3))


def _aligned(found: Sequence[str], expected: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions of equal words, each word of the reference at most once, in the order of the output."""
    places: dict[str, list[int]] = {}
    for number, word in reversed([*enumerate(expected)]):
        places.setdefault(word, []).append(number)
    return [(number, places[word].pop()) for number, word in enumerate(found) if places.get(word)]


def _rouge(n: int) -> TextMetric:
    def score(output: str, reference: str) -> float:
        common, found, expected = _overlap(_words(output), _words(reference), n)
        return 2 * common / (found + expected) if found + expected else 0.0

    return score


def _rouge_l(output: str, reference: str) -> float:
    found, expected = _words(output), _words(reference)
    return 2 * LCSseq.similarity(found, expected) / (len(found) + len(expected)) if found or expected else 0.0


def _words(text: str) -> list[str]:
    """Return the words of a text as ROUGE's reference implementation splits them."""
    return _WORD.findall(text.lower())


def _overlap(found: Sequence[str], expected: Sequence[str], n: int) -> tuple[int, int, int]:
    """Return how many n-grams two texts share, and how many each has."""
    one, other = (Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1)) for words in (found, expected))
    return (one & other).total(), one.total(), other.total()


METRICS: Mapping[str, Mapping[str, TextMetric]] = MappingProxyType(
    {
        "fuzzy_match": {"ratio": _ratio, "weighted ratio": _weighted_ratio},
        "bleu": {"sacrebleu": _bleu, "words": _bleu_words},
        "gleu": {"words": _gleu},
        "meteor": {"equal words": _meteor},
        **{f"rouge_{n}": {"F1": _rouge(n)} for n in range(1, 6)},
        "rouge_l": {"F1": _rouge_l},
    }
)
"""The variants of each metric by name, the first one being the default."""
