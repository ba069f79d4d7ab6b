"""Says which of several targets is the best, as far as tests of each pair decide it."""

from dataclasses import dataclass

from evalmark.stats.inference.differences import Difference, Outcome

from .trade_offs import TradeOffs


@dataclass(frozen=True, slots=True, kw_only=True)
class BestTarget:
    """The target of the highest quality, and how it compares with each other one; targets by their positions in the rows."""

    leader: int
    rival: int
    """The one of the highest quality among those that keep the leader from being the best; otherwise among all others."""
    difference: Difference | None
    """Of the leader from the rival; None without a common case."""
    leads: bool
    """Whether no target has a higher quality. A target that is better on common cases may have a lower one over its own cases."""
    is_next: bool
    """Whether no target but the leader has a higher quality than the rival."""
    by_outcome: dict[Outcome, tuple[int, ...]]
    """The other targets by how the leader compares with them, the highest quality first."""
    unknown: tuple[int, ...]
    """The targets without a verdict or score."""

    @property
    def outcome(self) -> Outcome:
        """`better` if one target is better than every other, `same` if no other is better but some are the same, else `cannot tell`."""
        if self.by_outcome["worse"] or self.by_outcome["cannot tell"]:
            return "cannot tell"
        return "same" if self.by_outcome["same"] else "better"


def best_target(found: TradeOffs) -> BestTarget | None:
    """Return the best of several targets; None if fewer than two have a quality."""
    sign = 1 if found.direction == "higher" else -1
    known = [(sign * row.quality, number) for number, row in enumerate(found.rows) if row.quality is not None]
    if len(known) < 2:
        return None
    ranked = [number for _, number in sorted(known, key=lambda one: -one[0])]
    outcomes = {number: _outcomes(found, number, ranked) for number in ranked}
    leader = next((number for number in ranked if set(outcomes[number].values()) == {"better"}), ranked[0])
    others = [number for number in ranked if number != leader]
    by_outcome: dict[Outcome, tuple[int, ...]] = {
        outcome: tuple(number for number in others if outcomes[leader][number] == outcome)
        for outcome in ("worse", "cannot tell", "same", "better")
    }
    doubts = sorted((*by_outcome["worse"], *by_outcome["cannot tell"]), key=ranked.index)
    rival = (doubts or by_outcome["same"] or others)[0]
    quality = {number: value for value, number in known}
    return BestTarget(
        leader=leader,
        rival=rival,
        difference=found.difference(leader, rival),
        leads=quality[leader] == max(quality.values()),
        is_next=quality[rival] == max(quality[number] for number in others),
        by_outcome=by_outcome,
        unknown=tuple(number for number, row in enumerate(found.rows) if row.quality is None),
    )


def _outcomes(found: TradeOffs, leader: int, every: list[int]) -> dict[int, Outcome]:
    differences = {number: found.difference(leader, number) for number in every if number != leader}
    return {number: "cannot tell" if one is None else one.outcome for number, one in differences.items()}
