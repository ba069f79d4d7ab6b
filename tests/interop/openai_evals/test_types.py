"""What is posted has the types of the openai package, and every item the schema that goes before it."""

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.interop.openai_evals.exporter import schema_of, to_openai_evals
from tests.interop.shared.carried import CARRIED

from .service import check_eval, check_run

FILES = to_openai_evals(CARRIED).files
EVAL = json.loads(FILES["eval.json"])
RUNS = {name: json.loads(text) for name, text in FILES.items() if name.startswith(("run.", "again."))}
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=3,
)


@pytest.fixture(scope="module")
def types():
    """The openai package's own types of the bodies, as validators."""
    pytest.importorskip("openai", reason="the openai package is not installed: its types are not compared")
    from openai.types import eval_create_params
    from openai.types.evals import run_create_params
    from pydantic import TypeAdapter

    adapters = (TypeAdapter(eval_create_params.EvalCreateParams), TypeAdapter(run_create_params.RunCreateParams))
    return tuple(lambda body, adapter=adapter: through(adapter.validate_python(body)) for adapter in adapters)


def through(value):
    """Walks all of a value: pydantic looks at the items of an Iterable only when somebody asks for them."""
    if isinstance(value, dict):
        value = value.values()
    elif isinstance(value, str) or not hasattr(value, "__iter__"):
        return
    for item in value:
        through(item)


def test_the_eval_has_the_types_of_the_package(types):
    types[0](EVAL)
    kinds = [criterion["type"] for criterion in EVAL["testing_criteria"]]
    assert set(kinds) == {"string_check", "text_similarity", "label_model", "score_model"}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_has_the_types_of_the_package(name, types):
    types[1](RUNS[name])


def test_the_types_of_the_package_refuse_what_is_wrong(types):
    from pydantic import ValidationError

    with pytest.raises(ValidationError):
        types[0]({**EVAL, "testing_criteria": [{"type": "label_model", "name": "x"}]})
    with pytest.raises(ValidationError):
        types[1]({"name": "x", "data_source": {"type": "jsonl"}})


def test_the_bodies_are_as_the_service_wants_them():
    check_eval(EVAL)
    for body in RUNS.values():
        check_run(body, EVAL)


def test_each_message_of_a_prompt_keeps_its_role():
    template = RUNS["again.openai-small.json"]["data_source"]["input_messages"]["template"]
    assert [message["role"] for message in template] == ["system", "user"]
    assert template[1]["content"] == "{{item.text}}"


def test_outputs_that_never_came_are_in_no_run():
    content = RUNS["run.openai-large.json"]["data_source"]["source"]["content"]
    assert [row["item"]["id"] for row in content] == ["c1", "c1", "odd"]


@given(st.lists(st.dictionaries(st.sampled_from(["id", "a", "b"]), PLAIN), min_size=1, max_size=4))
def test_items_match_the_schema_that_is_made_of_them(items):
    schema = schema_of(items)
    jsonschema.Draft202012Validator.check_schema(schema)
    for item in items:
        jsonschema.validate(item, schema)
