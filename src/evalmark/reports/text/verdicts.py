"""Text of the verdicts on gates, groups of trials, trials and scores."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from evalmark.core.text import clean, count, one_line
from evalmark.core.values.case import Output
from evalmark.core.values.run import Gate, Metric
from evalmark.core.values.score import Result, Score, Verdict
from evalmark.stats.summary.gate import GateVerdict
from evalmark.stats.summary.metric_summary import scale_ends
from evalmark.stats.summary.summary import TrialCounts

from .numbers import limit_text, number_text, percent, scale_mean, scale_value, share_interval, value_beside, with_minus

ERROR_FIELDS = ("raised_at", "traceback")
"""Metadata fields that locate an error."""


def raised_at(item: Output | Score) -> str:
    """` (file:line)` of the user's code that raised the error; empty if unknown.

    >>> raised_at(Output(error="NameError", metadata={"raised_at": "bot.py:3"})), raised_at(Output(error="no answer"))
    (' (bot.py:3)', '')
    """
    location = _error_metadata(item).get("raised_at")
    return f" ({one_line(location, 200)})" if isinstance(location, str) and location else ""


def traceback_of(item: Output | Score) -> str:
    """The traceback of an error by the user's frames; empty where there is none."""
    text = _error_metadata(item).get("traceback")
    return clean(text) if isinstance(text, str) else ""


def _error_metadata(item: Output | Score) -> Mapping[str, Any]:
    """Return the metadata of an error; empty if there was no error."""
    if isinstance(item, Score):
        return item.detail if item.status == "error" else {}
    return item.metadata if item.error is not None else {}


TWINS = ("answer_relevance", "answer_correctness")
"""Two metric names of one number."""


def gate_outcome(verdict: GateVerdict) -> str:
    """The verdict as one or two words."""
    if not verdict.gated:
        return "not gated" if verdict.scored else "not scored"
    return {"pass": "passed", "fail": "failed", "cannot tell": "cannot tell"}[verdict.outcome]


def tally_text(tally: TrialCounts, gate: Gate | None = None, *, has_metrics: bool = True) -> str:
    """Count how trials ended: passed, errors, unscored, ungated, flipped.

    The pass rate shows on which side of the gate it is. Without metrics, ungated trials are called outputs.
    """
    rate, parts = tally.pass_rate, []
    if rate.n:
        passed = percent(rate.value, gate.min_pass_rate if gate else None)
        parts.append(f"{rate.passed:,} of {rate.n:,} passed, {passed} ({share_interval(rate.interval)})")
    for n, noun in (
        (tally.errors, "error"),
        (tally.unscored, "unscored"),
        (tally.ungated, "ungated" if has_metrics else "output"),
    ):
        if n:
            parts.append(count(n, noun) if noun in ("error", "output") else f"{n:,} {noun}")
    if tally.flips:
        parts.append(f"{tally.flips:,} of {count(tally.judged_twice or 0, 'case')} flipped between repeats")
    return " · ".join(parts)


def shown_scores(result: Result) -> list[Score]:
    """Return the scores of a result without those skipped because there is no output."""
    return [score for score in result.scores if result.output.error is None or score.status != "skipped"]


def deciding_scores(result: Result, missed: Collection[str] = ()) -> list[Score]:
    """List the scores that decided a trial's verdict; scores of metrics in `missed` come first."""
    decided = [] if missed and result.verdict == "ungated" else _main_scores(result)
    return [*(s for s in result.scores if s.name in missed and s not in decided), *decided]


def _main_scores(result: Result) -> list[Score]:
    """Deciding scores; of an ungated trial the two worst."""
    verdict = result.verdict
    if verdict in ("error", "fail"):
        return [s for s in result.scores if s.status == "error" or s.passed is False]
    if verdict == "unscored":
        return [s for s in result.scores if s.status == "unscored"]
    scored = [s for s in without_twins(result.scores) if s.value is not None]
    return sorted(scored, key=lambda s: (not unsupported_claims(s), _goodness(s)))[:2] if verdict == "ungated" else []


