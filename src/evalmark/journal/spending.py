"""What the calls of a run came to, added up as they are kept: no call is forgotten, and none counts twice."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from apsw import Connection

from evalmark.database.fields import from_sql, sql_real
from evalmark.values import Call, Spending

from .rows import token_count


class Sums(NamedTuple):
    """What is added up, of one call or of many."""

    calls: int = 0
    failed: int = 0
    repeated: int = 0
    attempts: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    unknown_usage: int = 0
    cost: float | None = None
    unknown_cost: int = 0


_NAMES = Sums._fields
_MORE = ", ".join(f"{name} = {name} + excluded.{name}" for name in _NAMES if name != "cost")
_ADD = f"""
    insert into spent (run, model, {", ".join(_NAMES)}) values ({", ".join("?" * (2 + len(_NAMES)))})
    on conflict (run, model) do update set {_MORE},
    cost = case when excluded.cost is null then cost else coalesce(cost, 0.0) + excluded.cost end
"""  # noqa: S608  columns, not data


def sums_of(call: Call) -> Sums:
    """What one call adds."""
    reply = call.reply
    if reply is None:
        return Sums(failed=1)
    read, written = token_count(reply.usage.input_tokens), token_count(reply.usage.output_tokens)
    known = read is not None and written is not None
    cost = sql_real(reply.cost)
    return Sums(
        calls=1,
        attempts=len(reply.attempts),
        input_tokens=(read or 0) if known else 0,
        output_tokens=(written or 0) if known else 0,
        unknown_usage=int(not known),
        cost=cost,
        unknown_cost=int(cost is None),
    )


def add_spent(db: Connection, spent: Mapping[tuple[int, str | bytes], Sequence[Sums]]) -> None:
    """Add up what runs have spent on models; part of the transaction that keeps the calls."""
    db.executemany(_ADD, [(*whose, *_total(each)) for whose, each in spent.items()])


def _total(each: Sequence[Sums]) -> Sums:
    known = [sums.cost for sums in each if sums.cost is not None]
    counts = {name: sum(getattr(sums, name) for sums in each) for name in _NAMES if name != "cost"}
    return Sums(cost=sum(known) if known else None, **counts)


def spending(db: Connection, run: int) -> tuple[Spending, ...]:
    """What a run has spent in all its passes so far, one entry a model; what it replayed is not known here."""
    query = f"select model, {', '.join(_NAMES)} from spent where run = ? order by model"  # noqa: S608  columns
    rows: list[tuple[Any, ...]] = db.execute(query, (run,)).fetchall()
    return tuple(Spending(model=from_sql(model), **Sums._make(sums)._asdict()) for model, *sums in rows)


def forget(db: Connection, run: int) -> None:
    """Forget what a run has spent; its calls stay as recordings."""
    db.execute("delete from spent where run = ?", (run,))
    db.execute("update call set run = null where run = ?", (run,))
    db.execute("update tool_call set run = null where run = ?", (run,))
