"""Numbers and verdicts as a person reads them; shared by every report for people."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalmark.stats import GateVerdict, Group, Interval, MetricSummary, Share, Summary, scale_ends
from evalmark.values import Metric, Result, Run, Score, count

from .cleaning import clean, one_line

DASH = "\u2013"
GAP = DASH
_FEW_WORDS = 32
"""Characters of an input that stand beside an id."""
BLOCKS = "▁▂▃▄▅▆▇█"
ASCII_BLOCKS = "_.:-=+*#"


def outcome(verdict: GateVerdict) -> str:
    """The verdict in a word or two."""
    if not verdict.gated:
        return "not gated"
    return {"pass": "passed", "fail": "failed", "cannot tell": "cannot tell"}[verdict.outcome]


def figure(number: float | None, unit: str = "") -> str:
    """Three decimals from 0 to 1, four digits in any other unit.

    >>> figure(0.61275), figure(12345.6, "edits")
    ('0.613', '12,346')
    """
    if number is None:
        return GAP
    if not unit:
        return f"{number:.3f}"
    return f"{number:,.0f}" if 1000 <= abs(number) < 1e9 else f"{number:.4g}"


def percent(share: float | None) -> str:
    """A share as a percentage that says 100 % and 0 % only when it is so.

    >>> percent(0.9), percent(0.9999), percent(1)
    ('90 %', '99.9 %', '100 %')
    """
    if share is None:
        return GAP
    if 0 < share < 1:
        return f"{min(99.9, max(0.1, 100 * share)):.3g} %"
    return f"{100 * share:.3g} %"


def placed(number: float, unit: str) -> str:
    """A verdict on a scale with known ends.

    >>> placed(2, "1..5"), placed(3.7419, "1..5"), placed(85.0, "%")
    ('2 of 1..5', '3.74 of 1..5', '85 of 100')
    """
    said = f"{number:.0f}" if number == int(number) else on_scale(number, unit)
    return f"{said} of {_ends(unit)}"


def on_scale(number: float, unit: str) -> str:
    """A mean on a scale with known ends, which it is said to reach only when it does.

    Two decimals on a scale of up to 20 steps; one on a longer one, and none there when it is whole.

    >>> on_scale(4.999, "1..5"), on_scale(5, "1..5"), on_scale(99.99, "%"), on_scale(85, "%")
    ('4.99', '5.00', '99.9', '85')
    """
    low, high = scale_ends(unit) or (number, number)
    decimals = 2 if high - low <= 20 else 1
    if low < number < high:
        step = 10.0**-decimals
        number = min(high - step, max(low + step, number))
    return f"{number:.0f}" if decimals == 1 and number == int(number) else f"{number:.{decimals}f}"


def _ends(unit: str) -> str:
    return "100" if unit == "%" else unit


def interval(found: Interval, unit: str = "") -> str:
    """Both ends of an interval."""
    return f"{figure(found.low, unit)} {DASH} {figure(found.high, unit)}" if found.known else GAP


def share_interval(found: Interval) -> str:
    """Both ends of an interval of a share, as percentages."""
    if found.low is None or found.high is None:
        return GAP
    return f"{100 * found.low:.1f} {DASH} {100 * found.high:.1f} %"


def share(found: Share) -> str:
    """So many of so many."""
    return f"{found.passed}/{found.n}" if found.n else GAP


def so_many(found: Share, noun: str) -> str:
    """So many of so many, as a share with its interval."""
    return f"{found.passed:,} of {count(found.n, noun)}, {percent(found.value)} ({share_interval(found.interval)})"


def centre(metric: MetricSummary) -> str:
    """A metric's mean in its own unit, where its scale has known ends; a share of yes; else the mean as it is."""
    if metric.raw_interval is not None and metric.raw_mean is not None:
        return f"{on_scale(metric.raw_mean, metric.raw_unit)} of {_ends(metric.raw_unit)}"
    return percent(metric.mean) if metric.truths else figure(metric.mean, metric.unit)


def behind(metric: MetricSummary) -> str:
    """What stands behind `centre`: the mean from 0 to 1 of a metric on a scale of its own, or the unit of another one."""
    if metric.raw_interval is not None and metric.mean is not None:
        return f"({on_scale(metric.mean, '0..1')})"
    return one_line(metric.unit, 16)


