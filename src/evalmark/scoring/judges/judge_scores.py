"""Turns one or several verdicts on an output into a score, or explains why there is none."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalmark.core.protocols import ChatModel
from evalmark.core.text import count
from evalmark.core.values.call import Reply
from evalmark.core.values.score import Direction, Score

from .judge_calls import JudgeReply, ask_repeatedly
from .measure import Measure
from .metric import MetricFile
from .question import MAX_REPLY_CHARS, Question
from .replies import ReplyFault, reply_text
from .verdict import Verdict
from .weighting import Scale, WeightedScore, weighted_score

NO_REASON = "the judge gave no reason"


async def score_output(
    judge: ChatModel,
    question: Question,
    read: Callable[[Reply], Verdict | ReplyFault],
    metric: MetricFile,
    repeat: int,
) -> Score:
    """Ask the judge `repeat` times; the score is `unscored` if a reply cannot be used."""
    replies = await ask_repeatedly(judge, question, read, repeat)
    detail = call_details(replies, judge.name, question)
    unusable = unusable_reply_score(metric.name, replies[-1], detail, metric.direction)
    return unusable or _combined_score(replies, metric, detail)


def call_details(replies: Sequence[JudgeReply[Any]], judge: str, question: Question) -> dict[str, Any]:
    """Return the details of the calls for the score, whatever their result."""
    cut = {"cut": question.cut} if question.cut else {}
    return {
        "judge": judge,
        "calls": [key for one in replies for key in one.calls],
        "form": replies[-1].reply.form,
        "repaired": any(one.repaired for one in replies),
        **cut,
    }


def unusable_reply_score(
    name: str, last: JudgeReply[Any], detail: Mapping[str, Any], direction: Direction = "higher"
) -> Score | None:
    """Return the `unscored` score of an output if the last reply cannot be used, else None."""
    if last.fault is None:
        return None
    return Score(
        name=name,
        status="unscored",
        direction=direction,
        reason=f"the judge gave no usable verdict, also on the second attempt: {last.fault.sentence}",
        detail={**detail, "unscored": last.fault.kind, "said": reply_text(last.reply)[:MAX_REPLY_CHARS]},
    )


def _combined_score(replies: Sequence[JudgeReply[Verdict]], metric: MetricFile, detail: dict[str, Any]) -> Score:
    verdicts = [one.found for one in replies if one.found is not None]
    raws = [verdict.raw for verdict in verdicts]
    found = {"verdict": raws[0], **detail}
    if len(raws) > 1:
        found |= {"verdict": Counter(raws).most_common(1)[0][0], "verdicts": raws, "flipped": len(set(raws)) > 1}
    if metric.measure.kind == "choice" and (meaning := metric.measure.options[found["verdict"]].meaning):
        found["meaning"] = meaning
    numbers: list[Any] = raws
    if metric.weighted:
        numbers, how = _weighted_numbers(replies, raws, metric.measure)
        found |= how
    values = [metric.measure.value_of(number) for number in numbers]
    known = [value for value in values if value is not None]
    reason = _reason(verdicts, found)
    if len(known) < len(values):  # the judge chose an option that says it cannot tell
        abstained = {**found, "unscored": "judge_abstained"}
        return Score(name=metric.name, status="unscored", direction=metric.direction, reason=reason, detail=abstained)
    value = sum(known) / len(known)
    return Score(
        name=metric.name,
        raw=_raw(numbers, metric.measure, found["verdict"]),
        value=value,
        direction=metric.direction,
        passed=value > 0.5 if metric.measure.kind == "boolean" else None,
        reason=reason,
        detail=found,
    )


def _raw(numbers: Sequence[Any], measure: Measure, usual: Any) -> Any:
    """Combine several verdicts in the judge's own unit."""
    if measure.kind == "boolean":
        return sum(numbers) * 2 > len(numbers)
    if measure.kind == "choice" or len(set(numbers)) == 1:
        return usual if measure.kind == "choice" else numbers[0]
    return sum(numbers) / len(numbers)


def _reason(verdicts: Sequence[Verdict], found: Mapping[str, Any]) -> str:
    usual = next(verdict for verdict in verdicts if verdict.raw == found["verdict"])
    reason = usual.reason.strip() or NO_REASON
    if not found.get("flipped"):
        return reason
    all_verdicts = ", ".join(_format_verdict(verdict.raw) for verdict in verdicts)
    return f"asked {count(len(verdicts), 'time')}, the judge said {all_verdicts}; {_format_verdict(usual.raw)} because: {reason}"


def _format_verdict(raw: Any) -> str:
    if isinstance(raw, bool):
        return "yes" if raw else "no"
    return f"{raw:g}" if isinstance(raw, float) else str(raw)


def _weighted_numbers(
    replies: Sequence[JudgeReply[Verdict]], raws: Sequence[int], measure: Measure
) -> tuple[list[float], dict[str, Any]]:
    """Return the expected scores if the endpoint gave probabilities, else the plain numbers and the reason."""
    scale = Scale(measure.low, measure.high)
    found = [
        "the endpoint does not support log probabilities"
        if one.without_logprobs
        else weighted_score(one.reply, measure.key, raw, scale)
        for one, raw in zip(replies, raws, strict=True)
    ]
    if plain := [why for why in found if isinstance(why, str)]:
        # A mean of weighted and plain numbers would be neither.
        return list(raws), {"weighting": f"plain: {plain[0]}"}
    expected = [one for one in found if isinstance(one, WeightedScore)]
    mass = min(one.mass for one in expected)
    return [one.score for one in expected], {"weighting": "logprobs", "mass": round(mass, 6)}
