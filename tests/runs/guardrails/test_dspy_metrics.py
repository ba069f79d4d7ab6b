"""Scorers as metrics of DSPy; all of it skips where DSPy is not installed."""

import inspect
import logging
import warnings

import pytest

from evalmark.errors import ConfigError, EvalmarkError
from evalmark.quality import dspy_metric
from evalmark.scoring.binding.bound_scorer import as_scorer
from tests.scoring.builtin.asking import Angles

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its dependencies warn of one another while they are imported
    dspy = pytest.importorskip("dspy")
    dummies = pytest.importorskip("dspy.utils.dummies")


def example(*inputs, **fields):
    return dspy.Example(**fields).with_inputs(*(inputs or ("question",)))


OSLO = example(question="The capital of Norway?", answer="Oslo")
RIGHT, WRONG = dspy.Prediction(answer="Oslo"), dspy.Prediction(reasoning="hm", answer="Bergen")


def share(output):
    return 0.25


def noise(output):
    return 0.25


noise.direction = "lower"


def silent(output):
    return None


@pytest.mark.parametrize(
    ("scorer", "prediction", "value"),
    [
        pytest.param("equals", RIGHT, 1.0, id="a check that passes"),
        pytest.param("equals", WRONG, 0.0, id="a check that does not"),
        pytest.param({"contains": {"any": "slo"}}, RIGHT, 1.0, id="a name with settings"),
        pytest.param(share, RIGHT, 0.25, id="a number"),
        pytest.param(as_scorer(share, threshold=0.2), RIGHT, 0.25, id="a number with a threshold"),
        pytest.param(noise, RIGHT, 0.75, id="turned round where lower is better"),
        pytest.param(lambda output: {"a": True, "b": 0.5}, RIGHT, 0.75, id="the mean of several scores"),
        pytest.param("equals", "Oslo", 1.0, id="a text as prediction"),
    ],
)
def test_a_metric_gives_a_number_that_grows_with_quality(scorer, prediction, value):
    assert dspy_metric(scorer)(OSLO, prediction) == value


@pytest.mark.parametrize(
    ("scorer", "prediction", "kept"),
    [
        pytest.param("equals", RIGHT, True, id="a check that passes"),
        pytest.param("equals", WRONG, False, id="a check that does not"),
        pytest.param(as_scorer(share, threshold=0.2), RIGHT, True, id="above its threshold"),
        pytest.param(as_scorer(share, threshold=0.5), RIGHT, False, id="below its threshold"),
        pytest.param(as_scorer(noise, threshold=0.5), RIGHT, True, id="below, where lower is better"),
        pytest.param(share, RIGHT, 0.25, id="a number without a threshold stays one"),
    ],
)
def test_while_bootstrapping_it_says_whether_the_answer_passes(scorer, prediction, kept):
    found = dspy_metric(scorer)(OSLO, prediction, [("a", "trace", "of calls")])
    assert found == kept
    assert type(found) is type(kept)


def test_gepa_gets_the_reason_as_feedback():
    found = dspy_metric("equals")(OSLO, WRONG, None, "respond", None)
    assert (found.score, found.feedback) == (0.0, "the output 'Bergen' is not 'Oslo'")
    assert dspy_metric(share)(OSLO, WRONG, None, "respond", None).feedback == "The score is 0.25."
    inspect.signature(dspy_metric("equals")).bind(None, None, None, None, None)  # what GEPA asks of a metric


