"""Text of which of several targets is the best."""

from collections.abc import Sequence
from typing import NamedTuple

from evalmark.core.text import count, one_line, without_shared_words
from evalmark.stats.comparison.best_target import BestTarget, best_target
from evalmark.stats.comparison.trade_offs import TradeOff, TradeOffs
from evalmark.stats.inference.differences import Outcome

from .comparison import p_value_text
from .numbers import mean_number, more_cases, percent
from .trade_offs import column_difference


class BestTargetText(NamedTuple):
    """Which target is the best: a few words, and a sentence with the difference and its interval."""

    outcome: Outcome
    headline: str
    sentence: str
    note: str
    """How it was tested."""
    pair: tuple[TradeOff, TradeOff]
    """The targets that the sentence compares, the one with the higher quality first."""


def best_target_text(found: TradeOffs, names: Sequence[str] = ()) -> BestTargetText | None:
    """Describe which target is the best; None if fewer than two have a verdict or score.

    Args:
        found: the targets and their differences.
        names: what the targets are called; without any, by the names of the rows. Words that all have are left out.
    """
    best = best_target(found)
    if best is None:
        return None
    called = [one_line(name, 60) for name in without_shared_words(names or [row.name for row in found.rows])]
    headlines: dict[Outcome, str] = {
        "better": f"{called[best.leader]} is best",
        "same": "No target is the only best",
        "cannot tell": "Cannot tell which target is best",
    }
    parts = [_lead(best, found, called), *_doubts(best), *_others(best, called)]
    return BestTargetText(
        outcome=best.outcome,
        headline=headlines[best.outcome],
        sentence=f"{'; '.join(parts)}.",
        note=_note(found),
        pair=(found.rows[best.leader], found.rows[best.rival]),
    )


def _lead(best: BestTarget, found: TradeOffs, called: Sequence[str]) -> str:
    """Describe the quality of the leader and its difference from the rival."""
    leader, rival = (_quality(found, number) for number in (best.leader, best.rival))
    of = f"mean of {one_line(found.metric, 60)}" if found.metric else "pass rate"
    extreme = "lowest" if found.direction == "lower" else "highest"
    name = "It" if best.outcome == "better" else called[best.leader]
    first = f"{name} has the {extreme} {of}, {leader}" if best.leads else f"{name} has a {of} of {leader}"
    is_tied = best.leads and found.rows[best.leader].quality == found.rows[best.rival].quality
    if is_tied:
        first = f"{called[best.leader]} and {called[best.rival]} have the {extreme} {of}, {leader}"
    against = f"{'the next, ' if best.is_next else ''}{called[best.rival]} ({rival})"
    if best.difference is None or best.difference.value is None:
        return f"{first}, but no case in common" if is_tied else f"{first}, but has no case in common with {against}"
    if best.difference.is_identical:
        return f"{first}; {column_difference(best.difference, found)}"
    if best.rival in best.by_outcome["worse"]:
        turned = best.difference.swapped
        return f"{first}, but {called[best.rival]} is better where both were judged: {column_difference(turned, found)}"
    margin = f"{best.difference.margin:g}" if found.metric else f"{100 * best.difference.margin:g} points"
    within = f", the same within {margin}" if best.outcome == "same" else ""
    compared = "" if is_tied else f" against {against}"
    return f"{first}: {column_difference(best.difference, found)}{compared}{within}"


def _quality(found: TradeOffs, number: int) -> str:
    quality = found.rows[number].quality
    return mean_number(quality) if found.metric and quality is not None else percent(quality)


def _others(best: BestTarget, called: Sequence[str]) -> list[str]:
    """Describe how the leader compares with the targets that are not the rival: one by its name, several by their number."""
    words: dict[Outcome, str] = {
        "worse": "worse than",
        "cannot tell": "not told apart from",
        "same": "the same as",
        "better": "better than",
    }
    found = []
    for outcome, phrase in words.items():
        rest = [called[number] for number in best.by_outcome[outcome] if number != best.rival]
        if rest:
            found.append(f"{'also ' * (best.rival in best.by_outcome[outcome])}{phrase} {_name_or_count(rest)}")
    unknown = [called[number] for number in best.unknown]
    return [
        *found,
        *([f"{_name_or_count(unknown)} {'has' if len(unknown) == 1 else 'have'} no score"] if unknown else []),
    ]


def _name_or_count(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{len(names):,} others"


def _doubts(best: BestTarget) -> list[str]:
    """Say what would decide between the leader and the rival, if nothing has."""
    one = best.difference
    if one is None or best.outcome != "cannot tell":
        return []
    if one.judged_outcome != one.outcome:
        return [f"{count(one.missing, 'missing result')} could change the verdict"]
    low, high = one.interval.ends or (0.0, 0.0)
    p = one.verdict_p
    chance = [f"it may be chance, p = {p_value_text(p, one.interval.level)}"] if p and not low <= 0 <= high else []
    more = more_cases(one)
    return [*chance, *([f"{more} more cases would decide between the two"] if more else [])]


def _note(found: TradeOffs) -> str:
    if not found.tests:
        return "No two targets differ in a case that both have, so there is nothing to test."
    adjusted = f", p adjusted over {count(found.tests, 'pair')}" if found.tests > 1 else ""
    alone = "; the interval is of this pair alone" if found.tests > 1 else ""
    return f"Tested case by case{adjusted}{alone}."
