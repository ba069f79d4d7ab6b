"""Scorers that need the prompt under test, and how they get it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.prompts.specs.spec import PromptSpec

from .metric import PromptMetric, missing_spec_message


def needs_spec(scorer: Callable[..., Any]) -> bool:
    """Whether a scorer cannot judge without the prompt under test."""
    return bool(getattr(scorer, "needs_spec", False))


def with_spec(scorer: Callable[..., Any], spec: PromptSpec | None, place: str = "") -> Callable[..., Any]:
    """The scorer with the prompt under test, where it asks for one and has none; any other as it is.

    Raises:
        ConfigError: it needs one, and there is none. `place` stands before the message.
    """
    if not needs_spec(scorer) or getattr(scorer, "spec", None) is not None:
        return scorer
    if spec is None:
        name = getattr(scorer, "name", "the metric")
        said = (
            missing_spec_message(scorer)
            if isinstance(scorer, PromptMetric)
            else f"{name} needs a prompt under test; name one as the target."
        )
        raise ConfigError(f"{place}: {said}" if place else said)
    return replace(scorer, spec=spec)  # type: ignore[type-var]
