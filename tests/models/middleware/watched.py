"""A chat model for the tests of the wrappers: it answers from a script and watches when it is asked."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from evalmark.core.values.call import Reply, Request

from .asking import ask

Answer = Reply | str | Exception
"""A whole reply, its text alone, or what is raised instead."""


class Watched:
    """A model that answers what a function of the request says, or a list that is used up in order.

    Without a script, and after the end of the list, it repeats the last message. `seconds` is how long each answer
    takes by the clock of the loop.
    """

    def __init__(
        self,
        answer: Callable[[Request], Answer] | Sequence[Answer] = (),
        *,
        name: str = "testing/scripted",
        identity: str = "",
        seconds: float = 0.0,
    ) -> None:
        self.name = name
        self.identity = identity or f"{name}@"
        self.answer = answer
        self.seconds = seconds
        self.requests: list[Request] = []
        """Every request, in order."""
        self.times: list[float] = []
        """When each of them came, by the clock of the loop."""
        self.in_flight = 0
        self.most_under_way = 0
        """The highest number of requests that were being answered at the same time."""
        self._script: Iterator[Answer] = iter(() if callable(answer) else tuple(answer))

    async def __call__(self, request: Request) -> Reply:
        """What the script says. Raises what it says to raise."""
        self.requests.append(request)
        self.times.append(asyncio.get_running_loop().time())
        self.in_flight += 1
        self.most_under_way = max(self.most_under_way, self.in_flight)
        try:
            answer = self._next(request)
            if self.seconds:
                await asyncio.sleep(self.seconds)
        finally:
            self.in_flight -= 1
        if isinstance(answer, Exception):
            raise answer
        reply = Reply(text=answer) if isinstance(answer, str) else answer
        return reply if reply.seconds is not None else replace(reply, seconds=self.seconds)

    def _next(self, request: Request) -> Answer:
        if callable(self.answer):
            return self.answer(request)
        said = str(request.messages[-1].content) if request.messages else ""
        return next(self._script, said)


async def outcomes(model, count, *, workers=None) -> list:
    """What that many calls come to, all at once or by so many workers."""
    found: list = [None] * count
    left = iter(range(count))

    async def work():
        for number in left:
            try:
                found[number] = await model(ask(str(number)))
            except Exception as error:  # noqa: BLE001
                found[number] = error

    await asyncio.gather(*(work() for _ in range(workers or count)))
    return found
