"""Programs of DSPy as targets; all of it skips where DSPy is not installed."""

import asyncio
import re
import warnings

import pytest

from evalmark import Case, Output, evaluate
from evalmark.runs.targets.function import as_target
from tests.conftest import ROOT

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its dependencies warn of one another while they are imported
    dspy = pytest.importorskip("dspy")
    dummies = pytest.importorskip("dspy.utils.dummies")

CASE = Case(id="1", input="The capital of Norway?", contexts=("Oslo is the capital.",), metadata={"lang": "en"})


def model(**fields):
    """A model of DSPy that gives these fields again and again."""
    return dspy.context(lm=dummies.DummyLM([fields] * 8))


def answer(program, case=CASE) -> Output:
    return asyncio.run(as_target(program)(case))


class Echo(dspy.Module):
    """Gives what it was given."""

    def forward(self, **fields):
        return dspy.Prediction(given=fields)


class Cited(dspy.Module):
    def __init__(self):
        super().__init__()
        self.respond = dspy.ChainOfThought("context: list[str], question -> answer")

    def forward(self, question, context=None):
        found = self.respond(question=question, context=context or ["nothing"])
        return dspy.Prediction(answer=found.answer, context=context or [])


class Later(dspy.Module):
    async def aforward(self, question):
        await asyncio.sleep(0)
        return dspy.Prediction(answer=question.upper())


def taking(*fields, **defaults):
    """A program that takes these fields and gives what it was given."""
    signature = ", ".join([*fields, *(f"{name}={value!r}" for name, value in defaults.items())])
    scope = {"dspy": dspy}
    names = ", ".join(f"{name}={name}" for name in (*fields, *defaults))
    code = f"def forward(self, {signature}):\n    return dspy.Prediction(given=dict({names}))"
    exec(code, scope)  # noqa: S102  the fields are those of the tests below
    return type("Taking", (dspy.Module,), {"forward": scope["forward"]})()


@pytest.mark.parametrize(
    ("program", "case", "given"),
    [
        pytest.param(taking("question"), {"input": "a"}, {"question": "a"}, id="a text for its field"),
        pytest.param(taking("topic"), {"input": "a"}, {"topic": "a"}, id="whatever it is called"),
        pytest.param(taking("topic", tone="calm"), {"input": "a"}, {"topic": "a", "tone": "calm"}, id="defaults stay"),
        pytest.param(
            taking(topic="x", tone="y"), {"input": "a"}, {"topic": "a", "tone": "y"}, id="the first of defaults"
        ),
        pytest.param(
            taking("context", "question"),
            {"input": "a", "contexts": ("c",)},
            {"context": ["c"], "question": "a"},
            id="passages by their name",
        ),
        pytest.param(
            taking("question", context="none"), {"input": "a"}, {"question": "a", "context": "none"}, id="no passages"
        ),
        pytest.param(
            taking("text", "style"), {"input": {"text": "a", "style": "b"}}, {"text": "a", "style": "b"}, id="a mapping"
        ),
        pytest.param(
            taking("text", style="x"), {"input": {"text": "a", "more": 1}}, {"text": "a", "style": "x"}, id="with more"
        ),
        pytest.param(taking("record"), {"input": {"a": 1}}, {"record": {"a": 1}}, id="a mapping for one field"),
        pytest.param(taking("numbers"), {"input": [1, 2]}, {"numbers": [1, 2]}, id="a list"),
        pytest.param(
            taking("question", "metadata"), {"input": "a"}, {"question": "a", "metadata": {}}, id="metadata of the row"
        ),
        pytest.param(Echo(), {"input": {"any": 1}}, {"any": 1}, id="any fields at all"),
    ],
)
def test_input_fields_are_filled_by_name(program, case, given):
    assert answer(program, Case(id="1", **case)).value == given


@pytest.mark.parametrize(
    ("program", "given", "message"),
    [
        pytest.param(
            taking("text", "style"), "a", "takes the fields text, style; make the input of the case", id="a text"
        ),
        pytest.param(taking("text", "style"), {"text": "a"}, "takes the fields text, style", id="half a mapping"),
        pytest.param(Echo(), "a", "takes fields by name", id="a text for any fields"),
    ],
)
def test_what_does_not_say_which_field_it_is_for_is_an_error_of_its_case(program, given, message):
    with pytest.raises(ValueError, match=message):
        answer(program, Case(id="1", input=given))


