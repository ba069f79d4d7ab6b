"""How a tested function is called with the inputs of a case."""

import functools

import pytest

from evalmark.errors import ConfigError
from evalmark.harness.unit_tests.function_call import bound_call, output_of

BOTH = {"question": "why?", "language": "en"}


class Chain:
    """As LangChain's old chains are."""

    output_keys = ("text",)

    def __call__(self, inputs, return_only_outputs=False, callbacks=None, **more):
        return {**inputs, "text": "said", "steps": [1]}


class OnlyRun:
    def run(self, *args, **named):
        return ("run", args, named)


class Runnable:
    def invoke(self, inputs, config=None):
        return ("invoked", inputs)

    def __call__(self, inputs):
        raise AssertionError("a runnable is invoked")


def by_position(inputs):
    return ("one", inputs)


def with_option(inputs, verbose=False):
    return ("one", inputs)


def several(question, language):
    return ("named", question, language)


def with_default(question, language="de"):
    return ("named", question, language)


def by_name(*, question, language="de"):
    return ("named", question, language)


def any_name(**inputs):
    return ("named", *inputs.values())


class Bound:
    def method(self, inputs):
        return ("one", inputs)


@pytest.mark.parametrize(
    ("function", "inputs", "given"),
    [
        pytest.param(by_position, BOTH, ("one", BOTH), id="S0.4: one parameter gets all inputs"),
        pytest.param(by_position, {"inputs": 1}, ("one", {"inputs": 1}), id="S0.4: also where an input has its name"),
        pytest.param(lambda question: ("one", question), BOTH, ("one", BOTH), id="S0.4: a lambda"),
        pytest.param(Bound().method, BOTH, ("one", BOTH), id="S0.4: a method"),
        pytest.param(lambda *given: ("one", *given), BOTH, ("one", BOTH), id="S0.4: any number of arguments"),
        pytest.param(with_option, BOTH, ("one", BOTH), id="S0.4: what is not among the inputs keeps its default"),
        pytest.param(several, BOTH, ("named", "why?", "en"), id="the doc of PromptWatch: several parameters by name"),
        pytest.param(with_default, BOTH, ("named", "why?", "en"), id="by name beside a default"),
        pytest.param(with_default, {"question": "why?"}, ("named", "why?", "de"), id="by name, and the default"),
        pytest.param(by_name, BOTH, ("named", "why?", "en"), id="by name where nothing goes by position"),
        pytest.param(any_name, BOTH, ("named", "why?", "en"), id="by any name"),
        pytest.param(functools.partial(several, language="fr"), {"question": 1}, ("named", 1, "fr"), id="a partial"),
        pytest.param(several, "why?", None, id="a value that is no mapping goes to the first parameter"),
        pytest.param(by_position, "why?", ("one", "why?"), id="a value that is no mapping"),
        pytest.param(Runnable(), BOTH, ("invoked", BOTH), id="S0.5: a runnable is invoked"),
        pytest.param(OnlyRun(), BOTH, ("run", (BOTH,), {}), id="S0.5: an object that can only run"),
        pytest.param(dict, BOTH, BOTH, id="a class"),
        pytest.param(len, BOTH, 2, id="a function of C"),
    ],
)
def test_a_function_is_called_with_the_inputs_as_it_takes_them(function, inputs, given):
    call = bound_call(function, inputs)
    if given is None:
        with pytest.raises(TypeError):
            call()
    else:
        assert call() == given


@pytest.mark.parametrize(
    ("function", "inputs", "said"),
    [
        pytest.param(
            several, {"question": 1}, "needs 'language', and the inputs of the case are 'question'", id="missing"
        ),
        pytest.param(several, {**BOTH, "mood": 1}, "does not take 'mood'", id="one too many"),
        pytest.param(by_name, {"mood": 1}, "needs 'question'", id="none of its names"),
        pytest.param("my_app:chain", BOTH, "call evaluate_result", id="a text"),
        pytest.param(None, BOTH, "takes a function or a chain", id="None"),
    ],
)
def test_what_cannot_be_called_with_the_inputs_is_said(function, inputs, said):
    with pytest.raises(ConfigError, match=said):
        bound_call(function, inputs)


@pytest.mark.parametrize(
    ("is_template", "wanted"),
    [
        pytest.param(False, {"text": "said"}, id="S0.5: of an object with output_keys those alone"),
        pytest.param(True, "said", id="S0.5: and for a prompt the text of the only one"),
    ],
)
def test_of_a_chain_only_what_it_says_of_itself_is_compared(is_template, wanted):
    chain = Chain()
    returned = bound_call(chain, {"question": "why?"})()
    assert output_of(chain, returned, 0.1, is_template=is_template).value == wanted


@pytest.mark.parametrize("returned", [{"text": "x"}, None, 7, ["x"]])
def test_s0_5_what_is_tested_for_a_prompt_gives_texts(returned):
    with pytest.raises(ConfigError, match="has to return a text"):
        output_of(by_position, returned, 0.1, is_template=True)
