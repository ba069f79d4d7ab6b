"""What the fields of a row may be called, and what may stand in them."""

import json

import pytest

from evalmark import Case, Example, ToolCall, Turn
from evalmark.errors import ConfigError, DataError
from evalmark.inputs.datasets.case_builder import as_cases
from evalmark.inputs.datasets.fields import SYNONYMS, parse_columns
from evalmark.inputs.datasets.options import BadRow, ReadOptions
from evalmark.inputs.datasets.reader import read_cases


def case(**row):
    [made] = as_cases([row])
    return made


def refusal(*rows):
    with pytest.raises(DataError) as error:
        as_cases(rows)
    return str(error.value)


def spellings(name):
    first, *rest = name.split("_")
    return {
        name,
        name.upper(),
        name.replace("_", "-"),
        name.replace("_", " ").title(),
        first + "".join(p.title() for p in rest),
    }


@pytest.mark.parametrize("name", sorted({s for n in SYNONYMS["input"] for s in spellings(n)}))
def test_every_usual_name_of_the_input(name):
    assert case(**{name: "q", "id": 1}).input == "q"


@pytest.mark.parametrize("name", sorted({s for n in SYNONYMS["expected"] for s in spellings(n)}))
def test_every_usual_name_of_the_expected_answer(name):
    assert case(input="q", **{name: "e"}).expected == "e"


@pytest.mark.parametrize("name", sorted({s for n in SYNONYMS["answer"] for s in spellings(n)}))
def test_every_usual_name_of_a_given_answer(name):
    assert case(input="q", **{name: "a"}).given.value == "a"


@pytest.mark.parametrize("name", SYNONYMS["contexts"])
def test_every_usual_name_of_the_contexts(name):
    assert case(input="q", **{name: ["c"]}).contexts == ("c",)


@pytest.mark.parametrize("name", SYNONYMS["retrieved"])
def test_what_was_retrieved_belongs_to_the_answer_if_there_is_one(name):
    with_answer = case(input="q", answer="a", contexts=["right"], **{name: ["found"]})
    assert (with_answer.contexts, with_answer.given.contexts) == (("right",), ("found",))
    assert case(input="q", **{name: ["found"]}).contexts == ("found",)


@pytest.mark.parametrize("field", ["id", "input", "expected", "answer", "contexts", "retrieved", "history"])
def test_two_names_of_one_field_are_a_fault_that_names_both(field):
    strong = [name for name in SYNONYMS[field] if name != "name"]
    row = {"input": "q"} | dict.fromkeys(strong[:2], "x")
    said = refusal(row)
    assert f"`{strong[0]}` and `{strong[1]}` both hold the {field}" in said
    assert said.startswith("item 1: ")


def test_two_names_are_no_fault_when_one_is_null():
    assert case(input="q", question=None).input == "q"


def test_a_name_is_the_id_only_where_there_is_no_other():
    assert (case(name="n", input="q").id, case(name="n", id="i", input="q").id) == ("n", "i")
    assert case(name="n", id="i", input="q").metadata == {"name": "n"}


def test_unknown_fields_go_to_the_metadata():
    made = case(input="q", colour="red", metadata={"size": 1})
    assert made.metadata == {"colour": "red", "size": 1}
    assert "`size` occurs both in the metadata and outside of them" in refusal(
        {"input": "q", "size": 2, "metadata": {"size": 1}}
    )


def test_a_column_that_the_user_names_wins_and_the_usual_names_become_metadata(world):
    path = world / "x.jsonl"
    path.write_text(json.dumps({"nr": 5, "frage": "q", "input": "other", "id": "x", "answer": "gold"}))
    [made] = read_cases(path, options=ReadOptions(id="nr", input="frage", expected="answer"))
    assert (made.id, made.input, made.expected, made.given) == ("5", "q", "gold", None)
    assert made.metadata == {"input": "other", "id": "x"}


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl"])
def test_a_column_that_the_user_names_and_that_is_not_there_is_said(world, name):
    path = world / name
    path.write_text("id,input\n1,a\n" if name == "x.csv" else '{"id": 1, "input": "a"}')

    def read():
        return [str(row) for row in read_cases(path, options=ReadOptions(input="frage"))]

    if name == "x.csv":
        with pytest.raises(DataError, match="there is no column 'frage' among id, input"):
            read()
    else:
        assert read() == [f"{path}:1: there is no `frage` among id, input."]


def test_a_row_without_input_is_a_fault_with_advice():
    said = refusal({"prompt_text": "q", "gold": "a"})
    assert said == (
        "item 1: no input among prompt_text, gold; rename a field, or say which one: "
        "`input: NAME` beside the `path` in a suite, `--column input=NAME` in `evalmark rag`."
    )


def test_a_table_without_any_input_is_one_fault_however_many_rows_it_has(world):
    (world / "x.csv").write_text("Frage,Antwort\n" + "a,b\n" * 100)
    with pytest.raises(DataError) as refused:
        list(read_cases(world / "x.csv"))
    assert str(refused.value).startswith(f"{world / 'x.csv'}:1: no input among Frage, Antwort; rename a field")


