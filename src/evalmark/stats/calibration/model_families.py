"""Names the family of a model, because judges may prefer answers of models of their own family."""

import re
from collections.abc import Iterable, Mapping

FAMILIES: Mapping[str, str] = {
    "Claude": r"claude",
    "Command": r"command(-|$)|cohere",
    "DeepSeek": r"deepseek",
    "GLM": r"glm",
    "GPT": r"gpt|davinci|o[134](-|$)",
    "Gemini": r"gemini|gemma",
    "Grok": r"grok",
    "Kimi": r"kimi",
    "Llama": r"llama",
    "Mistral": r"mistral|mixtral|ministral|magistral|codestral",
    "Nova": r"nova-(micro|lite|pro|premier)",
    "Phi": r"phi-?\d",
    "Qwen": r"qwen|qwq",
}
"""Patterns of the names of each family."""
_PATTERNS = {name: re.compile(rf"(^|[^a-z])({pattern})") for name, pattern in FAMILIES.items()}


def families(model: str) -> frozenset[str]:
    """Return the families in the name of a model; a distilled model has several.

    >>> sorted(families("openai/gpt-4o-mini")), sorted(families("together/deepseek-r1-distill-llama-70b"))
    (['GPT'], ['DeepSeek', 'Llama'])
    >>> families("openai/judge"), families("ollama/mine")
    (frozenset(), frozenset())
    """
    own_name = model.lower().rpartition("/")[2]
    return frozenset(name for name, pattern in _PATTERNS.items() if pattern.search(own_name))


def relatives(judge: str, models: Iterable[str]) -> tuple[str, ...]:
    """Return the models of the judge's family.

    >>> relatives("openai/gpt-4o", ["azure/gpt-4o-mini", "anthropic/claude-3-haiku"])
    ('azure/gpt-4o-mini',)
    """
    own = families(judge)
    return tuple(model for model in dict.fromkeys(models) if own & families(model))