@pytest.mark.parametrize(
    ("prediction", "output"),
    [
        pytest.param({"answer": "Oslo"}, Output(value="Oslo"), id="one field is its value"),
        pytest.param(
            {"city": "Oslo", "land": "Norway"}, Output(value={"city": "Oslo", "land": "Norway"}), id="several"
        ),
        pytest.param(
            {"reasoning": "hm", "answer": "Oslo"},
            Output(value="Oslo", metadata={"reasoning": "hm"}),
            id="reasoning aside",
        ),
        pytest.param({"reasoning": "hm"}, Output(value="hm"), id="reasoning alone"),
        pytest.param({"answer": "Oslo", "context": ["a"]}, Output(value="Oslo", contexts=("a",)), id="passages"),
        pytest.param({"answer": "Oslo", "contexts": []}, Output(value="Oslo", contexts=()), id="no passages found"),
        pytest.param(
            {"answer": "a", "context": "text"}, Output(value={"answer": "a", "context": "text"}), id="a text as context"
        ),
        pytest.param({}, Output(value={}), id="nothing"),
    ],
)
def test_a_prediction_becomes_an_output(prediction, output):
    class Fixed(dspy.Module):
        def forward(self, question):
            return dspy.Prediction(**prediction)

    found = answer(Fixed())
    assert (found.value, found.contexts, found.metadata) == (output.value, output.contexts, output.metadata)
    assert found.seconds >= 0


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(lambda: dspy.Predict("question -> answer"), id="Predict"),
        pytest.param(lambda: dspy.ChainOfThought("question -> answer"), id="ChainOfThought"),
        pytest.param(lambda: dspy.Predict("context: list[str], question -> answer"), id="with passages"),
        pytest.param(Cited, id="a program of one's own"),
    ],
)
def test_programs_are_asked_with_the_model_in_force(program):
    with model(reasoning="It is known.", answer="Oslo"):
        assert answer(program()).value == "Oslo"


def test_an_async_program_runs_on_the_loop_and_a_class_is_made_for_each_row():
    assert answer(Later(), Case(id="1", input="oslo")).value == "OSLO"
    assert answer(Later, Case(id="1", input="oslo")).value == "OSLO"


def test_anything_else_that_a_program_returns_is_the_answer():
    class Plain(dspy.Module):
        def forward(self, question):
            return question.upper()

    assert answer(Plain(), Case(id="1", input="oslo")).value == "OSLO"


def test_a_program_can_be_evaluated():
    rows = [
        Case(id="1", input="The capital of Norway?", expected="Oslo", contexts=("Oslo is the capital.",)),
        Case(id="2", input="The capital of Sweden?", expected="Stockholm"),
    ]
    with model(reasoning="It is known.", answer="Oslo"):
        run = evaluate(rows, Cited(), ["equals"], store=None)
    assert [result.verdict for result in run.results] == ["pass", "fail"]
    assert [result.output.contexts for result in run.results] == [("Oslo is the capital.",), ()]


def test_the_fingerprint_changes_with_what_an_optimizer_changes():
    def told(**state):
        program = dspy.ChainOfThought("question -> answer")
        (predictor,) = program.predictors()
        for name, value in state.items():
            setattr(predictor, name, value)
        return as_target(program).fingerprint

    demos = [dspy.Example(question="1 + 1", answer="2")]
    signature = dspy.ChainOfThought("question -> answer").predict.signature.with_instructions("Be brief.")
    assert told() == told()
    assert len({told(), told(demos=demos), told(signature=signature)}) == 3


def test_the_examples_of_the_page_run():
    page = (ROOT / "docs" / "reference" / "targets.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python dspy\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    namespace = {"__name__": "__main__"}
    with model(reasoning="It is known.", answer="Oslo"):
        for block in blocks:
            exec(block, namespace)  # noqa: S102  the page is ours
    assert namespace["better"].predictors()[0].demos