def spread(metric: MetricSummary) -> str:
    """The interval of a metric's mean, in the unit of `centre`."""
    found = metric.raw_interval or metric.interval
    if metric.raw_interval is not None and found.low is not None and found.high is not None:
        return f"{on_scale(found.low, metric.raw_unit)} {DASH} {on_scale(found.high, metric.raw_unit)}"
    return share_interval(found) if metric.truths else interval(found, metric.unit)


def duration(seconds: float | None) -> str:
    """Seconds in a unit that fits."""
    if seconds is None:
        return GAP
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 600 else f"{seconds / 60:.3g} min"


def bars(bins: Sequence[int], blocks: str = BLOCKS) -> str:
    """How scores spread, one character a step: the lowest block where there is none.

    >>> bars([0, 1, 2, 4])
    '▁▃▅█'
    """
    top = max(bins, default=0)
    return "".join(blocks[-(-n * (len(blocks) - 1) // top)] if n else blocks[0] for n in bins)


def once(names: Iterable[str]) -> list[str]:
    """The names, empty where one is that of the line before.

    >>> once(["a", "a", "b", "a"])
    ['a', '', 'b', 'a']
    """
    found = list(names)
    return ["" if index and found[index - 1] == name else name for index, name in enumerate(found)]


def facts(run: Run, summary: Summary) -> list[str]:
    """The run in a few words each: what, how many, who judged, how long."""
    total = summary.total
    judges = list(dict.fromkeys(metric.judge for metric in run.metrics if metric.judge))
    found = [f"target {clean(run.target)}" if run.target else "", count(total.trials, "trial")]
    if total.cases != total.trials:
        found.append(count(total.cases, "case"))
    if judges:
        found.append(f"{'judge' if len(judges) == 1 else 'judges'} {one_line(', '.join(judges))}")
    if total.seconds_median is not None:
        found.append(f"{duration(total.seconds_median)} median, {duration(total.seconds_p95)} p95")
    return [fact for fact in found if fact]


def origin(run: Run) -> list[str]:
    """Which run it is, from when, and whether it came to its end."""
    when = one_line(run.created).replace("T", " ").replace("+00:00", " UTC").replace("Z", " UTC")
    return [f"run {one_line(run.id)}", when, *([] if run.status == "complete" else [run.status])]


def endings(group: Group) -> str:
    """How the trials of a group ended, in words."""
    tally, rate = group.tally, group.tally.pass_rate
    found = []
    if rate.n:
        found.append(f"{rate.passed:,} of {rate.n:,} passed, {percent(rate.value)} ({share_interval(rate.interval)})")
    for n, noun in ((tally.errors, "error"), (tally.unscored, "unscored"), (tally.ungated, "ungated")):
        if n:
            found.append(count(n, noun) if noun == "error" else f"{n:,} {noun}")
    if tally.flips:
        found.append(f"{tally.flips:,} of {count(tally.cases, 'case')} flipped between repeats")
    return " · ".join(found)


def title(group: Group, summary: Summary) -> str:
    """A group's dataset, its target where there are several, and whether its rows were turns of a conversation."""
    several = len({other.target for other in summary.groups}) > 1
    parts = [group.dataset or "cases", group.target if several else ""]
    turns = ", turn by turn" if group.mode == "conversation" else ""
    return " on ".join(one_line(part) for part in parts if part) + turns


def methods(metrics: Iterable[MetricSummary]) -> list[str]:
    """Every way an interval was found, each once, in the order met."""
    return list(dict.fromkeys(metric.interval.method for metric in metrics))


def name_of(result: Result, run: Run | None = None) -> str:
    """A trial's case, its dataset where the run has several, its turn in a conversation, and its repeat but for the first."""
    trial = result.trial
    several = run is not None and len(run.datasets) > 1
    more = [
        one_line(trial.dataset, 200) if several else "",
        f"turn {trial.position + 1}" if trial.mode == "conversation" else "",
        f"repeat {trial.repeat + 1}" if trial.repeat else "",
    ]
    said = ", ".join(part for part in more if part)
    return (one_line(trial.case.id, 200) or f"case {trial.position + 1}") + (f" ({said})" if said else "")


def quoted(asked: object) -> str:
    r"""The first words of an input, as they stand behind an id that tells a reader nothing.

    >>> print(quoted("What is the capital\nof Peru, please?") + quoted(""))
     “What is the capital of Peru, pl…”
    """
    words = one_line(asked, _FEW_WORDS)
    return f" \u201c{words}\u201d" if words else ""


def telling(result: Result) -> list[Score]:
    """The scores that decided a trial's verdict; the two lowest where none could."""
    verdict = result.verdict
    if verdict in ("error", "fail"):
        return [s for s in result.scores if s.status == "error" or s.passed is False]
    if verdict == "unscored":
        return [s for s in result.scores if s.status == "unscored"]
    scored = [s for s in result.scores if s.value is not None]
    return sorted(scored, key=_goodness)[:2] if verdict == "ungated" else []


def _goodness(score: Score) -> float:
    value = score.value or 0.0
    return value if score.direction == "higher" else 1 - value


def standing(score: Score, metrics: Mapping[str, Metric]) -> str:
    """What a score says against its threshold, or its status when it has none."""
    metric = metrics.get(score.name)
    if score.status != "scored":
        return score.status
    if score.value is None:
        return figure(score.raw, "raw") if isinstance(score.raw, float) else one_line(score.raw, 40)
    said = verdict_of(score.raw, score.value, metric.unit if metric else "")
    limit = metric.threshold if metric else None
    plain_truth = isinstance(score.raw, bool) and score.raw == score.value
    if limit is None or score.passed is None or plain_truth:
        return said
    sign = {("higher", True): "≥", ("higher", False): "<", ("lower", True): "≤", ("lower", False): ">"}
    return f"{said} {sign[score.direction, score.passed]} {limit:g}"


def verdict_of(raw: object, value: float | None, unit: str) -> str:
    """One verdict as it was given, and its value from 0 to 1 where that is another.

    >>> verdict_of(2, 0.25, "1..5"), verdict_of("D", 0.0, ""), verdict_of(True, 1.0, ""), verdict_of(0.4, 0.4, "")
    ('2 of 1..5 (0.25)', 'D (0.00)', 'yes', '0.400')
    """
    behind = "" if value is None or raw is value else f" ({on_scale(value, '0..1')})"
    if isinstance(raw, bool):
        return ("yes" if raw else "no") + (behind if raw != value else "")
    if isinstance(raw, str):
        return f"{one_line(raw, 40)}{behind}"
    if isinstance(raw, (int, float)) and _is_placed(raw, value, unit):
        return f"{placed(raw, unit)}{behind}"
    return figure(value) if value is not None or raw is None else one_line(raw, 40)


def _is_placed(raw: float, value: float | None, unit: str) -> bool:
    """Whether a value is the place of a raw number on the scale of its unit."""
    ends = scale_ends(unit)
    if ends is None or value is None or ends == (0, 1) or not abs(raw) < 1e15:
        return False
    return abs(ends[0] + value * (ends[1] - ends[0]) - raw) <= 1e-6 * (ends[1] - ends[0])


def metrics_of(run: Run | None) -> dict[str, Metric]:
    """The metrics of a run by their names."""
    return {metric.name: metric for metric in run.metrics} if run else {}


def unsupported(score: Score) -> dict[str, str]:
    """What an answer says without support: sentences with the context closest to each, claims with what the judge says."""
    sentences = {text: _closest(row) for row, text in _without_support(score.detail.get("sentences"), "sentence")}
    claims = {text: one_line(row.get("reason")) for row, text in _without_support(score.detail.get("claims"), "claim")}
    return sentences | claims


def _without_support(rows: object, field: str) -> Iterable[tuple[Mapping[str, Any], str]]:
    for row in rows if isinstance(rows, (list, tuple)) else ():
        text = row.get(field) if isinstance(row, Mapping) and row.get("supported") is False else None
        if isinstance(text, str) and text.strip():
            yield row, text


def _closest(sentence: Mapping[str, object]) -> str:
    """Which context comes closest to a sentence, counted from 1, and how close; nothing where nobody says."""
    context, cosine = sentence.get("context"), sentence.get("similarity")
    if type(context) is not int or not isinstance(cosine, (int, float)):
        return ""
    return f"closest is context {context + 1}, cosine {cosine:.3f}"
