"""Prompts for tests, written as the files they would stand in."""

from pathlib import Path

import pytest

from evalmark.errors import ConfigError
from evalmark.prompts.templates.prompt import Prompt
from evalmark.prompts.templates.prompt_files import parse_prompt
from evalmark.prompts.templates.rendering import render


def prompt(body: str, head: str = "", name: str = "p.prompty") -> Prompt:
    return parse_prompt(f"---\n{head}\n---\n{body}", Path(name))


def said(body: str, head: str = "", **values) -> str:
    """What the one message of a prompt says."""
    (turn,) = render(prompt(body, head), values)
    return turn.content


def refused(body: str, head: str = "", name: str = "p.prompty", **values) -> str:
    """What is said against a prompt, or against its values."""
    with pytest.raises(ConfigError) as told:
        render(prompt(body, head, name), values)
    return str(told.value)
