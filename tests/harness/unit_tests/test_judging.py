"""The cosine strategy: its rule beyond the vectors, its model, and what it takes for one."""

import asyncio

import numpy as np
import pytest

from evalmark import Similarity, compare
from evalmark.core.settings import Settings
from evalmark.errors import ConfigError, ModelError
from evalmark.harness.unit_tests.embed_function import embedder_of
from evalmark.harness.unit_tests.evaluation import CosineScoreEvaluationStrategy
from evalmark.models.embeddings.local import LocalEmbedder
from evalmark.runs.planning.models import ModelFactory
from evalmark.stats.summary.summarise import summarise
from evalmark.unit_tests import UnitTest

from .recorded import angle, case, cosine, near


@pytest.mark.parametrize(
    ("generated", "outputs", "score", "passed"),
    [
        pytest.param("zero", [(1, "deg=0")], None, False, id="S0.21: a result without a vector is not judged"),
        pytest.param("deg=0", [(1, "zero")], None, False, id="S0.21: neither is one beside an output without a vector"),
        pytest.param(
            {"b": 1, "a": "deg=0"}, [(1, {"a": "deg=0", "b": 1})], 1.0, True, id="S0.21: the order of keys is nothing"
        ),
        pytest.param(
            {"a": "é deg=0"}, [(1, {"a": "é deg=0"})], 1.0, True, id="S0.21: letters beyond ASCII are letters"
        ),
        pytest.param("deg=0", [(1, {"text": "deg=10"})], 0.9848, True, id="S0.22, step 1: a single key is unwrapped"),
        pytest.param(
            "deg=0", [(1, {"a": 1, "b": 2})], 0.0, False, id="S0.22, step 2: another type is 0 where nothing else is"
        ),
        pytest.param(
            "deg=0", [(1, ["deg=0"]), (0, "deg=60")], 0.0, False, id="S0.22: disliked ones do not stand in for liked"
        ),
        pytest.param({"a": 1}, [(1, {"b": 1})], 0.0, False, id="S0.22, step 3: other keys are 0"),
        pytest.param(
            "deg=0", [(1, "deg=23.07"), (0, "deg=18.19")], 0.05, False, id="S0.23: the closest decides, not the best"
        ),
        pytest.param(
            "deg=0", [(1, "deg=60"), (0, "deg=31.79")], 0.15, True, id="S0.24: the rule of PromptWatch is kept here"
        ),
        pytest.param("deg=0", [(0, "deg=180")], 1.0, True, id="S0.25: opposite to the only, disliked output"),
        pytest.param("deg=0", [], None, False, id="S0.25: without outputs nothing is judged"),
        pytest.param("deg=0", [(1, "deg=25.8419327632")], 0.9, True, id="S0.26: 0.9 as it is stored passes"),
        pytest.param(None, [(1, "deg=0")], 0.0, False, id="None is not a text"),
        pytest.param(
            "deg=0", [(1, "deg=0"), (0, "deg=0")], 1.0, True, id="contradicting labels on one text: liked wins the tie"
        ),
        pytest.param("deg=0 " + "x" * 100_000, [(1, "deg=0 " + "y" * 100_000)], 1.0, True, id="100,000 characters"),
        pytest.param(
            "deg=0 \ud800 \U0001f600 \u0627", [(1, "deg=0 \udfff")], 1.0, True, id="lone surrogates and other scripts"
        ),
    ],
)
def test_the_closest_labelled_output_decides(generated, outputs, score, passed):
    found = cosine().evaluate(generated, case(*outputs))
    assert found.score == (None if score is None else pytest.approx(score, abs=1e-3))
    assert found.passed is passed
    assert (found.reasoning is None) == (
        found.score is not None and "closest_reference_example" in found.evaluation_metadata
    )


@pytest.mark.parametrize(
    ("generated", "outputs", "said"),
    [
        pytest.param("zero", [(1, "deg=0")], "zero vector", id="S0.21: says that the vector is zero"),
        pytest.param(5, [(1, "x")], "Type mismatch (expected str, got int)", id="S0.22: says which type"),
        pytest.param(
            {"a": 1}, [(1, {"b": 1})], "Missing keys: {'b'} \n Unexpected keys: {'a'}", id="S0.22: says which keys"
        ),
        pytest.param("x", [], "no liked or disliked example", id="S0.25: says that there is nothing to compare with"),
    ],
)
def test_the_reasoning_says_why_nothing_could_be_compared(generated, outputs, said):
    assert said in cosine().evaluate(generated, case(*outputs)).reasoning


def test_s0_27_metadata_holds_the_thresholds_and_the_closest_output():
    found = cosine(positive_score_threshold=0.7).evaluate("deg=0", case((1, "a deg=5"), (0, "b deg=50")))
    closest = {"label": 1, "value": "a deg=5"}
    thresholds = {"positive_score_threshold": 0.7, "negative_score_threshold": 0.1}
    assert found.evaluation_metadata == {**thresholds, "closest_reference_example": closest}


def test_s0_24_the_guard_is_on_in_the_scorer_and_off_here():
    assert Similarity().liked_guard is True
    assert "not closer to a disliked one" in Similarity.__doc__
    assert cosine().scorer(LocalEmbedder("nowhere")).scorer.liked_guard is False