def without_twins(scores: Iterable[Score]) -> list[Score]:
    """Drop the second name of a number that has two metric names."""
    listed = list(scores)
    values = [score.value for score in listed if score.name in TWINS]
    twice = len(values) == len(TWINS) and len(set(values)) == 1
    return [score for score in listed if not (twice and score.name == TWINS[0])]


def verdict_reasons(result: Result, metrics: Mapping[str, Metric]) -> list[str]:
    """Reasons for a trial's verdict: its error, then each deciding score."""
    reasons = [
        f"{one_line(score.name)}: {score_text(score, metrics)}. {clean(score.reason)}{raised_at(score)}".strip()
        for score in deciding_scores(result)
    ]
    return reasons if result.output.error is None else [clean(result.output.error) + raised_at(result.output), *reasons]


def verdict_cause(result: Result) -> tuple[str, list[Score]]:
    """Return the beginning of a sentence that says why a trial ended as it did, and the scores that complete it.

    >>> from evalmark.core.values.case import Case
    >>> from evalmark.core.values.score import Trial
    >>> failed = Score(name="similarity", value=0.4, passed=False)
    >>> cause, scores = verdict_cause(Result(trial=Trial(case=Case(id="1")), output=Output(value="Oslo"), scores=(failed,)))
    >>> cause, [score.name for score in scores]
    ('Failed because of', ['similarity'])
    """
    verdict = result.verdict
    if verdict == "pass":
        passed = sum(score.passed is True for score in result.scores)
        return f"Passed: {count(passed, 'score')} that can fail, and none failed.", []
    if verdict == "ungated":
        return "Neither passed nor failed: no score has a threshold." if result.scores else "", []
    if result.output.error is not None:
        return "The target raised an error, so there is no output to score.", []
    scores = deciding_scores(result)
    broken = [score for score in scores if score.status == "error"]
    if broken:
        return "Error: no score from", broken
    return "Failed because of" if verdict == "fail" else "Not decided: no score from", scores


def threshold_text(score: Score, metric: Metric | None) -> str:
    """Write the threshold of a score with its direction; empty if it has none.

    >>> threshold_text(Score(name="edits", value=0.1, direction="lower"), Metric(name="edits", threshold=0.2))
    '≤ 0.2'
    """
    if metric is None or metric.threshold is None:
        own = {} if metric is None else metric.own_thresholds
        return ", ".join(f"{name} {value:g}" for name, value in own.items())
    sign = "≤" if score.direction == "lower" else "≥"
    return f"{sign} {metric.threshold:g}"


def missed_threshold(score: Score, metric: Metric | None) -> str:
    """Return the end of a sentence that says how a score misses the threshold of its metric; empty if it has none.

    >>> missed_threshold(Score(name="edits", value=0.3, passed=False, direction="lower"), Metric(name="edits", threshold=0.2))
    ', above its threshold of 0.2'
    """
    if metric is None or metric.threshold is None or score.passed is not False:
        return ""
    return f", {'above' if score.direction == 'lower' else 'below'} its threshold of {metric.threshold:g}"


def _goodness(score: Score) -> float:
    value = score.value or 0.0
    return value if score.direction == "higher" else 1 - value


def score_text(score: Score, metrics: Mapping[str, Metric]) -> str:
    """Format a score with its threshold, or its status if it was not scored."""
    metric = metrics.get(score.name)
    if score.status != "scored":
        return score.status
    if score.value is None:
        return number_text(score.raw, "raw") if isinstance(score.raw, float) else one_line(score.raw, 40)
    limit = metric.threshold if metric else None
    text = value_text(score.raw, score.value, metric.unit if metric else "", limit)
    plain_truth = isinstance(score.raw, bool) and score.raw == score.value
    if limit is None or score.passed is None or plain_truth:
        return text
    sign = {("higher", True): "≥", ("higher", False): "<", ("lower", True): "≤", ("lower", False): ">"}
    return f"{text} {sign[score.direction, score.passed]} {limit:g}"


