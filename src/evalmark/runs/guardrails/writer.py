"""Call the model that rewrites an answer: a name, a chat model, or a function of a prompt."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any, NamedTuple

from evalmark.core.errors import ModelCallError, ModelError, RunStoppedError
from evalmark.core.foreign.threads import DaemonThreads, is_async_callable
from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Request
from evalmark.core.values.case import Turn
from evalmark.runs.planning.target_models import chat_model
from evalmark.scoring.builtin.answer_quality import describe_type

from .rewrite_prompt import RewritePrompt, clean_reply

Writer = str | ChatModel | Callable[[str], Any]
"""A model's name such as `openai/NAME`, a chat model, or a function from a prompt to a text or to
`[{"generated_text": text}]`, plain or async."""
IDLE = 0.01
"""Seconds until an idle thread ends; each call of a plain function uses one."""


class Rewrite(NamedTuple):
    """A rewritten answer, or why there is none."""

    text: str = ""
    why: str = ""


def check_writer(writer: Any) -> list[str]:
    """Return an error if the object cannot rewrite answers."""
    if (isinstance(writer, str) and writer) or (callable(writer) and not inspect.isclass(writer)):
        return []
    actual = f"the class {writer.__name__}" if inspect.isclass(writer) else describe_type(writer)
    return [
        f"llm is {actual}; pass a model's name such as 'openai/NAME', a chat model, or a function from a prompt to a text."
    ]


async def ask_writer(writer: Writer, prompt: RewritePrompt) -> Rewrite:
    """Send the prompt to the writer.

    A truncated, refused or blank reply counts as no answer, and so does a temporary error of the endpoint. Other errors
    are raised.

    Raises:
        ConfigError: the name of a model is unknown.
        ModelError: the endpoint rejects the call, or a function did not return a text.
        RunStoppedError: no further call of the model is possible.
    """
    async with chat_model(writer) if isinstance(writer, str) else nullcontext(writer) as model:
        rewrite = await (_ask_model(model, prompt) if isinstance(model, ChatModel) else _call_function(model, prompt))
    text = clean_reply(rewrite.text, prompt.mark)
    return Rewrite(text=text, why=rewrite.why if text or rewrite.why else "it is blank")


async def _ask_model(model: ChatModel, prompt: RewritePrompt) -> Rewrite:
    messages = (Turn(role="system", content=prompt.instructions), Turn(role="user", content=prompt.material))
    try:
        reply = await model(Request(messages=messages))
    except (ModelCallError, RunStoppedError) as error:
        failed = error if isinstance(error, ModelCallError) else error.__cause__
        if not isinstance(failed, ModelCallError) or failed.fault == "closed":
            raise
        return Rewrite(why=f"{model.name} returned none: {error}")
    return Rewrite(text=reply.text) if reply.status == "ok" else Rewrite(why=f"the reply is {reply.status}")


async def _call_function(function: Callable[[str], Any], prompt: RewritePrompt) -> Rewrite:
    if is_async_callable(function):
        result = function(prompt.text)
    else:
        result = await DaemonThreads(idle=IDLE).run(lambda _: function(prompt.text))
    return Rewrite(text=_text(await result if inspect.isawaitable(result) else result))


def _text(result: Any) -> str:
    """Return the text of a function's result.

    Raises:
        ModelError: there is none.
    """
    item = result[0] if isinstance(result, list) and result else result
    text = item.get("generated_text") if isinstance(item, Mapping) else item
    if not isinstance(text, str):
        raise ModelError(
            f"llm returned a value of type {type(result).__name__} without a text; "
            'it has to return a text or [{"generated_text": text}].'
        )
    return text