def test_s0_24_the_guard_can_be_switched_on():
    outputs = (1, "deg=60"), (0, "deg=-50")
    off, on = (cosine(liked_guard=guard).evaluate("deg=0", case(*outputs)) for guard in (False, True))
    assert (off.score, off.passed) == (pytest.approx(on.score), True)
    assert on.passed is False
    with pytest.raises(ConfigError, match="`liked_guard` is 'yes'; it is True or False"):
        CosineScoreEvaluationStrategy(liked_guard="yes")


def test_s0_20_the_defaults_are_those_of_promptwatch_but_for_the_model():
    strategy = CosineScoreEvaluationStrategy()
    kept = (strategy.positive_score_threshold, strategy.negative_score_threshold, strategy.auto_unwrap_dict)
    assert (*kept, strategy.evaluation_method, strategy.embed_function) == (0.90, 0.1, True, "cos_sim_score", None)


@pytest.mark.parametrize("name", ["positive_score_threshold", "negative_score_threshold"])
@pytest.mark.parametrize("value", [1.5, -0.1, float("nan"), "0.9", True, None])
def test_a_threshold_is_a_number_from_0_to_1(name, value):
    with pytest.raises(ConfigError, match=name):
        CosineScoreEvaluationStrategy(**{name: value})


class ByText:
    def embed_query(self, text):
        return angle(text)


class LangChainLike(ByText):
    def embed_documents(self, texts):
        return [angle(text) for text in texts]


class Called:
    def __call__(self, text):
        return angle(text)


async def later(text):
    return angle(text)


async def lists_later(texts: list[str]):
    return [angle(text) for text in texts]


def annotated(text: str) -> list[float]:
    return angle(text)


def lists(texts: list[str]) -> np.ndarray:
    return np.array([angle(text) for text in texts])


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(angle, id="a function of a text"),
        pytest.param(annotated, id="one that says so"),
        pytest.param(lambda text: np.array(angle(text)), id="one that gives an array"),
        pytest.param(lists, id="a function of a list"),
        pytest.param(
            lambda texts: [angle(text) for text in texts] if isinstance(texts, list) else 1 / 0,
            id="one that does not say",
        ),
        pytest.param(later, id="an async function of a text"),
        pytest.param(lists_later, id="an async function of a list"),
        pytest.param(Called(), id="an object that can be called"),
        pytest.param(ByText(), id="an object with embed_query alone"),
        pytest.param(LangChainLike(), id="LangChain's Embeddings"),
        pytest.param(ByText().embed_query, id="a method of them"),
    ],
)
def test_s0_20_whatever_makes_vectors_is_an_embed_function(given):
    found = CosineScoreEvaluationStrategy(embed_function=given).evaluate("deg=0", case((1, "deg=10"), (0, "deg=80")))
    assert found.score == pytest.approx(0.9848, abs=1e-3)


@pytest.mark.parametrize("given", [7, object(), ["x"], CosineScoreEvaluationStrategy])
def test_s0_20_anything_else_is_refused_at_once(given):
    with pytest.raises(ConfigError, match="embed_function is"):
        CosineScoreEvaluationStrategy(embed_function=given)


def test_s0_20_an_unknown_name_is_refused_with_what_there_is():
    with pytest.raises(ConfigError, match="There is no embedding model 'no-such-model'"):
        CosineScoreEvaluationStrategy(embed_function="no-such-model").evaluate("x", case((1, "y")))


def test_s0_20_the_default_is_the_model_of_the_settings():
    chosen = embedder_of(
        None, ModelFactory(settings=Settings(embeddings=f"{__name__}:lists"), environ={"OPENAI_API_KEY": "k"})
    )
    assert asyncio.run(chosen(["deg=90"]))[0].tolist() == pytest.approx([0.0, 1.0], abs=1e-6)
    assert Settings().embeddings == "all-MiniLM-L6-v2"


def test_s0_20_openai_is_asked_only_where_it_is_named():
    environ = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    named = embedder_of("OpenAIEmbeddings", ModelFactory(environ=environ))
    assert "text-embedding-ada-002" in named.fingerprint


def test_what_the_embed_function_raises_is_said():
    def broken(text: str):
        raise RuntimeError("no vectors today")

    with pytest.raises(ModelError, match="no vectors today"):
        CosineScoreEvaluationStrategy(embed_function=broken).evaluate("x", case((1, "y")))


def test_a_strategy_can_be_asked_on_a_running_loop():
    async def ask():
        return cosine().evaluate("deg=0", case((1, "deg=5")))

    assert asyncio.run(ask()).passed


@pytest.mark.parametrize(("now", "then"), [(0.3, 0.99), (0.99, 0.3)], ids=["loosened", "tightened"])
def test_other_bars_of_the_strategy_are_no_change_of_what_is_tested(world, now, then):
    def test(positive):
        strategy = cosine(positive_score_threshold=positive)
        unit_test = UnitTest("x", strategy, raise_on_failure=False).for_test_cases([near(n) for n in range(20)])
        with unit_test as found:
            for test_case in found.test_cases():
                test_case.evaluate_result(f"deg={test_case.inputs['question'] * 3}")
        return unit_test.run

    before, run = test(then), test(now)
    found = compare(run, before)
    assert found.outcome == "same"
    assert f"the threshold positive was {then:g} and is now {now:g}" in found.warnings[0]
    overall = found.targets[0].overall
    assert (
        overall.before == overall.now == summarise(run).total.pass_rate.value != summarise(before).total.pass_rate.value
    )
