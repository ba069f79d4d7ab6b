"""Adds up what the calls of each run cost, in the transaction that stores the calls."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evalmark.core.values.call import Call
from evalmark.core.values.case import Usage
from evalmark.core.values.plain_data import finite_number
from evalmark.core.values.spending import Spending, spending_of_reply, total_spending
from evalmark.storage.database.connection import Connection
from evalmark.storage.database.fields import from_sql

from .rows import token_count

_NAMES = (
    "calls",
    "failed",
    "repeated",
    "attempts",
    "input_tokens",
    "output_tokens",
    "unknown_usage",
    "cost",
    "unknown_cost",
)
"""Columns of the table `spent`. Replayed calls are not stored again, so their number is unknown here."""
_MORE = ", ".join(f"{name} = spent.{name} + excluded.{name}" for name in _NAMES if name != "cost")
_ADD = f"""
    insert into spent (run, model, {", ".join(_NAMES)}, is_service) values ({", ".join("?" * (3 + len(_NAMES)))})
    on conflict (run, model) do update set {_MORE}, is_service = excluded.is_service,
    cost = case when excluded.cost is null then spent.cost else coalesce(spent.cost, 0.0) + excluded.cost end
"""  # noqa: S608  columns, not data


def spent_by(call: Call) -> Spending:
    """Return what one call adds; a number that no column can hold is unknown."""
    reply = call.reply
    if reply is None:
        return Spending(model=call.model, failed=1, is_model=call.is_model_call)
    read, written, cost = reply.usage.input_tokens, reply.usage.output_tokens, finite_number(reply.cost)
    if (token_count(read), token_count(written), cost) != (read, written, reply.cost):
        usage = Usage(input_tokens=token_count(read), output_tokens=token_count(written))
        reply = replace(reply, usage=usage, cost=cost)
    return replace(spending_of_reply(call.model, reply), is_model=call.is_model_call)


def add_spent(db: Connection, spent: Mapping[tuple[int, str | bytes], Sequence[Spending]]) -> None:
    """Add the spending of runs to their totals, in the transaction that stores the calls."""
    sums = {whose: total_spending(each) for whose, each in spent.items()}
    rows = [
        (*whose, *(getattr(total, name) for name in _NAMES), int(not total.is_model)) for whose, total in sums.items()
    ]
    db.executemany(_ADD, rows)


def spending(db: Connection, run: int) -> tuple[Spending, ...]:
    """Return what a run has spent in all its passes, one entry for each model, without replayed calls."""
    query = f"select model, is_service, {', '.join(_NAMES)} from spent where run = ? order by model"  # noqa: S608  columns
    rows: list[tuple[Any, ...]] = db.execute(query, (run,)).fetchall()
    return tuple(
        Spending(model=from_sql(model), **dict(zip(_NAMES, sums, strict=True)), is_model=not is_service)
        for model, is_service, *sums in rows
    )


def forget(db: Connection, run: int) -> None:
    """Delete the spending of a run; its calls stay recorded."""
    db.execute("delete from spent where run = ?", (run,))
    db.execute("update call set run = null where run = ?", (run,))
    db.execute("update tool_call set run = null where run = ?", (run,))
