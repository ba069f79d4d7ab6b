"""A better answer: what the model is told, what counts as better, and what is kept."""

import asyncio
import inspect
import logging
import re
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.core.values.call import Reply, Request
from evalmark.errors import ConfigError, ModelCallError, ModelError
from evalmark.quality import QualityRules, assess_answer, improve_answer, improve_answer_async
from evalmark.runs.guardrails.rewrite_prompt import build_rewrite_prompt, clean_reply

QUESTION = "Who built the bridge?"
CONTEXTS = ["Ida Holm built the bridge.", SimpleNamespace(text="It has two towers.")]
POOR = "Ida Holm."
GOOD = "Ida Holm [1]."


@dataclass(frozen=True)
class Writer:
    """A chat model that gives one reply, and remembers what it was asked."""

    reply: Reply | Exception
    requests: list[Request] = field(default_factory=list)
    name: str = "local/writer"
    identity: str = "writer"

    async def __call__(self, request):
        self.requests.append(request)
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


def says(answer):
    return lambda prompt: answer


def improved(llm, answer=POOR, **options):
    return improve_answer(llm, QUESTION, answer, CONTEXTS, **options)


def test_the_signature_is_the_one_that_users_know():
    names = list(inspect.signature(improve_answer).parameters)
    assert names == ["llm", "question", "answer", "contexts", "run_id", "issues", "rules", "strict_compat"]
    assert names == list(inspect.signature(improve_answer_async).parameters)
    assert improve_answer(says(GOOD), QUESTION, POOR, CONTEXTS, "run-1") == GOOD


async def awaited(prompt):
    await asyncio.sleep(0)
    return GOOD


class Called:
    async def __call__(self, prompt):
        return GOOD


@pytest.mark.parametrize(
    "llm",
    [
        pytest.param(says(GOOD), id="a function that gives a text"),
        pytest.param(says([{"generated_text": GOOD}]), id="a pipeline of Hugging Face"),
        pytest.param(says({"generated_text": GOOD}), id="one item of it"),
        pytest.param(lambda prompt: [{"generated_text": f"{prompt} {GOOD}"}], id="that repeats the whole prompt"),
        pytest.param(says(f"Answer: {GOOD}"), id="that begins with `Answer:`"),
        pytest.param(says(f"  **Answer:** {GOOD}\n"), id="with `Answer:` in bold"),
        pytest.param(awaited, id="an async function"),
        pytest.param(Called(), id="an object that is awaited"),
        pytest.param(lambda prompt: awaited(prompt), id="a plain function that gives something to await"),
        pytest.param(Writer(Reply(text=GOOD)), id="a chat model"),
    ],
)
def test_any_writer_will_do(llm):
    assert improved(llm) == GOOD


def test_it_can_be_awaited_and_called_inside_a_running_loop():
    async def both():
        return improved(says(GOOD)), await improve_answer_async(awaited, QUESTION, POOR, CONTEXTS)

    assert asyncio.run(both()) == (GOOD, GOOD)


@pytest.mark.parametrize(
    ("before", "after", "issues", "taken"),
    [
        pytest.param(POOR, GOOD, (), True, id="no issue instead of one"),
        pytest.param("Unable to generate", "Ida Holm.", (), True, id="one issue instead of two"),
        pytest.param(POOR, "Ida Holm, surely.", (), False, id="another answer with as many issues"),
        pytest.param(POOR, "Unable to generate", (), False, id="more issues"),
        pytest.param(
            GOOD, "Ida Holm built it [1].", ("It is too short.",), True, id="as many, and issues of the caller"
        ),
        pytest.param(GOOD, "Ida Holm built it.", ("It is too short.",), False, id="more, and issues of the caller"),
        pytest.param(POOR, "  \n", (), False, id="a blank one"),
        pytest.param(POOR, "Answer:", (), False, id="nothing but the word"),
        pytest.param("", "Unable to generate [1]", (), True, id="anything with fewer issues than an empty one"),
    ],
)
def test_the_better_answer_is_returned(before, after, issues, taken):
    assert improved(says(after), before, issues=issues) == (after if taken else before)


def test_a_good_answer_asks_no_model():
    writer = Writer(Reply(text="Something else [1]."))
    assert improved(writer, GOOD) == GOOD
    assert writer.requests == []


@pytest.mark.parametrize(
    "reply",
    [
        *[pytest.param(Reply(text=GOOD, status=s), id=s) for s in ("truncated", "refused", "filtered", "empty")],
        pytest.param(Reply(text=" "), id="blank"),
        pytest.param(ModelCallError("too many requests", fault="transient"), id="busy"),
        pytest.param(ModelCallError("too long", fault="rejected"), id="too long"),
    ],
)
def test_without_a_reply_to_rely_on_the_old_answer_is_kept(reply):
    writer = Writer(reply)
    assert improved(writer) == POOR
    assert len(writer.requests) == 1


def test_a_closed_endpoint_and_what_a_function_raises_are_told():
    with pytest.raises(ModelCallError, match="wrong key"):
        improved(Writer(ModelCallError("wrong key", fault="closed")))
    with pytest.raises(ZeroDivisionError):
        improved(lambda prompt: 1 / 0)