def value_text(raw: object, value: float | None, unit: str, limit: float | None = None) -> str:
    """Format a raw value, with the normalized value from 0 to 1 if it differs, so that it shows on which side of a `limit` it is.

    >>> value_text(2, 0.25, "1..5"), value_text("D", 0.0, ""), value_text(True, 1.0, ""), value_text(0.4, 0.4, "")
    ('2 of 1..5 (0.25)', 'D (0.00)', 'yes', '0.400')
    """
    behind = "" if value is None or raw is value else f" ({_position(value, limit)})"
    if isinstance(raw, bool):
        return ("yes" if raw else "no") + (behind if raw != value else "")
    if isinstance(raw, str):
        return f"{one_line(raw, 40)}{behind}"
    if isinstance(raw, (int, float)) and _is_placed(raw, value, unit):
        return f"{scale_value(raw, unit)}{behind}"
    if value is not None:
        return value_beside(value, limit)
    return number_text(None) if raw is None else one_line(raw, 40)


def _position(value: float, limit: float | None) -> str:
    if limit is None or not 0 < value < 1:
        return scale_mean(value, "0..1")
    return value_beside(value, limit, decimals=2)


def _is_placed(raw: float, value: float | None, unit: str) -> bool:
    """Return whether a value is the raw number mapped to 0 to 1 by its scale."""
    ends = scale_ends(unit)
    if ends is None or value is None or ends == (0, 1) or not abs(raw) < 1e15:
        return False
    return abs(ends[0] + value * (ends[1] - ends[0]) - raw) <= 1e-6 * (ends[1] - ends[0])


def unsupported_claims(score: Score) -> dict[str, str]:
    """Map unsupported sentences to their closest context, and unsupported claims to the judge's reason."""
    sentences = {text: _closest(row) for row, text in _without_support(score.detail.get("sentences"), "sentence")}
    claims = {text: one_line(row.get("reason")) for row, text in _without_support(score.detail.get("claims"), "claim")}
    return sentences | claims


def _without_support(rows: object, field: str) -> Iterable[tuple[Mapping[str, Any], str]]:
    for row in rows if isinstance(rows, (list, tuple)) else ():
        text = row.get(field) if isinstance(row, Mapping) and row.get("supported") is False else None
        if isinstance(text, str) and text.strip():
            yield row, text


def _closest(sentence: Mapping[str, object]) -> str:
    """Name the context closest to a sentence, counted from 1; empty if unknown."""
    context, cosine = sentence.get("context"), sentence.get("similarity")
    if type(context) is not int or not isinstance(cosine, (int, float)):
        return ""
    return f"closest is context {context + 1}, cosine {with_minus(f'{cosine:z.3f}')}"


def short_score(score: Score, metric: Metric | None) -> str:
    """Format a score for a table cell, without its threshold.

    >>> short_score(Score(name="similarity", raw=0.41, value=0.41), None)
    '0.410'
    """
    if score.status != "scored":
        return score.status
    return value_text(score.raw, score.value, metric.unit if metric else "", metric.threshold if metric else None)


def column_note(metric: Metric | None) -> str:
    """Return what the head of a column of scores says below its name: their scale, if it is no share, and their threshold."""
    if metric is None:
        return ""
    limit = "" if metric.threshold is None else limit_text(metric.direction, metric.threshold)
    return ", ".join(filter(None, (metric.unit if scale_ends(metric.unit) else "", limit)))


def column_score(score: Score, metric: Metric | None) -> str:
    """Format a score for a column whose head names the scale.

    >>> column_score(Score(name="helpful", raw=4, value=0.75), Metric(name="helpful", unit="1..5"))
    '4 (0.75)'
    """
    text = short_score(score, metric)
    return text.replace(f" of {metric.unit}", "", 1) if metric and scale_ends(metric.unit) else text


def score_kind(score: Score) -> Verdict | str:
    """Return the kind of a score that selects its sign and colour."""
    if score.status != "scored":
        return score.status
    return {True: "pass", False: "fail", None: "ungated"}[score.passed]