@pytest.mark.parametrize(
    ("said", "columns"),
    [
        pytest.param(["input=User Question"], {"input": "User Question"}, id="a field by its own name"),
        pytest.param(["Ground-Truth=a"], {"expected": "a"}, id="a field by another of its names"),
        pytest.param(["answer=a=b"], {"answer": "a=b"}, id="a column with the sign in it"),
        pytest.param(["input=a", "question=a"], {"input": "a"}, id="the same said twice"),
        pytest.param([], {}, id="nothing"),
    ],
)
def test_a_command_line_names_columns(said, columns):
    assert parse_columns(said).columns == columns


@pytest.mark.parametrize(
    ("said", "told"),
    [
        pytest.param(["colour=a"], "--column colour=a: it takes FIELD=NAME, with one of id, input,", id="no field"),
        pytest.param(["input"], "--column input: it takes FIELD=NAME", id="no column"),
        pytest.param(["input=a", "question=b"], "input already has the column 'a'", id="two for one field"),
    ],
)
def test_a_command_line_that_names_no_column_is_refused(said, told):
    with pytest.raises(ConfigError, match=told):
        parse_columns(said)


def test_a_row_with_an_answer_needs_no_input():
    assert case(answer="a", expected="e").input is None


def test_an_empty_text_is_an_input_and_an_answer():
    assert (case(input="").input, case(answer="", input="q").given.value) == ("", "")


def test_values_other_than_text_stay_what_they_are():
    made = case(input={"a": [1]}, expected=False, answer=[1, 2])
    assert (made.input, made.expected, made.given.value) == ({"a": [1]}, False, [1, 2])


@pytest.mark.parametrize(
    ("given", "contexts"),
    [
        ("one", ("one",)),
        (["a", "b"], ("a", "b")),
        ([], ()),
        (None, None),
        ([{"page_content": "x", "metadata": {}}, {"text": "y"}], ("x", "y")),
    ],
)
def test_contexts_are_texts(given, contexts):
    assert case(input="q", contexts=given).contexts == contexts


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("contexts", ["a", None], "`contexts`: a context is a text, not null"),
        ("contexts", [["a"]], "`contexts`: a context is a text, not a list"),
        ("contexts", 7, "`contexts`: a context is a text, not a number"),
        ("history", ["hello"], "`history`: a turn is {role, content}, or a pair"),
        ("history", [{"role": "user"}], "`history`: a turn is {role, content}, or a pair"),
        ("tags", [{"a": 1}], "`tags`: tags are texts"),
        ("metadata", ["a"], "`metadata`: metadata are a mapping, not a list"),
        ("tool_calls", [{"args": {}}], "`tool_calls`: a tool call has a name"),
        ("tool_calls", [{"name": "f", "arguments": "{"}], "`tool_calls`: the arguments of a tool call cannot be read"),
        ("tool_calls", [{"name": "f", "arguments": [1]}], "`tool_calls`: the arguments of a tool call are a mapping"),
        (
            "outputs",
            ["a"],
            "`outputs`: these are not examples of the form {label: 0 or 1, value: …}; set expected='outputs'",
        ),
        ("ideal", [], "`ideal`: the list is empty"),
        ("id", True, "`id`: an id is a text or a whole number, not bool"),
        ("id", 1.5, "`id`: an id is a text or a whole number, not float"),
        ("id", ["a"], "`id`: an id is a text or a whole number, not list"),
        ("id", "x" * 201, "`id`: an id may have 200 characters, this one has 201"),
        ("id", "x" * 10_000, "`id`: an id may have 200 characters, this one has 10000"),
    ],
)
def test_a_field_of_the_wrong_kind_is_named(field, value, said):
    assert said in refusal({"input": "q", field: value})


def test_all_faults_of_a_row_and_all_bad_rows_are_named_at_once():
    said = refusal({"id": True, "contexts": 1}, {"input": "fine"}, ["no"], {1: 2}, {"tags": 1.5, "input": "q"})
    assert said.splitlines() == [
        "item 1: `id`: an id is a text or a whole number, not bool; `contexts`: a context is a text, not a number.",
        "item 3: a row is a mapping of field names to values, not list.",
        "item 4: the field names of a row are texts.",
        "item 5: `tags`: tags are texts.",
    ]


def test_more_than_fifty_faults_are_counted():
    lines = refusal(*({"input": "q", "id": f"{n}{'x' * (200 + n)}"} for n in range(60))).splitlines()
    assert (len(lines), lines[-1]) == (51, "… and 10 more faults.")


def test_what_is_wrong_with_many_rows_is_said_once():
    (line,) = refusal(*([{}] * 60)).splitlines()
    assert line.startswith("item 1: ")
    assert line.endswith(". The same fault is in 59 more rows: item 2, item 3, item 4, item 5, item 6, ….")


