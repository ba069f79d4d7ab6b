"""Chains of the real LangChain are recorded by its own callbacks."""

import asyncio

import pytest

from evalmark import ConfigError, record

core = pytest.importorskip("langchain_core", reason="langchain-core is not installed")
from langchain_core.documents import Document  # noqa: E402
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel  # noqa: E402
from langchain_core.messages import AIMessage  # noqa: E402
from langchain_core.prompts import ChatPromptTemplate  # noqa: E402
from langchain_core.retrievers import BaseRetriever  # noqa: E402
from langchain_core.runnables import RunnableLambda, RunnablePassthrough  # noqa: E402
from langchain_core.tools import tool  # noqa: E402

from evalmark.core.values.case import Usage  # noqa: E402
from evalmark.tracing.recorder.langchain import callback_handler  # noqa: E402

COUNTED = {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}


def model(*texts):
    said = [AIMessage(text, usage_metadata=COUNTED, response_metadata={"model_name": "gpt-x"}) for text in texts]
    return GenericFakeChatModel(messages=iter(said))


class Library(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document("Oslo is in Norway.", metadata={"page": 1})]


@tool
def search(query: str) -> str:
    """Search."""
    return f"found {query}"


def chain():
    prompt = ChatPromptTemplate.from_messages([("system", "Use {passages}"), ("user", "{question}")])
    with_passages = RunnablePassthrough.assign(passages=RunnableLambda(lambda given: given["question"]) | Library())
    return with_passages | prompt | model("Yes, Oslo.")


def by_kind(session):
    return {span.kind: span for span in session.spans if span.kind != "step"}


def test_a_chain_is_an_answer_with_its_steps(store, kept):
    handler = callback_handler("demo", store=store)
    said = chain().invoke({"question": "Oslo?"}, config={"callbacks": [handler]})
    assert said.content == "Yes, Oslo."
    (session,) = kept()
    (answer,) = session.answers
    assert (answer.input, answer.output, answer.contexts) == (
        {"question": "Oslo?"},
        "Yes, Oslo.",
        ("Oslo is in Norway.",),
    )
    found = by_kind(session)
    assert found["retrieval"].input == "Oslo?"
    asked = found["model"]
    assert (asked.output, asked.model, asked.usage) == ("Yes, Oslo.", "gpt-x", Usage(input_tokens=7, output_tokens=2))
    assert asked.input[-1] == {"role": "human", "content": "Oslo?"}
    assert {span.parent for span in session.spans} <= {"", *(span.id for span in session.spans)}


def test_it_is_recorded_when_asked_asynchronously_and_streamed(store, kept):
    handler = callback_handler("demo", store=store)

    async def main():
        await chain().ainvoke({"question": "one"}, config={"callbacks": [handler]})
        return [piece async for piece in chain().astream({"question": "two"}, config={"callbacks": [handler]})]

    assert asyncio.run(main())
    answers = [span for session in kept() for span in session.answers]
    assert [(span.input, span.output) for span in answers] == [
        ({"question": "one"}, "Yes, Oslo."),
        ({"question": "two"}, "Yes, Oslo."),
    ]


def test_a_tool_is_a_step_and_an_error_is_kept(store, kept):
    def broken(given):
        search.invoke({"query": given["question"]})
        raise KeyError("gone")

    with pytest.raises(KeyError):
        RunnableLambda(broken).invoke({"question": "x"}, config={"callbacks": [callback_handler("demo", store=store)]})
    (session,) = kept()
    assert session.answers[0].error == "KeyError: 'gone'"
    assert (by_kind(session)["tool"].input, by_kind(session)["tool"].output) == ({"query": "x"}, "found x")


def test_a_model_alone_is_an_answer(store, kept):
    model("Yes.").invoke("Oslo?", config={"callbacks": [callback_handler("demo", store=store)]})
    ((answer,),) = [session.answers for session in kept()]
    assert (answer.kind, answer.output) == ("model", "Yes.")


def test_runs_of_one_thread_are_one_session(store, kept):
    handler = callback_handler("demo", store=store)
    for turn in ("one", "two"):
        chain().invoke({"question": turn}, config={"callbacks": [handler], "metadata": {"session_id": "user-7"}})
    (session,) = kept()
    assert [span.input["question"] for span in session.answers] == ["one", "two"]


def test_inside_of_an_answer_it_adds_steps(store, kept):
    handler = callback_handler("other", store=store)

    @record("demo", store=store)
    def answer(question):
        return chain().invoke({"question": question}, config={"callbacks": [handler]})

    assert answer("Oslo?").content == "Yes, Oslo."
    (session,) = kept()
    assert session.project == "demo"
    assert (session.answers[0].input, session.answers[0].output) == ("Oslo?", "Yes, Oslo.")
    assert "model" in by_kind(session)


def test_a_wrong_option_is_said_at_once():
    with pytest.raises(ConfigError, match="share of sessions"):
        callback_handler("demo", sample=5)
