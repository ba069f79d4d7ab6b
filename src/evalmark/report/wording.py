"""Numbers and verdicts as a person reads them; shared by every report for people."""

from collections.abc import Iterable, Mapping, Sequence

from evalmark.stats import GateVerdict, Group, Interval, MetricSummary, Share, Summary
from evalmark.values import Result, Run, Score, count

from .cleaning import clean, one_line

DASH = "\u2013"
GAP = DASH
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


def facts(run: Run, summary: Summary) -> list[str]:
    """The run in a few words each: what, how many, how long."""
    total = summary.total
    found = [f"target {clean(run.target)}" if run.target else "", count(total.trials, "trial")]
    if total.cases != total.trials:
        found.append(count(total.cases, "case"))
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
    """A group's dataset, and its target where there are several."""
    several = len({other.target for other in summary.groups}) > 1
    parts = [group.dataset or "cases", group.target if several else ""]
    return " on ".join(one_line(part) for part in parts if part)


def methods(metrics: Iterable[MetricSummary]) -> list[str]:
    """Every way an interval was found, each once, in the order met."""
    return list(dict.fromkeys(metric.interval.method for metric in metrics))


def name_of(result: Result, run: Run | None = None) -> str:
    """A trial's case, its dataset where the run has several, and its repeat where it is not the first."""
    trial = result.trial
    several = run is not None and len(run.datasets) > 1
    more = [one_line(trial.dataset, 200) if several else "", f"repeat {trial.repeat + 1}" if trial.repeat else ""]
    said = ", ".join(part for part in more if part)
    return (one_line(trial.case.id, 200) or f"case {trial.position + 1}") + (f" ({said})" if said else "")


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


def standing(score: Score, thresholds: Mapping[str, float | None]) -> str:
    """A score's value against its threshold, or its status when it has none."""
    if score.status != "scored":
        return score.status
    if score.value is None:
        return figure(score.raw, "raw") if isinstance(score.raw, float) else one_line(score.raw, 40)
    limit = thresholds.get(score.name)
    if limit is None or score.passed is None:
        return figure(score.value)
    sign = {("higher", True): "≥", ("higher", False): "<", ("lower", True): "≤", ("lower", False): ">"}
    return f"{figure(score.value)} {sign[score.direction, score.passed]} {limit:g}"


def thresholds(run: Run) -> dict[str, float | None]:
    """The threshold per case of each metric."""
    return {metric.name: metric.threshold for metric in run.metrics}


def unsupported(score: Score) -> dict[str, str]:
    """The sentences of an answer that a scorer found no support for, each with the context closest to it."""
    sentences = score.detail.get("sentences")
    if not isinstance(sentences, (list, tuple)):
        return {}
    found = (s for s in sentences if isinstance(s, Mapping) and s.get("supported") is False)
    return {text: _closest(s) for s in found if isinstance(text := s.get("sentence"), str) and text.strip()}


def _closest(sentence: Mapping[str, object]) -> str:
    """Which context comes closest to a sentence, counted from 1, and how close; nothing where nobody says."""
    context, cosine = sentence.get("context"), sentence.get("similarity")
    if type(context) is not int or not isinstance(cosine, (int, float)):
        return ""
    return f"closest is context {context + 1}, cosine {cosine:.3f}"
