"""The query of the labelling queue."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalmark.tracing.annotations.queue import MAX_ITEMS
from evalmark.tracing.annotations.samples import CHOSEN

from .case_query import VERDICTS
from .parameters import parse_page, query_string
from .paths import decode_name, encode_name

QUEUE = "/label/queue"
"""The path of the labelling queue."""
MAX_INSTRUCTIONS = 2_000
"""Most characters of the instructions of a labelling queue; they are part of its address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelQueueQuery:
    """Query of the labelling queue."""

    run: str = ""
    project: str = ""
    """One of the two is empty."""
    verdict: str = ""
    tag: str = ""
    n: int = 0
    """Random sample size; 0 for all."""
    seed: str = ""
    at: int = 0
    """Position of the output, from 1; 0 for the next unlabelled one."""
    start: int = 1
    """Position to search from."""
    sample: int = 0
    """The number of a recorded sample of the run; 0 for none."""
    by_verdict: str = ""
    """In a form: the metric whose passed and failed outputs are drawn in equal numbers."""
    how: str = ""
    """`near` or `judges` for outputs that were chosen by `metric`; else empty."""
    metric: str = ""
    instructions: str = ""
    """Instructions for labellers, which the address carries; empty for none."""

    @property
    def what(self) -> str:
        """The run or project as in a form; empty if neither is set."""
        kind = "run" if self.run else "project" if self.project else ""
        return f"{kind}:{encode_name(self.run or self.project)}" if kind else ""

    def string(self, **changes: Any) -> str:
        """Format the query string, without the position unless in `changes`."""
        values = {"what": self.what, "verdict": self.verdict, "tag": self.tag, "n": self.n or "", "seed": self.seed}
        values |= {"sample": self.sample or "", "how": self.how, "metric": self.metric}
        return query_string(values | {"instructions": self.instructions} | changes)


def parse_label_queue_query(query: Mapping[str, str]) -> LabelQueueQuery:
    """Parse a query or form of the labelling queue, ignoring invalid parts."""
    kind, _, name = query.get("what", "").partition(":")
    verdict = query.get("verdict", "")
    how = query.get("how", "") if kind == "run" and query.get("how", "") in CHOSEN else ""
    return LabelQueueQuery(
        run=decode_name(name) if kind == "run" else "",
        project=decode_name(name) if kind == "project" else "",
        verdict=verdict if kind == "run" and verdict in VERDICTS else "",
        tag=query.get("tag", "").strip()[:500] if kind == "run" else "",
        n=min(parse_page(query.get("n", ""), 0), MAX_ITEMS),
        seed=query.get("seed", "").strip()[:100],
        at=parse_page(query.get("at", ""), 0),
        start=parse_page(query.get("start", ""), 1),
        sample=parse_page(query.get("sample", ""), 0) if kind == "run" else 0,
        by_verdict=query.get("by_verdict", "").strip()[:500] if kind == "run" else "",
        how=how,
        metric=query.get("metric", "").strip()[:500] if how else "",
        instructions=query.get("instructions", "").replace("\r\n", "\n").strip()[:MAX_INSTRUCTIONS],
    )


def sample_queue(run: str, sample: int) -> str:
    """Return the address of the labelling queue of a recorded sample."""
    return QUEUE + LabelQueueQuery(run=run, sample=sample).string()
