"""What calls of models came to, and how that is added up."""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from operator import attrgetter

from .call import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What a run's model calls came to."""

    model: str
    """As the user named it."""
    calls: int = 0
    """Requests that were answered and paid for, in all passes of the run."""
    replayed: int = 0
    """Requests answered from the journal, in all passes of the run that came to their end."""
    failed: int = 0
    """Requests that ended in an error after all attempts."""
    repeated: int = 0
    """Requests that were under way when the run broke off, and were sent again."""
    attempts: int = 0
    """Requests that were sent again after one that failed."""
    input_tokens: int = 0
    output_tokens: int = 0
    unknown_usage: int = 0
    """Calls whose tokens the provider did not report; the sums leave them out."""
    cost: float | None = None
    """US dollars of the calls whose price is known; None when none is."""
    unknown_cost: int = 0
    """Calls whose price is not known; `cost` leaves them out."""


_NUMBERS = tuple(field.name for field in fields(Spending) if field.name not in ("model", "cost"))
_numbers = attrgetter(*_NUMBERS)


def total_spending(spent: Iterable[Spending], model: str = "") -> Spending:
    """All of it in one sum; its cost is that of the calls whose price is known.

    >>> total_spending([Spending(model="a", calls=1, cost=0.5), Spending(model="b", calls=2, unknown_cost=2)])
    Spending(model='', calls=3, replayed=0, failed=0, repeated=0, attempts=0, input_tokens=0, output_tokens=0, \
unknown_usage=0, cost=0.5, unknown_cost=2)
    """
    each = list(spent)
    known = [one.cost for one in each if one.cost is not None]
    sums = map(sum, zip(*map(_numbers, each), strict=True))
    # Of nothing there are no sums, and all are 0 then.
    return Spending(model=model, cost=sum(known) if known else None, **dict(zip(_NUMBERS, sums, strict=False)))


def spending_by_model(spent: Iterable[Spending]) -> tuple[Spending, ...]:
    """One sum for each model, in the order in which they are met.

    >>> [(one.model, one.calls) for one in spending_by_model(Spending(model=name, calls=1) for name in "abb")]
    [('a', 1), ('b', 2)]
    """
    found: dict[str, list[Spending]] = {}
    for one in spent:
        found.setdefault(one.model, []).append(one)
    return tuple(total_spending(each, model) for model, each in found.items())


def subtract_spending(spent: Spending, before: Spending) -> Spending:
    """What came after `before`, which is part of `spent`; its cost is unknown where no call since has a known price.

    >>> earlier = Spending(model="a", calls=1, cost=0.5)
    >>> subtract_spending(Spending(model="a", calls=3, cost=0.5, unknown_cost=2), earlier).cost
    >>> subtract_spending(Spending(model="a", calls=3, cost=0.75), earlier).cost
    0.25
    """
    since = replace(spent, **{name: getattr(spent, name) - getattr(before, name) for name in _NUMBERS})
    if spent.cost is None or since.calls == since.unknown_cost:
        return replace(since, cost=None)
    return replace(since, cost=spent.cost - (before.cost or 0.0))


def spending_of_reply(model: str, reply: Reply) -> Spending:
    """What one reply adds that was paid for.

    >>> spending_of_reply("a", Reply(text="4")).unknown_usage
    1
    """
    read, written = reply.usage.input_tokens, reply.usage.output_tokens
    known = read is not None and written is not None
    return Spending(
        model=model,
        calls=1,
        attempts=len(reply.attempts),
        input_tokens=(read or 0) if known else 0,
        output_tokens=(written or 0) if known else 0,
        unknown_usage=int(not known),
        cost=reply.cost,
        unknown_cost=int(reply.cost is None),
    )
