"""Prompts as files: templates, specifications, rules, metrics, and the generation of tests.

`templates` reads prompt files and renders them. `rules` checks outputs against rules in English. `specs` reads the
folder of a prompt under test. `metrics` scores its outputs, `generation` writes its tests. `rules` and `templates` are
independent of each other, and so are `metrics` and `generation`.

The names below are public.
"""

from typing import TYPE_CHECKING

from evalmark.core.lazy import lazy_getattr

if TYPE_CHECKING:
    from evalmark.prompts.templates.prompt import Prompt
    from evalmark.prompts.templates.prompt_files import read_prompt
    from evalmark.prompts.templates.rendering import render

__all__ = [
    "Prompt",
    "read_prompt",
    "render",
]

__getattr__ = lazy_getattr(
    __name__,
    {
        "Prompt": "evalmark.prompts.templates.prompt",
        "read_prompt": "evalmark.prompts.templates.prompt_files",
        "render": "evalmark.prompts.templates.rendering",
    },
)
