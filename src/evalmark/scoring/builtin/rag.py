"""The RAG metrics: relevance of the contexts, similarity to the reference, and support by the contexts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from evalmark.core.errors import ConfigError
from evalmark.core.protocols import Embedder
from evalmark.core.text import count
from evalmark.core.values.case import Case, Output, is_blank
from evalmark.core.values.score import Direction, Score
from evalmark.scoring.binding.scores import missing_reference, unscored
from evalmark.scoring.binding.text import NO_EXPECTED, preview, text_of

from .cosine import rows
from .grounding import relevance, similarities, similarity, sufficiency, supports, unsupported
from .sentences import Splitter, check_splitter, split_sentences

NO_ANSWER = "the answer is empty"
NO_CONTEXTS = "there are no contexts"
NO_QUESTION = "the case has no question"


@dataclass(frozen=True, slots=True)
class RagTexts:
    """The texts that a RAG metric compares."""

    question: str
    answer: str
    reference: str
    contexts: tuple[str, ...]
    """The contexts that the target returned, else those of the row."""

    @classmethod
    def of(cls, case: Case, output: Output) -> "RagTexts":
        reference = next(iter(case.references), None)
        return cls(text_of(case.input), text_of(output.value), text_of(reference), case.contexts_of(output) or ())

    def lacks(
        self, *, answer: bool = True, contexts: bool = False, reference: bool = False, question: bool = False
    ) -> str:
        """Return why these texts cannot be scored; empty if they can."""
        if answer and is_blank(self.answer):
            return NO_ANSWER
        if contexts and all(map(is_blank, self.contexts)):
            return NO_CONTEXTS
        if reference and is_blank(self.reference):
            return NO_EXPECTED
        return NO_QUESTION if question and is_blank(self.question) else ""


def metric_score(name: str, raw: float, fact: str, detail: Mapping[str, Any], direction: Direction = "higher") -> Score:
    """Return the score of a metric, with the measured fact as its reason; a threshold decides whether it passes.

    `value` is `raw` limited to 0..1; `raw` keeps a negative cosine.
    """
    value = min(1.0, max(0.0, raw))
    return Score(name=name, raw=raw, value=value, direction=direction, reason=fact, detail=detail)


def check_cosine(name: str, setting: str, value: float) -> None:
    """Raise an error for a limit that is outside the range of a cosine.

    Raises:
        ConfigError: The value is not a number from -1 to 1.
    """
    if not -1 <= value <= 1:
        raise ConfigError(f"{name}: `{setting}` is {value!r}; it has to be a number from -1 to 1.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRelevance:
    """Measure the mean similarity of the question and the contexts.

    Args:
        embedder: An embedding model for this scorer; None uses the run's.

    Returns:
        A score whose `raw` is a mean cosine; `unscored` without a question or contexts.

    >>> ContextRelevance().name
    'context_relevance'
    """

    name: ClassVar[str] = "context_relevance"
    needs_contexts: ClassVar[bool] = True
    unit: ClassVar[str] = "cosine"

    embedder: Any = field(default=None, repr=False)

    async def __call__(self, case: Case, output: Output, embedder: Embedder) -> Score:
        texts = RagTexts.of(case, output)
        if why := texts.lacks(question=True, contexts=True):
            return unscored(self.name, why)
        found = await _question_similarities(texts, embedder)
        fact = f"question and {count(len(found), 'context')} have a mean cosine of {relevance(found):z.3f}"
        return metric_score(self.name, relevance(found), fact, {"similarities": found})


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSufficiency:
    """Measure the share of contexts that are similar enough to the question.

    Args:
        sufficiency: The smallest cosine to the question that counts, from -1 to 1.
        embedder: An embedding model for this scorer; None uses the run's.

    Returns:
        A score from 0 to 1; `unscored` without a question or contexts.

    Raises:
        ConfigError: `sufficiency` is not a number from -1 to 1.

    >>> ContextSufficiency(sufficiency=0.6).sufficiency
    0.6
    """

    name: ClassVar[str] = "context_sufficiency"
    needs_contexts: ClassVar[bool] = True

    sufficiency: float = 0.5
    embedder: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_cosine(self.name, "sufficiency", self.sufficiency)

    async def __call__(self, case: Case, output: Output, embedder: Embedder) -> Score:
        texts = RagTexts.of(case, output)
        if why := texts.lacks(question=True, contexts=True):
            return unscored(self.name, why)
        found = await _question_similarities(texts, embedder)
        enough = sum(value >= self.sufficiency for value in found)
        fact = f"{enough} of {count(len(found), 'context')} reach a cosine of {self.sufficiency:g} to the question"
        return metric_score(self.name, sufficiency(found, self.sufficiency), fact, {"similarities": found})


async def _question_similarities(texts: RagTexts, embedder: Embedder) -> list[float]:
    vectors = rows(await embedder([texts.question, *texts.contexts]))
    return similarities(vectors[0], vectors[1:])


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCorrectness:
    """Measure the similarity of answer and reference.

    Args:
        embedder: An embedding model for this scorer; None uses the run's.

    Returns:
        A score whose `raw` is a cosine; `unscored` without an answer or a reference.

    >>> AnswerCorrectness().name
    'answer_correctness'
    """

    name: ClassVar[str] = "answer_correctness"
    unit: ClassVar[str] = "cosine"

    embedder: Any = field(default=None, repr=False)

    def lacks(self, case: Case) -> str:
        """Return why no output of the case can be scored; empty if it can."""
        return missing_reference(case)

    async def __call__(self, case: Case, output: Output, embedder: Embedder) -> Score:
        texts = RagTexts.of(case, output)
        if why := texts.lacks(reference=True):
            return unscored(self.name, why)
        return await _pair_score(self.name, ("reference", texts.reference), texts.answer, embedder)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRelevance(AnswerCorrectness):
    """Measure the similarity of answer and reference: the number of `answer_correctness` with a flag of its own.

    For the similarity of answer and question, use `AnswerQuestionRelevance`.

    Args:
        embedder: An embedding model for this scorer; None uses the run's.

    Returns:
        A score whose `raw` is a cosine; `unscored` without an answer or a reference.

    >>> AnswerRelevance().name
    'answer_relevance'
    """

    name: ClassVar[str] = "answer_relevance"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerQuestionRelevance:
    """Measure the similarity of answer and question.

    Args:
        embedder: An embedding model for this scorer; None uses the run's.

    Returns:
        A score whose `raw` is a cosine; `unscored` without an answer or a question.

    >>> AnswerQuestionRelevance().name
    'answer_question_relevance'
    """

    name: ClassVar[str] = "answer_question_relevance"
    unit: ClassVar[str] = "cosine"

    embedder: Any = field(default=None, repr=False)

    async def __call__(self, case: Case, output: Output, embedder: Embedder) -> Score:
        texts = RagTexts.of(case, output)
        if why := texts.lacks(question=True):
            return unscored(self.name, why)
        return await _pair_score(self.name, ("question", texts.question), texts.answer, embedder)


async def _pair_score(name: str, other: tuple[str, str], answer: str, embedder: Embedder) -> Score:
    what, text = other
    vectors = rows(await embedder([answer, text]))
    raw = similarity(vectors[0], vectors[1])
    return metric_score(
        name, raw, f"cosine {raw:z.3f} to the {what} {preview(text)}; the answer is {preview(answer)}", {}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerHallucination:
    """Measure the share of the answer's sentences that no context supports; lower is better.

    Without contexts no sentence is supported. The detail holds each sentence with its closest context.

    Args:
        hallucination: The smallest cosine to a context that supports a sentence, from -1 to 1.
        splitter: How to split the answer into sentences: `sentencex`, `sentencex:LANGUAGE`, `simple` or a function.
        embedder: An embedding model for this scorer; None uses the run's.

    Returns:
        A score from 0 to 1; `unscored` without an answer or a sentence in it.

    Raises:
        ConfigError: `hallucination` is not a number from -1 to 1, or the splitter is unknown.

    >>> AnswerHallucination(splitter="simple").direction
    'lower'
    """

    name: ClassVar[str] = "answer_hallucination"
    direction: ClassVar[Direction] = "lower"

    hallucination: float = 0.4
    splitter: Splitter = "sentencex"
    embedder: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_cosine(self.name, "hallucination", self.hallucination)
        check_splitter(self.splitter)

    async def __call__(self, case: Case, output: Output, embedder: Embedder) -> Score:
        texts = RagTexts.of(case, output)
        sentences = split_sentences(texts.answer, self.splitter)
        if why := texts.lacks() or ("" if sentences else f"the answer {preview(texts.answer)} has no sentence"):
            return unscored(self.name, why, self.direction)
        asked = [*sentences, *texts.contexts] if texts.contexts else []
        vectors = rows(await embedder(asked)) if asked else rows([[0.0]] * len(sentences))
        found = supports(sentences, vectors[: len(sentences)], vectors[len(sentences) :], self.hallucination)
        return metric_score(
            self.name,
            unsupported(found),
            _hallucination_reason([support.sentence for support in found if not support.supported], len(found), texts),
            {"sentences": [support.detail for support in found]},
            self.direction,
        )


def _hallucination_reason(bare: Sequence[str], total: int, texts: RagTexts) -> str:
    if not texts.contexts:
        return f"there are no contexts, so 0 of {count(total, 'sentence')} can be similar to one"
    fact = f"{total - len(bare)} of {count(total, 'sentence')} similar to a context"
    return f"{fact}; not {preview(bare[0])}" if bare else fact
