"""Reads a judge's verdict from its reply."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evalmark.core.values.call import Reply

from .measure import REASON, Measure
from .replies import ReplyFault, describe_reply_value, refusal_fault, reply_object, status_fault

MAX_REASON_CHARS = 4_096
"""Characters of a reason that are stored."""
PASS_KEYS = ("pass", "passed")
"""Other keys of a reply with a truth value that must not contradict the verdict."""


class Verdict(NamedTuple):
    """A judge's verdict with its reason.

    Args:
        raw: The verdict in the judge's own unit.
        reason: The judge's reason; empty if it gave none.

    >>> Verdict(4, "It is short.").raw
    4
    """

    raw: Any
    reason: str = ""


def read_verdict(
    reply: Reply, measure: Measure, material: Sequence[str] = (), lower: bool = False
) -> Verdict | ReplyFault:
    """Return the verdict in a reply, or what is wrong with it; nothing is clamped, rounded or guessed.

    Args:
        reply: The judge's reply.
        measure: The allowed verdicts.
        material: The untrusted texts of the question; an object that occurs in them is not a verdict.
        lower: Whether the smallest value is the best; only needed if a reply also says `pass`.

    Returns:
        The verdict, or the fault of the reply.

    >>> five = Measure(kind="scale", low=1, high=5)
    >>> read_verdict(Reply(text='Well. {"reason": "short", "score": 4}'), five)
    Verdict(raw=4, reason='short')
    >>> read_verdict(Reply(text='{"reason": "short", "score": 7}'), five).kind
    'judge_range'
    """
    if measure.words is not None:
        return _word_verdict(reply, measure.words)
    found = reply_object(reply, measure.key, material)
    if isinstance(found, ReplyFault):
        return found
    if measure.key not in found:
        return ReplyFault(f"the JSON object has no `{measure.key}`")
    reason = found.get(REASON)
    if not (reason is None or isinstance(reason, str)):
        return ReplyFault(f"`{REASON}` is {describe_reply_value(reason)}, not a text")
    raw = found[measure.key]
    fault = _value_fault(raw, measure) or _contradiction(found, raw, measure, lower)
    return fault or Verdict(float(raw) if measure.kind == "percentage" else raw, shorten_reason(reason or ""))


def _value_fault(raw: Any, measure: Measure) -> ReplyFault | None:
    """Return why the verdict's value does not fit the measure."""
    if measure.kind == "boolean":
        fine, allowed = isinstance(raw, bool), "true or false"
    elif measure.kind == "choice":
        fine, allowed = isinstance(raw, str) and raw in measure.options, f"one of {', '.join(measure.options)}"
    else:
        return _number_fault(raw, measure)
    return None if fine else ReplyFault(f"`{measure.key}` is {describe_reply_value(raw)}, not {allowed}")


def _number_fault(raw: Any, measure: Measure) -> ReplyFault | None:
    whole = measure.kind == "scale"
    low, high = (measure.low, measure.high) if whole else (0, 100)
    allowed = f"a {'whole ' if whole else ''}number from {low} to {high}"
    if isinstance(raw, bool) or not isinstance(raw, (int, float)):
        return ReplyFault(f"`{measure.key}` is {describe_reply_value(raw)}, not {allowed}")
    if low <= raw <= high and (isinstance(raw, int) or not whole):
        return None
    return ReplyFault(
        f"`{measure.key}` is {describe_reply_value(raw)}, not {allowed}", "judge_range"
    )  # also true for NaN


def _contradiction(found: Mapping[str, Any], raw: Any, measure: Measure, lower: bool) -> ReplyFault | None:
    """Return which other part of the reply contradicts its verdict."""
    best = measure.is_extreme(raw)
    if best is None:
        return None
    good = best if measure.kind == "boolean" else best is not lower
    for name in PASS_KEYS:
        if name != measure.key and isinstance(found.get(name), bool) and found[name] is not good:
            return ReplyFault(f"`{measure.key}` and `{name}` contradict each other", "judge_inconsistent")
    score = found.get("score")
    if measure.kind == "boolean" and raw and isinstance(score, (int, float)) and score == 0:
        return ReplyFault("`pass` and `score` contradict each other", "judge_inconsistent")
    return None


def _word_verdict(reply: Reply, words: tuple[str, str]) -> Verdict | ReplyFault:
    word = status_fault(reply) or read_word(reply.text, words)
    if isinstance(word, ReplyFault):
        return refusal_fault(reply.text.strip()) or word
    return Verdict(word == words[0], shorten_reason(reply.text.strip().removesuffix(word).strip()))


def read_word(text: str, words: Sequence[str] = ("OK", "ERR")) -> str | ReplyFault:
    r"""Return which of these words a text ends with, or the fault.

    The word must be the whole last line, or follow a full stop there, with exactly this spelling. None of the other words
    may be a whole earlier line.

    >>> read_word("The list has a comma too many.\n\nERR"), read_word("This is not OK").kind
    ('ERR', 'judge_parse')
    """
    text = text.strip()
    if not text:
        return ReplyFault("it is empty")
    lines = [line.strip() for line in text.splitlines()]
    allowed = " or ".join(words)
    last = next((word for word in words if re.search(rf"(?:^|[.!?]\s+){re.escape(word)}$", lines[-1])), None)
    if last is None:
        return ReplyFault(f"its last line is not {allowed}")
    if any(line in words and line != last for line in lines[:-1]):
        return ReplyFault(f"{allowed} both occur in it as verdicts", "judge_inconsistent")
    return last


def shorten_reason(reason: str) -> str:
    """Return a reason cut to `MAX_REASON_CHARS` characters."""
    return reason if len(reason) <= MAX_REASON_CHARS else reason[:MAX_REASON_CHARS] + "…"
