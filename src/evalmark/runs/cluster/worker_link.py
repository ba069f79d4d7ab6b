"""What a desk and one of its hands say to each other, from the first item to the end of the hand."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from .messages import (
    AttemptFinished,
    CallRequested,
    FinishWork,
    Ready,
    SendNow,
    ServiceRequested,
    TicketCancelled,
    TicketResult,
    ToCoordinator,
    ToWorker,
    TrialFinished,
    WorkerDone,
)
from .remote_calls import RemoteCall
from .worker_pool import WorkerHandle

if TYPE_CHECKING:
    from .coordinator import Coordinator

_FINAL_MESSAGES_SECONDS = 5.0
"""Seconds in which a hand that cannot be told anything any more may still say why."""


class WorkerLink:
    """A talk with one hand; tickets are its own, so nothing that is said of one reaches the hand's successor."""

    def __init__(self, desk: "Coordinator", seat: int, member: WorkerHandle) -> None:
        self.is_over = False
        """Whether the hand has come to its end by itself."""
        self._desk, self._seat, self._member = desk, seat, member
        self._out: list[ToWorker] = []
        self._rung = asyncio.Event()
        self._errands: dict[int, RemoteCall] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._last: FinishWork | None = None
        """What the hand knows of the end of its work."""
        self._listens = False
        self._broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done where something went wrong here that only the end of the run can mend."""

    def ring(self) -> None:
        """There may be something to tell."""
        self._rung.set()

    async def run(self) -> None:
        """Talk until the hand comes to its end.

        Raises:
            HandLostError: it has ended before.
        """
        self.ring()
        telling = asyncio.create_task(self._tell())
        hearing = asyncio.create_task(self._hear())
        try:
            await asyncio.wait({telling, hearing, self._broken}, return_when=asyncio.FIRST_COMPLETED)
            if telling.done():
                await self._last_words(hearing)
            if self._broken.done():
                self._broken.result()
            for task in (hearing, telling):
                if task.done() and not self.is_over:
                    task.result()
        finally:
            await _cancel(telling, hearing)
            await self._settle()

    async def _last_words(self, hearing: "asyncio.Task[None]") -> None:
        """Hear what a hand has said before it ended, and what it may say of that."""
        while not hearing.done():
            await asyncio.wait({hearing}, timeout=_FINAL_MESSAGES_SECONDS)
            if self._listens:
                return

    async def _settle(self) -> None:
        """Have replies that came kept, since they may have been paid for; break off everything else."""
        for ticket in self._tasks:
            self._break_off(ticket)
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        if not self._broken.cancel():
            self._broken.exception()  # somebody has seen it

    def _break_off(self, ticket: int) -> None:
        """End what is done for a ticket, unless its reply is here: that one is kept, whoever still wants it."""
        errand = self._errands.get(ticket)
        if (task := self._tasks.get(ticket)) is not None and (errand is None or errand.came is None):
            task.cancel()

    async def _tell(self) -> None:
        """Hand over what has gathered while the last messages were on their way."""
        while True:
            await self._rung.wait()
            self._rung.clear()
            out, self._out = self._out, []
            out += self._given()
            if out:
                await self._member.tell(out)
            await self._desk.put_aside()

    def _given(self) -> Sequence[ToWorker]:
        """Further items, or that there are none; each end is told once."""
        board, is_stopped = self._desk.board, self._desk.stop.is_set()
        gives = [] if is_stopped or self._last is not None else board.take(self._seat)
        if not is_stopped and not board.is_done:
            return gives
        last = FinishWork(now=is_stopped)
        if self._last in (last, FinishWork(now=True)):
            return gives
        self._last = last
        self._desk.ring_all()
        return (*gives, last)

    async def _hear(self) -> None:
        while not self.is_over:
            self._listens = True
            said = await self._member.listen()
            self._listens = False
            for message in said:
                self._take(message)
            for message in said:  # what others wait for comes first, since there may be no room for results
                if isinstance(message, TrialFinished):
                    await self._record(message)
                elif isinstance(message, WorkerDone):
                    self._over(message)
            if not self._tasks or self._desk.board.is_short(self._seat):
                self.ring()  # else what comes of its calls will be told soon, and further items with it

    def _take(self, message: ToCoordinator) -> None:
        if isinstance(message, CallRequested):
            errand = self._errands[message.ticket] = RemoteCall(message.ticket, self._say)
            self._begin(message.ticket, lambda: self._desk.duty.errands.run(message, errand))
        elif isinstance(message, AttemptFinished):
            if (known := self._errands.get(message.ticket)) is not None:
                known.back(message.said)
        elif isinstance(message, ServiceRequested):
            self._begin(message.ticket, lambda: self._desk.duty.offers.do(message))
        elif isinstance(message, TicketCancelled):
            self._break_off(message.ticket)
        elif isinstance(message, Ready):
            self._desk.board.free(self._seat, message.more)

    async def _record(self, message: TrialFinished) -> None:
        """Hand in a result. Only then is it done: who is cancelled before leaves it to another hand."""
        result = self._desk.board.result(self._seat, message)
        if result is None:
            return
        await self._desk.put(result)
        self._desk.board.done(self._seat, message)
        if self._desk.board.is_done:
            self._desk.ring_all()

    def _over(self, message: WorkerDone) -> None:
        self.is_over = True
        self._desk.over(message, left_out=self._desk.board.held(self._seat) > 0)

    def _say(self, message: SendNow | TicketResult) -> None:
        self._out.append(message)
        self.ring()

    def _begin(self, ticket: int, work: Callable[[], Coroutine[Any, Any, TicketResult]]) -> None:
        async def answered() -> None:
            self._say(await work())

        def ended(task: "asyncio.Task[None]") -> None:
            self._tasks.pop(ticket, None)
            self._errands.pop(ticket, None)
            if not task.cancelled() and (fault := task.exception()) is not None and not self._broken.done():
                self._broken.set_exception(fault)

        task = self._tasks[ticket] = asyncio.create_task(answered())
        task.add_done_callback(ended)


async def _cancel(*tasks: "asyncio.Task[None]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
