"""The cosine rule: the closest of the liked and disliked examples decides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from evalmark.core.errors import ConfigError
from evalmark.core.protocols import Embedder
from evalmark.core.values.case import Case, Example, Output, is_blank
from evalmark.core.values.plain_data import canonical
from evalmark.core.values.score import Score
from evalmark.scoring.binding.scores import meets_threshold, unscored
from evalmark.scoring.binding.text import preview

from .cosine import Matrix, cosines, rows

NO_EXAMPLE = "the case has no liked or disliked example to compare with"


@dataclass(frozen=True, slots=True, kw_only=True)
class CosineRule:
    """The thresholds that decide whether an output is close to a liked or far from a disliked example.

    Args:
        positive: The smallest cosine to a liked example that passes, from 0 to 1.
        negative: The smallest distance (1 - cosine) from a disliked example that passes, from 0 to 1.
        liked_guard: If liked examples exist, an output that is closer to a disliked one cannot pass.

    >>> CosineRule(positive=0.8).negative
    0.1
    """

    positive: float = 0.90
    negative: float = 0.10
    liked_guard: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedExample:
    """One example with its cosine to the output, or the reason why there is none."""

    example: Example
    cosine: float | None = None
    mismatch: str = ""
    """Why the two cannot be compared; empty if they can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosestExample:
    """The result of the cosine rule for one output."""

    example: Example | None
    """The deciding example; None if no example can be compared."""
    cosine: float | None
    score: float
    passed: bool
    guarded: bool = False
    """Whether the output failed only because of the setting `liked_guard`."""


def closest_example(compared: Sequence[ComparedExample], rule: CosineRule) -> ClosestExample:
    """Apply the cosine rule: the example with the highest cosine decides; a liked one wins a tie.

    The score is the cosine to a liked example, or 1 - cosine to a disliked one; negative cosines count as 0. Examples that
    cannot be compared are left out. If that leaves no example, or no liked one although the case has some, the score is 0
    and does not pass.

    >>> near = ComparedExample(example=Example(value="a"), cosine=0.92)
    >>> nearer = ComparedExample(example=Example(value="b", liked=False), cosine=0.95)
    >>> closest_example([near, nearer], CosineRule()).passed
    False
    """
    known = [(item.cosine, item.example) for item in compared if item.cosine is not None]
    some_liked = any(item.example.liked for item in compared)
    if not known or (some_liked and not any(example.liked for _, example in known)):
        return ClosestExample(example=None, cosine=None, score=0.0, passed=False)
    cosine, example = max(known, key=lambda pair: (pair[0], pair[1].liked))
    near = min(1.0, max(0.0, cosine))
    if example.liked:
        return ClosestExample(example=example, cosine=cosine, score=near, passed=meets_threshold(near, rule.positive))
    barred = rule.liked_guard and some_liked
    passed = meets_threshold(1 - near, rule.negative)
    return ClosestExample(
        example=example, cosine=cosine, score=1 - near, passed=passed and not barred, guarded=passed and barred
    )


def comparison_text(answer: Any, example: Any, *, auto_unwrap: bool = True) -> tuple[str, str]:
    """Return the text of an example, or why an output cannot be compared with it; one of the two is empty.

    A mapping with one value is replaced by that value if the output is a text.

    >>> comparison_text("Oslo", {"city": "Bergen"})
    ('Bergen', '')
    >>> comparison_text("Oslo", ["Bergen"])
    ('', 'Type mismatch (expected list, got str)')
    """
    if auto_unwrap and isinstance(answer, str) and isinstance(example, Mapping) and len(example) == 1:
        (example,) = example.values()
    if _kind(answer) != _kind(example):
        return "", f"Type mismatch (expected {type(example).__name__}, got {type(answer).__name__})"
    if isinstance(answer, Mapping) and answer.keys() != example.keys():
        missing, extra = set(example) - set(answer), set(answer) - set(example)
        faults = [f"Missing keys: {_format_keys(missing)}"] * bool(missing) + [
            f"Unexpected keys: {_format_keys(extra)}"
        ] * bool(extra)
        return "", " \n ".join(faults)
    return embedding_text(example), ""


def embedding_text(value: Any) -> str:
    """Return the text that is embedded: a text unchanged, other data as canonical JSON."""
    return value if isinstance(value, str) else canonical(value)