@pytest.mark.parametrize(
    ("asked", "prediction", "names", "found"),
    [
        pytest.param(OSLO, RIGHT, {}, ("The capital of Norway?", "Oslo", "Oslo"), id="one input, one label, one field"),
        pytest.param(
            example(question="q", gold="a"), {"answer": "b"}, {}, ("q", "a", "b"), id="the only label by another name"
        ),
        pytest.param(
            example(question="q", gold="a", answer="c"),
            {"answer": "b"},
            {},
            ("q", "c", "b"),
            id="the label of the same name",
        ),
        pytest.param(
            example(question="q", gold="a", answer="c"),
            {"answer": "b"},
            {"expected": "gold"},
            ("q", "a", "b"),
            id="the label that is named",
        ),
        pytest.param(
            example("a", "b", a=1, b=2, c=3),
            {"c": 3, "d": 4},
            {},
            ({"a": 1, "b": 2}, {"c": 3}, {"c": 3, "d": 4}),
            id="several",
        ),
        pytest.param(
            example("a", "b", a=1, b=2, c=3),
            {"c": 3, "d": 4},
            {"answer": "d"},
            ({"a": 1, "b": 2}, 3, 4),
            id="a named field",
        ),
        pytest.param(example(question="q", x=1, y=2), {"answer": "b"}, {}, ("q", None, "b"), id="no label for it"),
        pytest.param(example(question="q"), {"answer": "b"}, {}, ("q", None, "b"), id="no label"),
    ],
)
def test_fields_are_found(asked, prediction, names, found):
    prediction = prediction if isinstance(prediction, dspy.Prediction) else dspy.Prediction(**prediction)
    seen = []

    def look(case, output):
        seen.append((case.input, case.expected, output.value))
        return True

    assert dspy_metric(look, **names)(asked, prediction) == 1.0
    assert seen == [found]


def test_passages_are_those_of_the_prediction_or_of_the_example():
    asked = example("question", "context", question="q", context=["of the row"], answer="a")
    seen = []

    def look(case, output):
        seen.append((case.input, case.contexts_of(output)))
        return True

    metric = dspy_metric(look)
    metric(asked, dspy.Prediction(answer="a"))
    metric(asked, dspy.Prediction(answer="a", context=["found"]))
    assert seen == [("q", ("of the row",)), ("q", ("found",))]


def test_what_cannot_be_judged_raises_or_counts_as_was_said():
    for scorer in (silent, lambda output: 7, lambda output: 1 / 0):
        with pytest.raises(
            EvalmarkError, match=r"cannot score the example: .* Set `unscored` to give such examples a score"
        ):
            dspy_metric(scorer)(OSLO, RIGHT)
        assert dspy_metric(scorer, unscored=0)(OSLO, RIGHT) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            {"scorer": "equal"}, "dspy_metric: there is no scorer 'equal'. Did you mean 'equals'?", id="a typo"
        ),
        pytest.param({"scorer": 7}, "dspy_metric: 'int' is not a scorer", id="a number"),
        pytest.param(
            {"scorer": share, "unscored": 2}, "`unscored` is 2; it has to be a number from 0 to 1", id="too much"
        ),
    ],
)
def test_a_metric_that_cannot_work_is_refused(arguments, message):
    with pytest.raises(ConfigError) as refused:
        dspy_metric(**arguments)
    assert message in str(refused.value)


def test_a_label_that_is_not_there_is_told():
    with pytest.raises(ConfigError, match=r"no label 'gold' among \['answer'\]"):
        dspy_metric("equals", expected="gold")(OSLO, RIGHT)


def test_embeddings_are_those_that_are_handed_in():
    asked = example(question="q", answer="deg=0")
    model = Angles()
    metric = dspy_metric({"answer_correctness": {}}, embeddings=model)
    assert metric(asked, dspy.Prediction(answer="deg=60")) == pytest.approx(0.5)
    assert len(model.requests) == 1


def test_dspy_evaluates_and_optimizes_with_it(caplog):
    rows = [OSLO, example(question="The capital of Sweden?", answer="Stockholm")]
    program = dspy.Predict("question -> answer")
    said = [{"answer": "Oslo"}] * 20
    with dspy.context(lm=dummies.DummyLM(said)), caplog.at_level(logging.ERROR):
        found = dspy.Evaluate(devset=rows, metric=dspy_metric("equals"), num_threads=2)(program)
        better = dspy.BootstrapFewShot(metric=dspy_metric("equals")).compile(program, trainset=rows)
    assert found.score == 50.0
    assert [demo.answer for demo in better.demos if demo.get("augmented")] == ["Oslo"]
