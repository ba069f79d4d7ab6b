"""Renders a prompt with values into messages."""

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.core.suggestions import did_you_mean
from evalmark.core.values.case import Turn
from evalmark.inputs.documents.errors import PlacedError

from .input_values import InputValueError, PlainCopier, convert_value
from .interpreter import Image, MessagePart, MissingValue, RenderBudget, TemplateText, Thread, render_template
from .prompt import Input, Message, Prompt
from .template import BrokenTemplateError


def render(prompt: Prompt, values: Mapping[str, Any]) -> tuple[Turn, ...]:
    """Return the messages of a prompt with its variables filled.

    The messages are split when the file is read, and each template is filled once: roles, braces or tags inside a value stay
    text. Values are plain data for known inputs; a missing value takes its default. Numbers, truth values, lists and
    mappings are written as JSON.

    Args:
        prompt: A prompt file that `read_prompt` has read.
        values: The value of each input without a default, by name.

    Returns:
        The messages, each with its role and content.

    Raises:
        ConfigError: A value is missing, unknown or of the wrong type (the message names all of them, one per line), a
            template cannot use a value, or a limit on steps or size is reached.

    Example:
        The messages for a model::

            messages = render(read_prompt("classify.prompty"), {"headline": "Late goal wins the derby"})
    """
    return tuple(turn for role, pieces in message_parts(prompt, values) for turn in _turns(role, pieces))


def message_parts(prompt: Prompt, values: Mapping[str, Any]) -> list[tuple[str, list[MessagePart]]]:
    """Return the role and the parts of each message; the author's texts are `TemplateText`.

    Raises:
        ConfigError: As `render`.
    """
    faults: list[str] = []
    scope = _scope(prompt, values, faults)
    budget = RenderBudget()
    found: list[tuple[str, list[MessagePart]]] = []
    missing: dict[str, str] = {}
    for message in prompt.messages:
        try:
            rendered = render_template(message.text, scope, budget)
        except BrokenTemplateError as fault:
            raise _first_error(
                faults, PlacedError(place_in(prompt.file, message, fault.line), fault.sentence)
            ) from None
        for name, line in rendered.missing.items():
            missing.setdefault(name, place_in(prompt.file, message, line))
        found.append((message.role, rendered.pieces))
    faults += [_without_value(prompt, name, place) for name, place in missing.items()]
    if faults:
        raise ConfigError.of(faults)
    return found


def place_in(file: str, message: Message, line: int) -> str:
    """Return `file:line` of a line in a message's template; template lines count from 1."""
    return f"{file}:{message.line if message.on_one_line else message.line + line - 1}"


def _first_error(faults: list[str], error: ConfigError) -> ConfigError:
    """Return the faults of the values if there are any, else the template's error: they explain more."""
    return ConfigError.of(faults) if faults else error


def _scope(prompt: Prompt, values: Mapping[str, Any], faults: list[str]) -> dict[str, Any]:
    plain = PlainCopier()
    inputs = {variable.name: variable for variable in prompt.inputs}
    scope = {
        variable.name: _default_value(variable, plain)
        for variable in prompt.inputs
        if variable.default is not None or not variable.required
    }
    for name, value in values.items():
        if name not in inputs:
            faults.append(_unknown(prompt, name, inputs))
        elif value is not None:
            try:
                scope[name] = convert_value(plain.copy(value), inputs[name])
            except InputValueError as unfit:
                faults.append(f"{prompt.file}:{inputs[name].line}: the value of {name!r} {unfit}.")
                scope[name] = MissingValue(name, optional=True)  # its fault is already recorded
    return scope


def _default_value(inputs: Input, plain: PlainCopier) -> Any:
    """Return the value of an input without a given value; defaults were checked when the file was read."""
    return (
        MissingValue(inputs.name, optional=True)
        if inputs.default is None
        else convert_value(plain.copy(inputs.default), inputs)
    )


def _unknown(prompt: Prompt, name: str, inputs: Mapping[str, Input]) -> str:
    advice = did_you_mean(str(name), inputs) or f"it has {', '.join(inputs) or 'no inputs'}."
    return f"{prompt.place}: {name!r:.60} is not an input of the prompt {prompt.name!r}; {advice}"


def _without_value(prompt: Prompt, name: str, place: str) -> str:
    if name in {variable.name for variable in prompt.inputs}:
        return f"{place}: {{{{{name}}}}} has no value; give one for {name!r}, or declare a default in the file."
    return f"{place}: {{{{{name}}}}} is not in the given value; add it, or write {{{{{name} | default('')}}}}."


def _turns(role: str, pieces: list[MessagePart]) -> list[Turn]:
    """Return the turns of one message: one, or more if it contains a conversation."""
    if not any(isinstance(piece, Thread) for piece in pieces):
        return [Turn(role=role, content=_content(pieces))]
    turns: list[Turn] = []
    for is_thread, group in groupby(pieces, lambda piece: isinstance(piece, Thread)):
        found = list(group)
        if is_thread:
            turns += [turn for piece in found if isinstance(piece, Thread) for turn in piece.turns]
        elif any(isinstance(piece, Image) or str(piece).strip() for piece in found):
            turns.append(Turn(role=role, content=_content(_without_blank_ends(found))))
    return turns


def _without_blank_ends(pieces: list[MessagePart]) -> list[MessagePart]:
    """Remove the blank lines between a conversation and the text around it; values stay unchanged."""
    first, last = pieces[0], pieces[-1]
    if isinstance(first, TemplateText):
        pieces = [TemplateText(first.lstrip("\n")), *pieces[1:]]
    if isinstance(last, TemplateText):
        pieces = [*pieces[:-1], TemplateText(str(pieces[-1]).rstrip("\n"))]
    return pieces


def _content(pieces: list[MessagePart]) -> Any:
    """Return a text, or with images the list of parts of OpenAI's chat API."""
    if not any(isinstance(piece, Image) for piece in pieces):
        return "".join(piece for piece in pieces if isinstance(piece, str))
    parts: list[dict[str, Any]] = []
    for is_text, group in groupby(pieces, lambda piece: isinstance(piece, str)):
        if is_text:
            text = "".join(piece for piece in group if isinstance(piece, str))
            parts += [{"type": "text", "text": text}] if text.strip() else []
        else:
            addresses = [piece.address for piece in group if isinstance(piece, Image)]
            parts += [{"type": "image_url", "image_url": {"url": address}} for address in addresses]
    return parts
