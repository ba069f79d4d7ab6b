"""Builds a metric's question: its variables filled, the author's texts unchanged, all other text between delimiters."""

from collections.abc import Mapping, Sequence
from typing import Any

from evalmark.core.values.case import Case, Output, Turn
from evalmark.prompts.specs.spec import PromptSpec
from evalmark.prompts.templates.interpreter import TemplateText
from evalmark.prompts.templates.prompt import Prompt
from evalmark.prompts.templates.rendering import message_parts
from evalmark.prompts.texts import load_texts
from evalmark.scoring.binding.text import text_of
from evalmark.scoring.judges.delimiters import UntrustedText, delimit, delimiter_for, untrusted_text
from evalmark.scoring.judges.question import Question
from evalmark.scoring.judges.template import common_prompt, fill

LABELS: Mapping[str, str] = {
    "output": "output",
    "input": "input",
    "groundtruth": "expected answer",
    "prompt": "prompt",
    "rules": "rules",
    "intent": "intent",
    "inputSpec": "input specification",
}
"""What the judge's question calls a variable's value."""
SPEC_VARIABLES = ("prompt", "rules", "intent", "inputSpec")
"""Variables that need a prompt under test."""
Part = str | UntrustedText
"""Text of the metric's author, or untrusted text."""


def variable_values(case: Case, output: Output, spec: PromptSpec | None) -> dict[str, str]:
    """Return the value of every variable; empty if there is none."""
    return {
        "output": text_of(output.value),
        "input": input_text(case.input),
        "groundtruth": text_of(case.expected),
        "prompt": "" if spec is None else spec.body,
        "rules": "" if spec is None else "\n".join(spec.rules),
        "intent": "" if spec is None else spec.intent,
        "inputSpec": "" if spec is None else "\n".join(spec.input_spec),
    }


def input_text(value: Any) -> str:
    """Return the input of a test as text: the only value, or all values as a JSON object."""
    if isinstance(value, Mapping) and len(value) == 1:
        return text_of(next(iter(value.values())))
    return text_of(value)


def question_of(
    prompt: Prompt,
    values: Mapping[str, str],
    form: str,
    schema: Mapping[str, Any] | None,
    settings: Mapping[str, Any],
    logprobs: int = 0,
) -> Question:
    """Return the question of a metric, with its variables filled.

    The metric's own instructions follow those of every judge; the reply format comes last.
    """
    messages = [(role, _question_parts(pieces, values, prompt)) for role, pieces in message_parts(prompt, values)]
    material = tuple(part for _, parts in messages for part in parts if isinstance(part, UntrustedText))
    mark = delimiter_for(material)
    messages_text = [(role, _text(parts, mark)) for role, parts in messages]
    system = [fill(common_prompt().system, {"mark": mark}), load_texts("metrics", "verdicts")["standards"]]
    system += [text for role, text in messages_text if role == "system"]
    turns = [Turn(role=role, content=text) for role, text in messages_text if role != "system"]
    closing = load_texts("metrics", "verdicts")["closing"] + f"\n{form}"
    if turns and turns[-1].role == "user":
        turns[-1] = Turn(role="user", content=f"{turns[-1].content}\n\n{closing}")
    else:
        turns.append(Turn(role="user", content=closing))
    return Question(
        messages=(Turn(role="system", content="\n\n".join(system)), *turns),
        form=form,
        material=material,
        schema=schema,
        settings=settings,
        logprobs=logprobs,
    )


def _question_parts(pieces: Sequence[Any], values: Mapping[str, str], prompt: Prompt) -> list[Part]:
    constants = {
        variable.default
        for variable in prompt.inputs
        if variable.name not in LABELS and isinstance(variable.default, str)
    }
    return [
        str(found)
        if isinstance(found, TemplateText) or found in constants
        else untrusted_text(_label(str(found), values), str(found))
        for found in pieces
    ]


def _label(text: str, values: Mapping[str, str]) -> str:
    """Return the label of the variable with this value; `material` if a filter changed it."""
    variable = (name for name in LABELS if name in values and values[name].strip() == text.strip())
    return LABELS.get(next(variable, ""), "material")


def _text(parts: Sequence[Part], mark: str) -> str:
    """Join the parts to one text; each untrusted text gets its own lines."""
    written, is_closed = "", False
    for part in parts:
        shown = part if isinstance(part, str) else delimit(part, mark)
        needs_break = is_closed if isinstance(part, str) else bool(written) and not written.endswith("\n")
        if shown:
            written += ("\n" if needs_break and not shown.startswith("\n") else "") + shown
            is_closed = not isinstance(part, str)
    return written
