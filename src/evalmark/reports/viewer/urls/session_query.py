"""The query of the list of sessions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalmark.storage.sessions.filter import LABEL_STATES, LabelState, SessionFilter

from .parameters import parse_count, parse_date, parse_number, parse_text, query_string
from .paths import decode_query_name, encode_query_name
from .search_terms import short_number

SESSION_LABELS: Mapping[LabelState, str] = {
    "up": "good",
    "down": "bad",
    "disputed": "disputed",
    "not": "not labelled",
}
"""Label filters of sessions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionQuery:
    """Query of the list of sessions."""

    conditions: SessionFilter
    below: int | None = None
    above: int | None = None

    def string(self, **changes: Any) -> str:
        """Format the query string with `?`; empty if there is nothing to say."""
        conditions = self.conditions
        values = {
            "project": encode_query_name(conditions.project),
            "text": conditions.text,
            "labelled": conditions.labelled,
            "failed": "1" if conditions.failed else "",
            "template": encode_query_name(conditions.template),
            "since": conditions.since,
            "until": conditions.until,
            **{
                f"{name}_{end}": "" if limit is None else short_number(limit)
                for name, limits in (("seconds", conditions.seconds), ("cost", conditions.cost))
                for end, limit in zip(("from", "to"), limits, strict=True)
            },
            "below": self.below,
            "above": self.above,
        }
        return query_string(values | changes)


def parse_session_query(query: Mapping[str, str]) -> SessionQuery:
    """Parse a query of the list of sessions, ignoring invalid parts."""
    below, above = (parse_count(query.get(name, "")) for name in ("below", "above"))
    conditions = SessionFilter(
        project=decode_query_name(parse_text(query, "project")),
        text=parse_text(query, "text"),
        labelled=next((one for one in LABEL_STATES if one == query.get("labelled", "").strip()), None),
        failed=query.get("failed", "") == "1",
        template=decode_query_name(parse_text(query, "template")),
        since=parse_date(query.get("since", "")),
        until=parse_date(query.get("until", "")),
        seconds=(parse_number(query.get("seconds_from", "")), parse_number(query.get("seconds_to", ""))),
        cost=(parse_number(query.get("cost_from", "")), parse_number(query.get("cost_to", ""))),
    )
    return SessionQuery(conditions=conditions, below=below, above=None if below is not None else above)