def test_the_rules_and_the_verdicts_of_auto_analyst_count_for_both_answers():
    rules = QualityRules(fallback_phrases=["ida"])
    assert improved(says("She did [1]."), GOOD, rules=rules) == "She did [1]."
    assert improved(says("See [x]."), POOR, strict_compat=True) == "See [x]."
    assert improved(says("See [x]."), POOR) == POOR


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            {"llm": None}, "llm is None; pass a model's name such as 'openai/NAME', a chat model", id="nothing"
        ),
        pytest.param({"llm": ""}, "llm is ''; pass", id="no name"),
        pytest.param({"llm": Writer}, "llm is the class Writer; pass", id="a class"),
        pytest.param({"answer": None}, "answer is None; pass a text", id="no answer"),
        pytest.param({"question": 7}, "question is 7; pass a text", id="a number as question"),
        pytest.param({"contexts": "one"}, "contexts is a single text; pass a list", id="one context"),
        pytest.param({"rules": "strict"}, "rules is 'strict'; pass a QualityRules object", id="no rules"),
        pytest.param({"issues": "too long"}, "issues is of type str; pass a list of texts", id="one issue"),
        pytest.param({"issues": [1]}, "issues is of type list; pass a list of texts", id="issues that are none"),
    ],
)
def test_what_cannot_be_used_is_refused(arguments, message):
    given = {"llm": says(GOOD), "question": QUESTION, "answer": POOR, "contexts": CONTEXTS, **arguments}
    with pytest.raises(ConfigError) as refused:
        improve_answer(**given)
    assert message in str(refused.value)


@pytest.mark.parametrize("given", [None, 7, [], [{}], {"text": GOOD}, [{"generated_text": [{"role": "user"}]}]])
def test_a_function_that_gives_no_text_is_told_so(given):
    with pytest.raises(ModelError, match="llm returned a value of type"):
        improved(says(given))


def test_the_model_is_told_everything_and_the_issues():
    writer = Writer(Reply(text=GOOD))
    improved(writer, "Unable to generate", issues=["It is too short."])
    system, user = writer.requests[0].messages
    assert (system.role, user.role) == ("system", "user")
    (mark,) = set(re.findall(r'<data-([0-9a-f]{16}) name="', user.content))
    assert f"<data-{mark}" in system.content
    parts = {
        "question": QUESTION,
        "passage 1": "Ida Holm built the bridge.",
        "passage 2": "It has two towers.",
        "answer as it stands": "Unable to generate",
        "what is wrong with it": (
            "- Missing citations.\n- Answer contains fallback phrase: 'Unable to generate'\n- It is too short."
        ),
    }
    wanted = [f'<data-{mark} name="{title}">\n{text}\n</data-{mark}>' for title, text in parts.items()]
    assert user.content == "\n\n".join([*wanted, "Answer:"])


def test_the_same_question_is_the_same_request_and_can_be_found_again():
    writer = Writer(Reply(text=POOR))
    improved(writer)
    improved(writer)
    improved(writer, "Ida.")
    first, second, other = (request.hash for request in writer.requests)
    assert first == second != other


@given(st.text(max_size=40), st.lists(st.text(max_size=40), max_size=3))
def test_no_text_leaves_its_fence(answer, contexts):
    made = build_rewrite_prompt(QUESTION, answer, contexts, ["Missing citations."])
    assert (
        made.material.count(f"<data-{made.mark} ") == made.material.count(f"</data-{made.mark}>") == 3 + len(contexts)
    )
    assert ("No passages were found." in made.material) is (not contexts)


@given(st.text(alphabet="abc [1].:\n*", max_size=30))
def test_an_echo_is_cut_off_and_nothing_else(answer):
    prompt = build_rewrite_prompt(QUESTION, POOR, ["a"], ["b"])
    assert clean_reply(f"{prompt.text} {answer}", prompt.mark) == answer.strip()
    assert clean_reply(answer, prompt.mark) == answer.strip()


def test_the_log_has_figures_and_issues_and_no_texts(caplog):
    with caplog.at_level(logging.INFO, "evalmark.quality"):
        improved(says(GOOD), run_id="r-17", issues=["Ida Holm is mentioned."])
        improved(says(" "), run_id="r-18")
        improved(says("unused"), GOOD)
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [
        (
            "improve_answer run_id='r-17' answer=9 characters, issues=['Missing citations.'], issues of the caller=1, "
            "new answer=13 characters, issues=[], the new answer is taken"
        ),
        (
            "improve_answer run_id='r-18' answer=9 characters, issues=['Missing citations.'], issues of the caller=0, "
            "new answer=0 characters, issues=[], the old answer is kept: it is blank"
        ),
        (
            "improve_answer run_id=None answer=13 characters, issues=[], issues of the caller=0, "
            "new answer=0 characters, issues=[], the old answer is kept: there is no issue"
        ),
    ]


def test_the_answer_that_is_returned_never_has_more_issues_than_the_old_one(shared):
    import json

    cases = json.loads((shared / "data/auto-analyst/quality_control_cases.json").read_text(encoding="utf-8"))["cases"]
    for case in cases:
        for new in ("Unable to generate", "It is so [1].", "- It is so [1].", ""):
            asked = (case["question"], case["answer"], case["contexts"])
            found = improve_answer(says(new), *asked)
            before, after = (assess_answer(asked[0], text, asked[2])["issues"] for text in (asked[1], found))
            assert len(after) <= len(before)
