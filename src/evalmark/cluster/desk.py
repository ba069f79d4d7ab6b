"""The desk of a run: gives work to hands, has the say over everything they share, and alone writes results."""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from evalmark.engine import Item, Limits, Outcome, Recorder, Watch, Work
from evalmark.values import count

from .board import Board
from .crew import Crew, CrewError, HandLostError, Member
from .errands import Errand, Errands
from .messages import Asks, Came, Done, Down, Dropped, Finish, Go, Over, Told, Up, Wants
from .offers import Offers

_FRUITLESS = 3
"""Hands in a row that may end before they have done anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """What a desk needs besides the work itself."""

    crew: Crew
    errands: Errands
    offers: Offers
    room: int
    """Items that one hand has at a time."""


async def run_elsewhere(
    work: Work, limits: Limits, duty: Duty, *, stop: asyncio.Event | None = None, watch: Watch | None = None
) -> Outcome:
    """Have every trial answered and judged by the hands of a crew, and record the results here.

    Setting `stop` gives out no further trial and lets the hands finish within `limits.grace` seconds.

    Raises:
        StoreError: the sink could not write; what was acknowledged before is kept.
        CrewError: there are no hands, or they end before they have done anything.
    """
    desk = _Desk(work, limits, duty, stop or asyncio.Event(), watch)
    return await desk.run()


class _Desk:
    """The moving parts of one run; lives as long as `run_elsewhere`."""

    def __init__(self, work: Work, limits: Limits, duty: Duty, stop: asyncio.Event, watch: Watch | None) -> None:
        self.limits, self.duty, self.stop = limits, duty, stop
        self.board = Board(iter(cast(Iterable[Item], work.trials)), duty.room)
        self.recorder = Recorder(work.sink, watch, limits.window, limits.batch)
        self.names = tuple(scorer.name for scorer in work.scorers)
        self.seats = [_Seat(self, number) for number in range(duty.crew.size)]
        self.left_out = False
        self.reason = ""
        self.longest_block = 0.0
        self.fruitless = 0
        self.lost = 0

    async def run(self) -> Outcome:
        recording = asyncio.create_task(self.recorder.run())
        sitting = [asyncio.create_task(seat.run()) for seat in self.seats]
        stopping = asyncio.create_task(self._stop_them())
        try:
            await _until_all(sitting, recording)
            if not recording.done():
                await self.recorder.end()
            await recording
        finally:
            for task in (*sitting, stopping, recording):
                task.cancel()
            await asyncio.gather(*sitting, stopping, recording, return_exceptions=True)
        return Outcome(
            recorded=self.recorder.recorded,
            stopped=self.left_out or not self.board.is_done,
            reason=self.reason,
            longest_block=self.longest_block,
            notes=self._notes(),
        )

    def _notes(self) -> tuple[str, ...]:
        if not self.lost:
            return ()
        ended = f"{count(self.lost, 'worker')} ended while the run went on"
        return (f"{ended}; what they had in hand was given to others, and asked again where no reply was kept.",)

    async def _stop_them(self) -> None:
        await self.stop.wait()
        self.left_out = self.board.close() or self.left_out
        for seat in self.seats:
            seat.ring()

    def end(self, reason: str) -> None:
        """No further call can be made."""
        self.reason = self.reason or reason
        self.left_out = True
        self.stop.set()

    def ring_all(self) -> None:
        """Something has changed that concerns every hand."""
        for seat in self.seats:
            seat.ring()


class _Seat:
    """One hand at the desk, and whoever takes its place when it ends."""

    def __init__(self, desk: _Desk, number: int) -> None:
        self._desk, self._number = desk, number
        self._out: list[Down] = []
        self._rung = asyncio.Event()
        self._errands: dict[int, Errand] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._last: Finish | None = None
        """What the hand knows of the end of its work."""
        self._is_over = False

    def ring(self) -> None:
        """There may be something to tell."""
        self._rung.set()

    async def run(self) -> None:
        """Have a hand here until nothing is left to do."""
        while not self._is_over:
            try:
                member = await self._desk.duty.crew.hire()
                await self._attend(member)
            except HandLostError as lost:
                self._lose(str(lost))

    async def _attend(self, member: Member) -> None:
        self._last = None
        self._rung.set()
        telling = asyncio.create_task(self._tell(member))
        hearing = asyncio.create_task(self._hear(member))
        try:
            await asyncio.wait({telling, hearing}, return_when=asyncio.FIRST_COMPLETED)
            for task in (hearing, telling):
                if task.done():
                    task.result()
        finally:
            await _cancelled(telling, hearing, *self._tasks.values())
            self._tasks.clear()
            self._errands.clear()

    async def _tell(self, member: Member) -> None:
        """Hand over what has gathered while the last messages were on their way."""
        while True:
            await self._rung.wait()
            self._rung.clear()
            out, self._out = self._out, []
            out += self._given()
            while self._desk.board.aside:
                await self._desk.recorder.put(self._desk.board.aside.popleft())
            if out:
                await member.tell(out)

    def _given(self) -> Sequence[Down]:
        """Further items, or that there are none; each end is told once."""
        board, is_stopped = self._desk.board, self._desk.stop.is_set()
        gives = [] if is_stopped or self._last is not None else board.take(self._number)
        if not is_stopped and not board.is_done:
            return gives
        last = Finish(now=is_stopped)
        if self._last in (last, Finish(now=True)):
            return gives
        self._last = last
        self._desk.ring_all()
        return (*gives, last)

    async def _hear(self, member: Member) -> None:
        while not self._is_over:
            for message in await member.listen():
                await self._take(message)

    async def _take(self, message: Up) -> None:
        if isinstance(message, Done):
            await self._record(message)
        elif isinstance(message, Asks):
            errand = self._errands[message.ticket] = Errand(message.ticket, self._say)
            self._begin(message.ticket, self._desk.duty.errands.run(message, errand))
        elif isinstance(message, Came):
            if (known := self._errands.get(message.ticket)) is not None:
                known.back(message.said)
        elif isinstance(message, Wants):
            self._begin(message.ticket, self._desk.duty.offers.do(message))
        elif isinstance(message, Dropped):
            if (task := self._tasks.get(message.ticket)) is not None:
                task.cancel()
        else:
            self._over(message)

    async def _record(self, message: Done) -> None:
        result = self._desk.board.done(self._number, message)
        if result is not None:
            self._desk.fruitless = 0
            await self._desk.recorder.put(result)
        if self._desk.board.is_done:
            self._desk.ring_all()
        else:
            self.ring()

    def _over(self, message: Over) -> None:
        self._is_over = True
        self._desk.longest_block = max(self._desk.longest_block, message.longest_block)
        if message.reason:
            self._desk.end(message.reason)
        if self._desk.board.held(self._number):
            self._desk.left_out = True

    def _say(self, message: Go | Told) -> None:
        self._out.append(message)
        self.ring()

    def _begin(self, ticket: int, work: Coroutine[Any, Any, Told]) -> None:
        async def answered() -> None:
            try:
                self._say(await work)
            finally:
                self._tasks.pop(ticket, None)
                self._errands.pop(ticket, None)

        self._tasks[ticket] = asyncio.create_task(answered())

    def _lose(self, why: str) -> None:
        """The hand has ended: others do what it had, and one more is hired."""
        desk = self._desk
        desk.lost += 1
        desk.fruitless += 1
        for result in desk.board.lose(self._number, desk.names, why):
            desk.board.aside.append(result)
        self._out.clear()
        self._is_over = desk.stop.is_set() or desk.board.is_done
        if desk.fruitless > _FRUITLESS * len(desk.seats):
            raise CrewError(f"Workers end before they have done anything; the last one said: {why}")
        desk.ring_all()


async def _until_all(tasks: Sequence["asyncio.Task[None]"], recording: "asyncio.Task[None]") -> None:
    """Return when all tasks are done, or when recording has broken off; raises what one of them raises."""
    left = {*tasks, recording}
    while left - {recording}:
        done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        if recording in done:
            return


async def _cancelled(*tasks: "asyncio.Task[None]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
