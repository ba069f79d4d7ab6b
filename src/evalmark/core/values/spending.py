"""The calls, tokens and cost of models, and their sums."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter

from .call import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """The calls, tokens and cost of one model in a run."""

    model: str
    """The name the user gave."""
    calls: int = 0
    """Requests that got a reply and were paid for, in all passes of the run."""
    replayed: int = 0
    """Requests with a cached reply, in all completed passes of the run."""
    failed: int = 0
    """Requests that failed after all attempts."""
    repeated: int = 0
    """Requests that were in flight when the run was interrupted, and were sent again."""
    attempts: int = 0
    """Retries after failed attempts."""
    input_tokens: int = 0
    output_tokens: int = 0
    unknown_usage: int = 0
    """Calls without reported tokens; the sums leave them out."""
    cost: float | None = None
    """US dollars of the calls with a known price; None if there are none."""
    unknown_cost: int = 0
    """Calls with an unknown price; `cost` leaves them out."""
    is_model: bool = field(default=True, repr=False)
    """Whether it is a model: an HTTP service or a command under test is none, and few report tokens or a cost."""


_NUMBERS = tuple(one.name for one in fields(Spending) if one.name not in ("model", "cost", "is_model"))
_numbers = attrgetter(*_NUMBERS)


def total_spending(spent: Iterable[Spending], model: str = "") -> Spending:
    """Add up several spendings; the cost is that of the calls with a known price.

    >>> total_spending([Spending(model="a", calls=1, cost=0.5), Spending(model="b", calls=2, unknown_cost=2)])
    Spending(model='', calls=3, replayed=0, failed=0, repeated=0, attempts=0, input_tokens=0, output_tokens=0, \
unknown_usage=0, cost=0.5, unknown_cost=2)
    """
    each = list(spent)
    known = [one.cost for one in each if one.cost is not None]
    sums = map(sum, zip(*map(_numbers, each), strict=True))
    # Without any spending there are no sums, and every field keeps its default 0.
    is_model = all(one.is_model for one in each)
    cost = sum(known) if known else None
    return Spending(model=model, cost=cost, is_model=is_model, **dict(zip(_NUMBERS, sums, strict=False)))


def priced_spending(spent: Iterable[Spending]) -> list[Spending]:
    """Leave out HTTP services and commands that report no cost: only calls to models are expected to have one.

    >>> [one.model for one in priced_spending([Spending(model="a"), Spending(model="b", is_model=False)])]
    ['a']
    """
    return [one for one in spent if one.is_model or one.cost is not None]


def known_cost(spent: Spending) -> float | None:
    """Return the US dollars of the calls with a known price: 0 if no call was paid for; None if every price is unknown.

    >>> known_cost(Spending(model="a", replayed=40)), known_cost(Spending(model="a", calls=1, unknown_cost=1))
    (0.0, None)
    """
    # What failed may have been paid for.
    return 0.0 if spent.cost is None and not (spent.calls or spent.failed) else spent.cost


def spending_by_model(spent: Iterable[Spending]) -> tuple[Spending, ...]:
    """Add up the spending of each model, in order of first appearance.

    >>> [(one.model, one.calls) for one in spending_by_model(Spending(model=name, calls=1) for name in "abb")]
    [('a', 1), ('b', 2)]
    """
    found: dict[str, list[Spending]] = {}
    for one in spent:
        found.setdefault(one.model, []).append(one)
    return tuple(total_spending(each, model) for model, each in found.items())


def subtract_spending(spent: Spending, before: Spending) -> Spending:
    """Subtract an earlier spending; the cost is None if no call since then has a known price.

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
    """Return the spending of one paid reply.

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
