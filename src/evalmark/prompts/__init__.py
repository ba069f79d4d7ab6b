"""Prompt files as values, and their rendering: templates are data, and no value can open a message."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .prompt import Input, Message, Prompt, Sample, Scenario
    from .reading import prompt_in, read_prompt
    from .rendering import render

__all__ = [
    "Input",
    "Message",
    "Prompt",
    "Sample",
    "Scenario",
    "prompt_in",
    "read_prompt",
    "render",
]

__getattr__ = deferred(
    __name__,
    {
        "Input": "prompt",
        "Message": "prompt",
        "Prompt": "prompt",
        "Sample": "prompt",
        "Scenario": "prompt",
        "prompt_in": "reading",
        "read_prompt": "reading",
        "render": "rendering",
    },
)