@pytest.mark.parametrize(
    "history",
    [
        [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}],
        [{"role": "human", "text": "hi"}, {"role": "ai", "text": "hello"}],
        [["hi", "hello"]],
        [("hi", "hello")],
    ],
)
def test_the_forms_of_a_history(history):
    assert case(input="q", history=history).history == (
        Turn(role="user", content="hi"),
        Turn(role="assistant", content="hello"),
    )


def test_messages_that_end_with_the_user_hold_the_input():
    made = case(messages=[{"role": "system", "content": "be kind"}, {"role": "user", "content": "q"}])
    assert (made.input, made.history) == ("q", (Turn(role="system", content="be kind"),))
    assert "no input among messages" in refusal({"messages": [{"role": "assistant", "content": "a"}]})


def test_examples_liked_and_disliked():
    made = case(input="q", expected="e", liked=["a", {"b": 1}], disliked="bad")
    assert (made.liked, made.disliked) == (("e", "a", {"b": 1}), ("bad",))


def test_of_several_ideal_answers_any_is_right():
    made = case(input="q", ideal=["a", "b"])
    assert (made.expected, made.examples) == ("a", (Example(value="b"),))
    assert case(input="q", ideal="a").expected == "a"
    assert "`ideal` and another field both hold the expected answer" in refusal(
        {"input": "q", "ideal": "a", "expected": "b"}
    )


def test_tags_and_split():
    assert case(input="q", tags=["a", 1], split="dev").tags == ("a", "1", "dev")


@pytest.mark.parametrize(
    ("given", "call"),
    [
        ("f", ToolCall(name="f")),
        ({"name": "f", "arguments": {"x": 1}, "result": 2}, ToolCall(name="f", arguments={"x": 1}, result=2)),
        ({"function": {"name": "f", "arguments": '{"x": 1}'}}, ToolCall(name="f", arguments={"x": 1})),
        ({"id": "a", "function": {"name": "f"}, "result": None, "error": "e"}, ToolCall(name="f", id="a", error="e")),
        ({"type": "function_call", "call_id": 7, "name": "f", "output": "x"}, ToolCall(name="f", id="7", result="x")),
        ({"name": "f", "input_parameters": {"x": 1}, "output": 2, "error": "e"}, ToolCall(name="f", arguments={"x": 1}, result=2, error="e")),
    ],
)  # fmt: skip
def test_the_forms_of_a_tool_call(given, call):
    assert case(input="q", answer="a", tool_calls=[given]).given.tool_calls == (call,)


def test_texts_and_cases_are_taken_as_they_are():
    ready = Case(id="c", input=object())
    text, same = as_cases(["ping", ready])
    assert text.input == "ping"
    assert same is ready


@pytest.mark.parametrize("wrong", ["text", {"input": "q"}, Case(id="1")])
def test_one_case_is_no_list_of_cases(wrong):
    with pytest.raises(DataError, match="cases come as a list"):
        as_cases(wrong)


def test_a_case_without_an_id_is_a_fault():
    assert refusal(Case(id=" ", input="q")) == "item 1: the case has no id."


def test_answer_alone_is_explained(world):
    path = world / "x.jsonl"
    path.write_text('{"question": "q", "answer": "4"}\n{"question": "r", "answer": "5"}')
    notes = []
    list(read_cases(path, notes=notes.append))
    [note] = notes
    assert note == (
        "`answer` is read as an answer to be judged; if it is the right one, say so: `expected: answer` "
        "beside the `path` in a suite, `--column expected=answer` in `evalmark rag`."
    )


@pytest.mark.parametrize("name", ["assert", "evaluators", "metrics", "threshold"])
def test_what_judges_a_row_in_other_tools_is_kept_and_said_once(world, name):
    path = world / "x.jsonl"
    rows = [{"id": "a", "input": "q"}, {"id": "b", "input": "q", name: 0.5}, {"id": "c", name: 0.8, "input": "q"}]
    path.write_text("\n".join(map(json.dumps, rows)))
    notes = []
    found = list(read_cases(path, notes=notes.append))
    assert [row.metadata for row in found] == [{}, {name: 0.5}, {name: 0.8}]
    assert notes == [f"`{name}` is kept in the metadata and has no effect; name scorers and thresholds in the suite."]


def test_lone_surrogates_and_nul_survive(world):
    path = world / "x.jsonl"
    path.write_text('{"id": "\\ud800", "input": "a\\ud800\\u0000b", "expected": {"\\udfff": 1}}')
    [made] = read_cases(path)
    assert (made.id, made.input, made.expected) == ("\ud800", "a\ud800\0b", {"\udfff": 1})
    assert made.fingerprint


def test_rows_of_many_shapes_are_all_read(world):
    path = world / "x.jsonl"
    path.write_text("\n".join(json.dumps({"input": n, f"key {n}": n}) for n in range(3000)))
    cases = list(read_cases(path))
    assert not any(isinstance(row, BadRow) for row in cases)
    assert cases[2999].metadata == {"key 2999": 2999}
