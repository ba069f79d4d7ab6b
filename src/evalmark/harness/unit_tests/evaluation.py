"""Evaluation strategies: the closest labelled output decides, or a strategy of the user's own."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from os import environ
from pathlib import Path
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.core.protocols import Embedder
from evalmark.core.settings import load_settings
from evalmark.core.sync import run_sync
from evalmark.core.values.case import Case, Output
from evalmark.core.values.score import Score
from evalmark.models.embeddings.cached_embedder import CachedEmbedder, MemoryVectorCache
from evalmark.runs.planning.models import ModelFactory
from evalmark.scoring.binding.bound_scorer import BoundScorer, as_scorer
from evalmark.scoring.builtin.similarity import Similarity, comparison_text, embedding_text

from .embed_function import embedder_of
from .labeled import TestCase, as_case
from .results import TestCaseResult

METHOD = "cos_sim_score"


class EvaluationStrategyBase(ABC):
    """Base class of strategies that judge results: define `evaluation_method` and `evaluate`.

    `evaluate` may be `async def`. If it raises an exception, the case fails and the test ends, as with an exception of the
    tested function.

    Example:
        >>> from evalmark.harness.unit_tests.evaluation import EvaluationStrategyBase
        >>> from evalmark.unit_tests import TestCase, TestCaseResult
        >>> class SameLength(EvaluationStrategyBase):
        ...     evaluation_method = "same_length"
        ...     def evaluate(self, generated_result, test_case):
        ...         passed = any(len(generated_result) == len(output.value) for output in test_case.outputs)
        ...         return TestCaseResult(test_case=test_case, passed=passed)
        >>> case = TestCase(inputs={"text": "a"}, outputs=[{"label": 1, "value": "A"}])
        >>> SameLength().evaluate("B", case).passed
        True
    """

    @property
    @abstractmethod
    def evaluation_method(self) -> str:
        """The name in reports."""

    @abstractmethod
    def evaluate(self, generated_result: Any, test_case: TestCase) -> TestCaseResult:
        """Judge one result.

        Args:
            generated_result: What the tested function returned.
            test_case: The case, with its inputs and labelled outputs.

        Returns:
            The judgement, with this test case.
        """


@dataclass(eq=False)
class CosineScoreEvaluationStrategy(EvaluationStrategyBase):
    """The labelled output that is closest in meaning decides.

    The closest output is the one whose embedding has the highest cosine to that of the result; of two, the liked one. The
    score is that cosine if the output is liked, and 1 - cosine if it is disliked; a negative cosine counts as 0. The result
    passes if the score reaches the threshold for liked or disliked outputs. Outputs of another type or with other keys are
    not compared; if no liked output can be compared though there are some, the score is 0. A vector of zeros has no
    direction, so its case is not judged and does not pass.

    Raises:
        ConfigError: a threshold is not a number from 0 to 1.
    """

    embed_function: str | Callable[..., Any] | Any = None
    """A function of a text that returns its vector (or of a list of texts), LangChain's Embeddings, or a model's name;
    None: the embedding model of the settings, by default a local one. `"OpenAIEmbeddings"`: the model of OpenAI."""
    positive_score_threshold: float = 0.90
    """The least cosine to a liked output that passes."""
    negative_score_threshold: float = 0.1
    """The least 1 - cosine to a disliked output that passes."""
    auto_unwrap_dict: bool = True
    """A labelled output `{"text": "Oslo"}` with a single key is compared as `Oslo` with a result that is text."""
    liked_guard: bool = False
    """Where liked outputs exist, a result that is closer to a disliked one cannot pass. Off, as in PromptWatch."""
    _vectors: MemoryVectorCache = field(default_factory=MemoryVectorCache, init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.liked_guard, bool):
            raise ConfigError(
                f"CosineScoreEvaluationStrategy: `liked_guard` is {self.liked_guard!r}; it is True or False."
            )
        for name in ("positive_score_threshold", "negative_score_threshold"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
                raise ConfigError(f"CosineScoreEvaluationStrategy: `{name}` is {value!r}; it has to be from 0 to 1.")
        if self.embed_function is not None and not isinstance(self.embed_function, str):
            embedder_of(self.embed_function, ModelFactory())  # reports errors before the test begins

    @property
    def evaluation_method(self) -> str:
        """`cos_sim_score`."""
        return METHOD

    @property
    def is_plain(self) -> bool:
        """Whether results are judged by this class alone; False for a subclass with its own `evaluate`."""
        return type(self).evaluate is CosineScoreEvaluationStrategy.evaluate

    def evaluate(self, generated_result: Any, test_case: TestCase) -> TestCaseResult:
        """Judge one result; calls the embedding model and waits for it.

        Args:
            generated_result: What the tested function returned.
            test_case: The case, with its inputs and labelled outputs.

        Returns:
            The judgement; its metadata holds the thresholds and the closest output.

        Raises:
            ModelError: the embedding model returns no vectors.
        """
        case, output = as_case(test_case), Output(value=generated_result)
        return self.result_of(test_case, output, run_sync(self._score(case, output)))

    def scorer(self, embedder: Embedder) -> BoundScorer:
        """Return the strategy as a scorer with an embedding model; it is the scorer `Similarity`."""
        rule = Similarity(
            positive=self.positive_score_threshold,
            negative=self.negative_score_threshold,
            auto_unwrap=self.auto_unwrap_dict,
            liked_guard=self.liked_guard,
        )
        return as_scorer(rule, name=self.evaluation_method, embedder=embedder)

    def result_of(self, test_case: TestCase, output: Output, score: Score) -> TestCaseResult:
        """Return a score of this strategy as the result of a test case."""
        metadata: dict[str, Any] = {
            "positive_score_threshold": self.positive_score_threshold,
            "negative_score_threshold": self.negative_score_threshold,
        }
        closest = score.detail.get("closest")
        if closest is not None:
            label = 1 if closest["label"] == "liked" else 0
            metadata["closest_reference_example"] = {"label": label, "value": closest["value"]}
        return TestCaseResult(
            test_case=test_case,
            passed=score.passed is True,
            score=score.value,
            evaluation_method=self.evaluation_method,
            evaluation_metadata=metadata,
            generated_result=output.value,
            reasoning=self._reasoning(test_case, output, score),
        )

    def texts(self, test_case: TestCase) -> list[str]:
        """Return the texts of a case that can be embedded before its result is known."""
        values = [output.value for output in test_case.outputs]
        if self.auto_unwrap_dict:
            values = [next(iter(v.values())) if isinstance(v, dict) and len(v) == 1 else v for v in values]
        return [embedding_text(value) for value in values]

    def _reasoning(self, test_case: TestCase, output: Output, score: Score) -> str | None:
        """Return why there is no score, or why it is 0 without a comparison; otherwise None."""
        if score.status != "scored":
            return score.reason
        if "closest" in score.detail:
            return None
        pairs = (comparison_text(output.value, o.value, auto_unwrap=self.auto_unwrap_dict) for o in test_case.outputs)
        return next((mismatch for _, mismatch in pairs if mismatch), score.reason)

    async def _score(self, case: Case, output: Output) -> Score:
        models = ModelFactory(settings=load_settings(environ, Path.cwd()))
        try:
            embedder = CachedEmbedder(embedder_of(self.embed_function, models), self._vectors)
            (score,) = await self.scorer(embedder)(case, output)
        finally:
            await models.close()
        return score
