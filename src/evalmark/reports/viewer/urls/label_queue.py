"""Which outputs an address or a form asks to label, one after the other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalmark.tracing.annotations.queue import MAX_ITEMS

from .paths import name_in, named
from .queries import VERDICTS, whole, written


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueAsked:
    """Which outputs are to be labelled, and which of them is looked at."""

    run: str = ""
    project: str = ""
    """One of the two is empty."""
    verdict: str = ""
    tag: str = ""
    n: int = 0
    """So many, drawn at random; 0: all."""
    seed: str = ""
    at: int = 0
    """The place of the output, counted from 1; 0: the next without a label."""
    start: int = 1
    """From where on the next one is looked for."""

    @property
    def what(self) -> str:
        """The run or the project as a form names it; empty where neither is named."""
        kind = "run" if self.run else "project" if self.project else ""
        return f"{kind}:{named(self.run or self.project)}" if kind else ""

    def query(self, **changes: Any) -> str:
        """The part of an address behind the `?`, without the place but where `changes` names one."""
        said = {"what": self.what, "verdict": self.verdict, "tag": self.tag, "n": self.n or "", "seed": self.seed}
        return written(said | changes)


def queue_asked(query: Mapping[str, str]) -> QueueAsked:
    """What an address or a form asks for; what makes no sense is left out."""
    kind, _, name = query.get("what", "").partition(":")
    verdict = query.get("verdict", "")
    return QueueAsked(
        run=name_in(name) if kind == "run" else "",
        project=name_in(name) if kind == "project" else "",
        verdict=verdict if kind == "run" and verdict in VERDICTS else "",
        tag=query.get("tag", "").strip()[:500] if kind == "run" else "",
        n=min(whole(query.get("n", ""), 0), MAX_ITEMS),
        seed=query.get("seed", "").strip()[:100],
        at=whole(query.get("at", ""), 0),
        start=whole(query.get("start", ""), 1),
    )
