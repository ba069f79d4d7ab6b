"""Similarity of the output's text to the expected text: edit distance and chrF."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from rapidfuzz.distance import Levenshtein

from evalmark.core.lazy import need
from evalmark.core.text import count
from evalmark.core.values.case import Case, Output
from evalmark.core.values.score import Score
from evalmark.scoring.binding.scores import missing_reference, unscored
from evalmark.scoring.binding.text import NO_EXPECTED, preview_pair, text_of


@dataclass(frozen=True, slots=True, kw_only=True)
class EditSimilarity:
    """Measure the share of the text that needs no edit: 1 for equal texts, 0 for texts with nothing in common.

    The most similar reference counts. The detail holds the number of edits (Levenshtein distance).

    Args:
        ignore_case: Compare without regard to case.
        strip: Ignore white space at both ends.

    Returns:
        A score from 0 to 1 that neither passes nor fails; `unscored` if the case has no reference.

    >>> EditSimilarity()(Case(id="1", expected="Oslo"), Output(value="Olso")).value
    0.5
    """

    name: ClassVar[str] = "edit_similarity"

    ignore_case: bool = False
    strip: bool = False

    def lacks(self, case: Case) -> str:
        """Return why no output of the case can be scored; empty if it can."""
        return missing_reference(case)

    def __call__(self, case: Case, output: Output) -> Score:
        if not case.references:
            return unscored(self.name, NO_EXPECTED)
        answer = self._key(output.value)
        similarity, expected = max(
            ((Levenshtein.normalized_similarity(answer, self._key(value)), value) for value in case.references),
            key=lambda pair: pair[0],
        )
        edits = Levenshtein.distance(answer, self._key(expected))
        one, other = preview_pair(text_of(output.value), text_of(expected))
        is_equal = text_of(output.value) == text_of(expected)
        reason = f"the output {one} " + (
            "is the reference" if is_equal else f"is {count(edits, 'edit')} away from {other}"
        )
        return Score(name=self.name, raw=similarity, value=similarity, reason=reason, detail={"edits": edits})

    def _key(self, value: Any) -> str:
        text = text_of(value)
        text = text.strip() if self.strip else text
        return text.casefold() if self.ignore_case else text


@dataclass(frozen=True, slots=True)
class Chrf:
    """Measure chrF, the F-score of shared character n-grams, with sacrebleu.

    Returns:
        A score whose `raw` is chrF from 0 to 100 and whose `value` is a hundredth of it; `unscored` if the case has no
        reference.

    Raises:
        MissingExtraError: sacrebleu is not installed.

    >>> round(Chrf()(Case(id="1", expected="Oslo"), Output(value="Oslo")).value, 3)
    1.0
    """

    name: ClassVar[str] = "chrf"
    unit: ClassVar[str] = "chrF"

    def __post_init__(self) -> None:
        _sentence_chrf()

    def lacks(self, case: Case) -> str:
        """Return why no output of the case can be scored; empty if it can."""
        return missing_reference(case)

    def __call__(self, case: Case, output: Output) -> Score:
        references = [text_of(value) for value in case.references]
        if not references:
            return unscored(self.name, NO_EXPECTED)
        answer = text_of(output.value)
        raw = float(_sentence_chrf()(answer, references).score)
        one, other = preview_pair(answer, references[0])
        among = f" and {count(len(references) - 1, 'other liked answer')}" if len(references) > 1 else ""
        reason = f"the output {one} has chrF {raw:z.1f} to {other}{among}"
        return Score(name=self.name, raw=raw, value=min(1.0, raw / 100), reason=reason)


def _sentence_chrf() -> Callable[..., Any]:
    score: Callable[..., Any] = need("sacrebleu", "text").sentence_chrf
    return score
