"""What a machine can check of a rule, read out of its words."""

from collections.abc import Mapping
from typing import Any

from .finding import Check
from .labels import one_of_in
from .language import language_in
from .limits import limit_in
from .markup import markup_in
from .phrases import is_conditional
from .structure import structure_in
from .words import words_in

LONGEST_RULE = 2_000
"""Characters of a rule that is looked at; a longer one is no single rule."""


def check_of(rule: str, prompt: str = "", schema: Mapping[str, Any] | None = None) -> Check | None:
    """The check of a rule in English; None where none is certain, which is so of most rules.

    Words are taken for a limit, a list of labels, JSON, tags, words or a language only where they say so of the whole
    output, of every output, and without `about` or `if`. Where the rule asks for more than the check, the check can only
    refute it. `prompt` is the text of the prompt, to which rules refer for lists of labels; `schema` the one it asks for.

    >>> check_of("The output must not exceed 80 words.").says
    'at most 80 words'
    >>> check_of("The output should be polite.") is None
    True
    """
    words = " ".join(rule.split())
    if not words or len(words) > LONGEST_RULE or is_conditional(words):
        return None
    return (
        one_of_in(words, prompt)
        or limit_in(words)
        or structure_in(words, schema)
        or markup_in(words)
        or words_in(words)
        or language_in(words)
    )
