"""The functions of `evalmark.rag` name an argument that is no text, before any model is asked."""

import pytest

from evalmark.errors import ConfigError
from evalmark.rag import (
    answer_correctness,
    answer_hallucination,
    answer_relevance,
    context_relevance,
    context_sufficiency,
    evaluate_all,
)


class Encodable:
    """Something else than text that a tokenizer could be fed by mistake."""

    def encode(self) -> bytes:
        return b"Oslo"


def never(texts):
    raise AssertionError(f"asked for {texts}")


GOOD = {"question": "Where?", "answer": "In Oslo.", "reference": "Oslo.", "contexts": ["Oslo is the capital."]}
FUNCTIONS = {
    context_relevance: ("query", "contexts"),
    context_sufficiency: ("query", "contexts"),
    answer_relevance: ("question", "answer", "reference"),
    answer_correctness: ("answer", "reference"),
    answer_hallucination: ("answer", "contexts"),
    evaluate_all: ("question", "answer", "reference", "contexts"),
}
CASES = [
    pytest.param(function, name, wrong, id=f"{function.__name__} with {name}={wrong!r:.20}")
    for function, names in FUNCTIONS.items()
    for name in names
    for wrong in (None, 4, b"Oslo", Encodable(), {"text": "Oslo"}, *([["Oslo", None]] if name == "contexts" else []))
    if not (name == "contexts" and wrong is None) and (name, function) != ("question", answer_relevance)
]


@pytest.mark.parametrize(("function", "name", "wrong"), CASES)
def test_what_is_no_text_is_refused_by_name(function, name, wrong):
    given = {other: GOOD["question" if other == "query" else other] for other in FUNCTIONS[function]}
    with pytest.raises(ConfigError, match=f"^{name}.* is (None|of type|one text)"):
        function(**{**given, name: wrong}, model_name=never)


def test_contexts_of_bytes_or_of_a_mapping_are_refused():
    with pytest.raises(ConfigError, match=r"contexts\[0\] is of type int; pass a text"):
        context_relevance("Where?", b"Oslo", never)
