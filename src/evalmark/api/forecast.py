"""What a run would do: its calls are made up to the point of sending, and counted there."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from evalmark.engine import Limits, Work, run_trials
from evalmark.errors import ModelCallError
from evalmark.roles import ChatModel, Journal, current_uses
from evalmark.targets import Given, ModelTarget
from evalmark.values import Case, Output, Reply, Request, Result, Run, canonical

from .checking import check, refuse
from .conduct import Conduct
from .plan import Plan
from .reading import Reading, trials

LETTERS_A_TOKEN = 4
"""English text; other languages and code have fewer."""
USUAL_REPLY = 150
"""Tokens of a reply where no recorded one tells."""
PLACEHOLDER = "x" * 400
"""Stands for an answer that nobody knows yet."""


@dataclass(slots=True)
class Tally:
    """What one model would be asked."""

    calls: int = 0
    cached: int = 0
    input_tokens: int = 0
    """Of the calls to be sent."""
    recorded: list[int] = field(default_factory=list)
    """Output tokens of recorded replies."""
    most: int = 0
    """Output tokens that the calls to be sent may come to by their own limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighing:
    """Answers what is recorded and counts the rest; sends nothing."""

    model: ChatModel
    journal: Journal
    tally: Tally
    asked: set[str]
    """Keys that are counted already: the same request goes out once."""

    @property
    def name(self) -> str:
        """The model's."""
        return self.model.name

    @property
    def identity(self) -> str:
        """The model's."""
        return self.model.identity

    async def __call__(self, request: Request) -> Reply:
        """The recorded reply.

        Raises:
            ModelCallError: there is none.
        """
        uses = current_uses()
        key = request.key(self.model.identity, uses.repeat, uses.next(request.hash))
        call = await self.journal.find(key)
        if key not in self.asked:
            self.asked.add(key)
            self._count(request, call is not None)
        if call is None or call.reply is None:
            raise ModelCallError("not asked", fault="rejected")
        if call.reply.usage.output_tokens is not None:
            self.tally.recorded.append(call.reply.usage.output_tokens)
        return call.reply

    def _count(self, request: Request, is_recorded: bool) -> None:
        self.tally.calls += 1
        self.tally.cached += is_recorded
        if not is_recorded:
            self.tally.input_tokens += tokens_of(request)


def tokens_of(request: Request) -> int:
    """About how many tokens a request has.

    >>> from evalmark.values import Turn
    >>> tokens_of(Request(messages=(Turn(role="user", content="Where is Oslo?"),)))
    3
    """
    letters = sum(
        len(turn.content) if isinstance(turn.content, str) else len(canonical(turn.content))
        for turn in request.messages
    )
    return letters // LETTERS_A_TOKEN + (len(canonical(request.schema)) // LETTERS_A_TOKEN if request.schema else 0)
