"""The memory of chains under test, without LangChain and, where it is installed, with it."""

import asyncio
import subprocess
import sys

import pytest

from evalmark.errors import ConfigError
from evalmark.unit_tests import TestMemory, UnitTest

from .recorded import case, cosine


def loaded(inputs, key="history"):
    return TestMemory(lambda: inputs, key).load_memory_variables({})


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        pytest.param([["q", "a"]], [("q", "a")], id="S0.8: pairs become tuples"),
        pytest.param("so far", "so far", id="a text stays"),
        pytest.param([], [], id="an empty list stays"),
        pytest.param([1, 2], [1, 2], id="numbers stay"),
        pytest.param(
            [{"role": "critic", "text": "no"}], [{"role": "critic", "text": "no"}], id="an unknown role stays"
        ),
        pytest.param([{"a": 1}], [{"a": 1}], id="other data stays"),
    ],
)
def test_s0_8_the_memory_has_the_inputs_of_the_case(given, wanted):
    assert loaded({"q": 1, "history": given}) == {"q": 1, "history": wanted}


def test_s0_8_without_a_history_there_is_an_empty_one():
    memory = TestMemory(lambda: {"q": 1}, "chat")
    assert memory.load_memory_variables({}) == {"q": 1, "chat": []}
    assert memory.memory_variables == ["q", "chat"]
    assert loaded("a text") == {"history": []}


def test_s0_8_nothing_is_kept():
    memory = TestMemory(lambda: {"q": 1}, "chat")
    memory.save_context({"q": 2}, {"text": "x"})
    memory.clear()
    asyncio.run(memory.asave_context({"q": 2}, {"text": "x"}))
    asyncio.run(memory.aclear())
    assert asyncio.run(memory.aload_memory_variables({})) == memory.load_memory_variables() == {"q": 1, "chat": []}


def test_s0_8_the_memory_of_a_test_goes_from_case_to_case(world):
    cases = [case((1, "deg=0"), inputs={"n": n, "history": [["q", str(n)]]}) for n in range(2)]
    seen = []
    with UnitTest("x", cosine()).for_test_cases(cases) as test:
        memory = test.langchain.get_test_memory(memory_key="history")
        assert test.langchain.get_test_memory() is memory
        with pytest.raises(ConfigError, match="there is no current case"):
            memory.load_memory_variables({})
        for test_case in test.test_cases():
            test_case.evaluate(lambda inputs: seen.append(memory.load_memory_variables({})) or "deg=0")
    assert seen == [{"n": n, "history": [("q", str(n))]} for n in range(2)]


CHAIN = """
from langchain_classic.chains import LLMChain
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.prompts import PromptTemplate
from evalmark.unit_tests import UnitTest
from evalmark.harness.unit_tests.evaluation import CosineScoreEvaluationStrategy

cases = [
    {
        "inputs": {"question": "why?", "history": [{"role": "human", "text": "hi"}, {"role": "ai", "text": "hello"}]},
        "outputs": [{"label": 1, "value": {"text": "because"}}],
    }
]
strategy = CosineScoreEvaluationStrategy(embed_function=lambda text: [1.0, 0.0])
with UnitTest("chain", strategy, store=None).for_test_cases(cases) as test:
    prompt = PromptTemplate.from_template("{history} {question}")
    memory = test.langchain.get_test_memory(memory_key="history")
    chain = LLMChain(llm=FakeListLLM(responses=["because"] * 3), prompt=prompt, memory=memory)
    for test_case in test.test_cases():
        kinds = [type(message).__name__ for message in memory.load_memory_variables({})["history"]]
        test_case.evaluate(chain)
assert kinds == ["HumanMessage", "AIMessage"], kinds
assert test.results[0].generated_result == {"text": "because"}, test.results
assert test.results[0].passed
print("the chain ran")
"""


def test_s0_8_a_chain_of_langchain_takes_the_memory(world):
    pytest.importorskip("langchain_classic")
    ran = subprocess.run([sys.executable, "-c", CHAIN], capture_output=True, text=True, check=False, timeout=120)
    assert "the chain ran" in ran.stdout, ran.stderr