def _kind(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Mapping
    if isinstance(value, (list, tuple)):
        return Sequence
    return float if type(value) is int else type(value)


def _format_keys(keys: set[Any]) -> str:
    return "{" + ", ".join(sorted(map(repr, keys))) + "}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Similarity(CosineRule):
    """Check by the cosine rule that the output is similar to a liked example and not closer to a disliked one.

    The expected value counts as a liked example. Texts are compared by the cosine of their embeddings, mappings and lists
    by that of their canonical JSON. `raw` is the cosine to the closest example; `value` is that cosine if the example is
    liked, else 1 - cosine.

    Args:
        positive: The smallest cosine to a liked example that passes, from 0 to 1.
        negative: The smallest distance (1 - cosine) from a disliked example that passes, from 0 to 1.
        auto_unwrap: Compare an example with a single field, such as `{"text": "Oslo"}`, as `Oslo` if the output is text.
        liked_guard: If liked examples exist, an output that is closer to a disliked one cannot pass.
        embedder: An embedding model for this scorer; None uses the run's.

    Returns:
        A score that passes or fails; `unscored` if the case has no example.

    Raises:
        ConfigError: `positive` or `negative` is not a number from 0 to 1.

    >>> Similarity(positive=0.8).name
    'similarity'
    """

    name: ClassVar[str] = "similarity"
    unit: ClassVar[str] = "cosine"
    own_thresholds: ClassVar[tuple[str, ...]] = ("positive", "negative")
    """Settings that decide what passes but do not change the value; each score has them in its detail."""

    auto_unwrap: bool = True
    embedder: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for setting, value in (("positive", self.positive), ("negative", self.negative)):
            if not 0 <= value <= 1:
                raise ConfigError(f"similarity: `{setting}` is {value!r}; it has to be a number from 0 to 1.")

    def lacks(self, case: Case) -> str:
        """Return why no output of the case can be scored; empty if it can."""
        return "" if case.liked or case.disliked else NO_EXAMPLE

    async def __call__(self, case: Case, output: Output, embedder: Embedder) -> Score:
        expected = () if is_blank(case.expected) else (Example(value=case.expected),)
        examples = (*expected, *sorted(case.examples, key=lambda example: not example.liked))
        if not examples:
            return unscored(self.name, NO_EXAMPLE)
        pairs = [comparison_text(output.value, e.value, auto_unwrap=self.auto_unwrap) for e in examples]
        texts = [embedding_text(output.value), *(text for text, mismatch in pairs if not mismatch)]
        vectors = rows(await embedder(texts)) if len(texts) > 1 else rows([[0.0]])
        if len(texts) > 1 and (empty := _first_zero_vector(vectors)) is not None:
            return unscored(
                self.name, f"the embedding of {preview(texts[empty])} is a zero vector, which has no direction"
            )
        found = iter(cosines(vectors[:1], vectors[1:])[0].tolist())
        compared = [
            ComparedExample(example=example, mismatch=mismatch, cosine=None if mismatch else next(found))
            for example, (_, mismatch) in zip(examples, pairs, strict=True)
        ]
        return self._score(output, compared, closest_example(compared, self))

    def without_own_thresholds(self, score: Score) -> Score:
        """Return the score without its own limits in the reason, for metrics whose threshold decides."""
        thresholds = (f" (at least {self.positive:g} is required)", f" (at most {1 - self.negative:g} is allowed)")
        end = score.reason.find(" to the ")  # the text after it is untrusted
        head = score.reason[:end]
        for threshold in thresholds:
            head = head.removesuffix(threshold)
        return replace(score, reason=head + score.reason[end:]) if end > 0 else score

    def _score(self, output: Output, compared: Sequence[ComparedExample], closest: ClosestExample) -> Score:
        mismatches = [item.mismatch.replace(" \n ", "; ") for item in compared if item.mismatch]
        detail: dict[str, Any] = {"positive": self.positive, "negative": self.negative}
        if mismatches:
            detail["mismatches"] = mismatches
        example = closest.example
        if example is None or closest.cosine is None:
            reason = f"the output {preview(output.value)} cannot be compared: {mismatches[0]}"
            return Score(name=self.name, value=0.0, passed=False, reason=reason, detail={**detail, "barred": True})
        label = "liked" if example.liked else "disliked"
        detail["closest"] = {"label": label, "value": example.value, "cosine": closest.cosine}
        some_liked = any(item.example.liked for item in compared)
        detail["barred"] = self.liked_guard and some_liked and not example.liked
        return Score(
            name=self.name,
            raw=closest.cosine,
            value=closest.score,
            passed=closest.passed,
            reason=self._reason(output, closest, example),
            detail=detail,
        )

    def _reason(self, output: Output, closest: ClosestExample, example: Example) -> str:
        cosine, pair = (
            f"cosine {closest.cosine:z.3f}",
            f"{preview(example.value)}; the output is {preview(output.value)}",
        )
        if example.liked:
            return f"{cosine} (at least {self.positive:g} is required) to the liked {pair}"
        if closest.guarded:
            return f"{cosine} (higher than to any liked example) to the disliked {pair}"
        return f"{cosine} (at most {1 - self.negative:g} is allowed) to the disliked {pair}"


def _first_zero_vector(vectors: Matrix) -> int | None:
    return next((i for i, vector in enumerate(vectors) if not vector.any()), None)
