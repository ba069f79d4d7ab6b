"""The simulated cluster and endpoint of `scale_sim.py`, in virtual time.

Workers speak the messages of `evalmark.runs.cluster` and do nothing but wait; the endpoint has limits, faults and stragglers.
The cost of messages for the coordinator is simulated too: they are sent and read one after the other.
"""

import asyncio
import math
import pickle
import time
from array import array
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from evalmark import Case, Output, Result, Score, Turn
from evalmark.core.protocols import CallLog
from evalmark.core.values.call import Attempt, Call, Reply, Request
from evalmark.core.values.case import Usage
from evalmark.core.values.score import Trial
from evalmark.errors import ModelCallError
from evalmark.models.middleware.call_config import CallConfig, wrap_model
from evalmark.models.middleware.keyed_request import KeyedRequest
from evalmark.models.middleware.meter import Meter
from evalmark.models.middleware.prices import Prices, TokenPrices
from evalmark.models.middleware.rate_limits import RateLimits
from evalmark.models.middleware.throttle import Throttle
from evalmark.runs.cluster.messages import (
    Assign,
    AttemptFinished,
    CallRequested,
    FinishWork,
    Ready,
    ReplyDelta,
    SendNow,
    TicketResult,
    TrialFinished,
    WorkerDone,
)
from evalmark.runs.cluster.relay import GROUP_SIZE, MAX_DIRECT_WORKERS, FromGroup, Relay, RelayedWorkerPool, ToGroup
from evalmark.runs.cluster.worker_pool import WorkerLostError, WorkerPool
from evalmark.testing.chat import ScriptedModel

NAME = "openai/imagined"
IDENTITY = ScriptedModel((), NAME).identity
ASKED, SAID = 250, 150
"""Tokens of a request, and of a reply on average."""
TEXT = "What is the capital of Norway, and since when? " * 10
PLAIN = Request(messages=(Turn(role="user", content=TEXT),), settings={"max_tokens": 300})
SCORES = (Score(name="equals", value=1.0, raw=1, passed=True),)
LOST = Output(error="no reply")
AWAY = 0.001
"""Seconds that a batch travels between a relay and the coordinator."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is imagined, and the seed of its chance."""

    cases: int
    workers: int
    jobs: int
    """Cases that a worker does at a time."""
    seed: int = 1
    rpm: int | None = None
    """Requests a minute that the endpoint takes; and tokens."""
    tpm: int | None = None
    is_told: bool = False
    """Whether the run knows these limits; else it meets them."""
    seconds: float = 1.5
    """The median time of a reply; times are log-normal."""
    spread: float = 0.5
    stragglers: float = 0.01
    """The share of replies that take ten times as long."""
    faults: float = 0.005
    """The share of requests that end in status 500."""
    lost: float = 0.1
    """Workers that end, for each worker and hour."""
    hiring: float = 4.0
    """Seconds until a worker is ready, on average."""
    rpc: float = 0.57e-3
    """Seconds of the coordinator's processor for each message batch to or from a worker."""
    message: float = 0.05e-3
    """The same for each message in it, and what the coordinator does about it."""

    @property
    def in_flight(self) -> int:
        """Cases that may be under way at a time."""
        return self.workers * self.jobs


class Processor:
    """The one processor of the coordinator: work is done in turn, and takes time."""

    def __init__(self, setting: Setting) -> None:
        self.busy = 0.0
        """Seconds of work so far."""
        self.longest = 0.0
        """The longest time that something waited for its turn."""
        self.batches = self.messages = 0
        self._setting, self._free = setting, 0.0

    async def carry(self, messages: int) -> None:
        """Return when a batch of messages was dealt with."""
        now = asyncio.get_running_loop().time()
        cost = self._setting.rpc + messages * self._setting.message
        self.batches += 1
        self.messages += messages
        self.busy += cost
        self._free = max(self._free, now) + cost
        self.longest = max(self.longest, self._free - cost - now)
        await asyncio.sleep(self._free - now)


class Limit:
    """So much a minute, evenly, and what a second allows at once."""

    def __init__(self, per_minute: int | None) -> None:
        self._rate = math.inf if per_minute is None else per_minute / 60
        self._level, self._then = self._rate, 0.0

    def has(self, amount: float, now: float) -> bool:
        if self._rate == math.inf:
            return True
        self._level = min(self._rate, self._level + (now - self._then) * self._rate)
        self._then = now
        return self._level >= amount

    def take(self, amount: float) -> None:
        self._level -= amount


class Endpoint:
    """Takes requests within its limits, and counts them by worker and minute."""

    def __init__(self, setting: Setting) -> None:
        self.statuses = Counter[int]()
        self.by_minute: list[array[int]] = []
        self._setting = setting
        self._requests, self._tokens = Limit(setting.rpm), Limit(setting.tpm)
        self._chance = Random(setting.seed)  # noqa: S311  no secret

    def answer(self, worker: int, now: float) -> tuple[float, Reply | ModelCallError]:
        """How long a request takes that comes now, and what it ends in."""
        said = self._chance.randrange(1, 2 * SAID)
        if not (self._requests.has(1, now) and self._tokens.has(ASKED + said, now)):
            return self._failed(429, 0.05, 1.0)
        self._requests.take(1)
        self._tokens.take(ASKED + said)
        if self._chance.random() < self._setting.faults:
            return self._failed(500, self._seconds(), None)
        self.statuses[200] += 1
        while len(self.by_minute) <= now // 60:
            self.by_minute.append(array("H", bytes(2 * self._setting.workers)))
        self.by_minute[int(now // 60)][worker] += 1
        usage = Usage(input_tokens=ASKED, output_tokens=said)
        seconds = self._seconds()
        return seconds, Reply(text="Oslo, since 1814.", usage=usage, model="imagined-1", seconds=seconds)

    def _seconds(self) -> float:
        seconds = self._setting.seconds * math.exp(self._chance.gauss(0.0, self._setting.spread))
        return seconds * (10.0 if self._chance.random() < self._setting.stragglers else 1.0)

    def _failed(self, status: int, seconds: float, again: float | None) -> tuple[float, ModelCallError]:
        self.statuses[status] += 1
        attempt = Attempt(seconds=seconds, error="no", status=status)
        return seconds, ModelCallError(f"status {status}", fault="transient", attempts=[attempt], retry_after=again)


def packed(messages: Sequence[object]) -> bytes:
    """As they travel between processes."""
    return pickle.dumps(messages, protocol=5)


def unpacked(content: bytes) -> Sequence[object]:
    return pickle.loads(content)  # noqa: S301  our own


class Worker:
    """A worker as the coordinator meets it: takes cases, asks for each, and says what came of it."""

    def __init__(self, world: "World", processor: Processor, number: int, away: float) -> None:
        """`processor` is that of the process that it exchanges messages with."""
        self._world, self._processor, self._number, self._away = world, processor, number, away
        self._waiting: deque[Assign] = deque()
        self._asked: dict[int, Assign] = {}
        self._ticket = 0
        self._out: list[object] = [Ready(world.setting.jobs + 1)]
        self._said = asyncio.Event()
        self._said.set()
        self._is_lost = self._is_finishing = False

    def lose(self) -> None:
        """End: nothing more is heard of it."""
        self._is_lost = True
        self._said.set()

    async def send(self, messages: Sequence[object]) -> None:
        await self._processor.carry(len(messages))
        await asyncio.sleep(self._away)
        self._check()
        content = packed(messages) if self._world.packs else b""
        started = time.thread_time()
        for message in unpacked(content) if content else messages:
            self._take(message)
        self._begin()
        self._world.own += time.thread_time() - started

    async def receive(self) -> Sequence[object]:
        await self._said.wait()
        await asyncio.sleep(self._world.linger + self._away)
        self._check()
        self._said.clear()
        out, self._out = self._out, []
        await self._processor.carry(len(out))
        if not self._world.packs:
            return out
        started = time.thread_time()
        content = packed(out)
        self._world.own += time.thread_time() - started
        return unpacked(content)

    def _check(self) -> None:
        if self._is_lost:
            raise WorkerLostError("the node is gone")

    def _take(self, message: object) -> None:
        if isinstance(message, Assign):
            self._waiting.append(message)
        elif isinstance(message, SendNow):
            seconds, said = self._world.endpoint.answer(self._number, self._world.now)
            self._world.loop.call_later(seconds, self._came, message.ticket, said)
        elif isinstance(message, TicketResult):
            given = self._asked.pop(message.ticket)
            output = Output(value="Oslo") if isinstance(message.value, ReplyDelta | Reply) else LOST
            self._say(TrialFinished(given.number, 0, output, SCORES))
        elif isinstance(message, FinishWork):
            self._is_finishing = True
            if message.now:
                self._waiting.clear()

    def _begin(self) -> None:
        while self._waiting and len(self._asked) < self._world.setting.jobs:
            given = self._waiting.popleft()
            self._ticket += 1
            self._asked[self._ticket] = given
            self._say(Ready(1))
            key = f"{given.item.position:032x}-0-0"
            request = KeyedRequest(
                messages=PLAIN.messages, settings=PLAIN.settings, original=PLAIN, cache_key=key, repeat=0, use=0
            )
            self._say(CallRequested(self._ticket, NAME, IDENTITY, request))
        if self._is_finishing and not self._waiting and not self._asked:
            self._say(WorkerDone("", 0.0))
            self._is_finishing = False

    def _came(self, ticket: int, said: Reply | ModelCallError) -> None:
        if not self._is_lost:
            self._say(AttemptFinished(ticket, said))

    def _say(self, message: object) -> None:
        self._out.append(message)
        self._said.set()


class Books:
    """A call log and a sink that count, so that memory is the coordinator's own."""

    def __init__(self, cases: int) -> None:
        self.kept, self.recorded = bytearray(cases), bytearray(cases)
        self.times = array("f")
        self.failed = 0

    async def find(self, key: str) -> Call | None:
        if not self.kept[int(key[:32], 16)]:
            return None
        return Call(key=key, model=NAME, identity=IDENTITY, request=PLAIN, reply=Reply(text="Oslo"), created="")

    async def sending(self, key: str) -> None: ...

    async def keep(self, call: Call) -> None:
        if call.reply is not None:
            self.kept[int(call.key[:32], 16)] += 1

    async def write(self, results: Sequence[Result]) -> None:
        now = asyncio.get_running_loop().time()
        for result in results:
            self.recorded[result.trial.position] += 1
            self.failed += result.output.error is not None
            self.times.append(now)


@dataclass(frozen=True)
class DirectPool:
    """Workers that exchange messages with the process that this processor belongs to."""

    world: "World"
    processor: Processor
    size: int

    async def start_worker(self) -> Worker:
        return await self.world.start_worker(self.processor)


class RelayInWorld:
    """evalmark's relay with a processor of its own, and its way to the coordinator."""

    def __init__(self, world: "World", size: int, interval: float) -> None:
        self._world = world
        processor = Processor(world.setting)
        world.relays.append(processor)
        self._relay = Relay(DirectPool(world, processor, size), interval)
        self.start_worker = self._relay.start_worker

    async def send(self, batch: ToGroup) -> None:
        await self._world.coordinator.carry(sum(len(messages) for _, messages in batch))
        await asyncio.sleep(AWAY)
        await self._relay.send(batch)

    async def receive(self) -> FromGroup:
        batch = await self._relay.receive()
        await asyncio.sleep(AWAY)
        await self._world.coordinator.carry(
            sum(1 if isinstance(entry, Exception) else len(entry) for _, entry in batch)
        )
        return batch


@dataclass(eq=False)
class World:
    """Everything that is simulated."""

    setting: Setting
    call_log: CallLog | None = None
    """Where calls are kept; None: they are counted."""
    packs: bool = False
    """Whether messages are packed and unpacked, as between processes."""
    own: float = 0.0
    """Seconds of this thread that the picture took, and not the coordinator."""
    ended: int = 0
    """Workers that have ended."""
    relays: list[Processor] = field(default_factory=list)
    size: int = field(init=False)
    linger: float = field(init=False)
    """Seconds that a worker gathers what it has to say, as those of Ray do."""

    def __post_init__(self) -> None:
        setting = self.setting
        self.size, self.linger = setting.workers, 0.0005 * min(setting.workers, GROUP_SIZE)
        self.loop = asyncio.get_running_loop()
        self.coordinator, self.endpoint, self.books = Processor(setting), Endpoint(setting), Books(setting.cases)
        self._chance = Random(setting.seed + 1)  # noqa: S311  no secret
        self._free = deque(range(setting.workers))
        rpm, tpm = (setting.rpm, setting.tpm) if setting.is_told else (None, None)
        pace = RateLimits(start=setting.in_flight, most=setting.in_flight, rpm=rpm, tpm=tpm)
        throttle = Throttle(pace, random=Random(setting.seed + 2))  # noqa: S311
        prices = Prices({NAME: TokenPrices(input=0.1, output=0.4)})
        self.meter = Meter(prices=prices)
        self._conditions = CallConfig(
            meter=self.meter,
            throttle=throttle,
            prices=prices,
            call_log=self.call_log or self.books,
            random=Random(setting.seed + 3),  # noqa: S311
        )

    @property
    def now(self) -> float:
        return self.loop.time()

    def wrap(self, model: object) -> object:
        """What a run puts around a model: as `Door` does, with chance that has a seed."""
        return wrap_model(model, self._conditions)

    def chat(self, name: str) -> ScriptedModel:
        """The model as the coordinator knows it, which leaves it to workers to ask it."""
        return ScriptedModel((), name)

    def trials(self) -> Iterator[Trial]:
        for position in range(self.setting.cases):
            yield Trial(case=Case(id=str(position), input=TEXT), dataset="imagined", position=position)

    def pool(self) -> WorkerPool:
        """All workers, behind relays where a run on Ray has them."""
        if self.size <= MAX_DIRECT_WORKERS:
            return DirectPool(self, self.coordinator, self.size)
        return RelayedWorkerPool(lambda size, interval: RelayInWorld(self, size, interval), self.size)

    async def start_worker(self, processor: Processor) -> Worker:
        """A worker that exchanges messages with this process, after the seconds that its own process takes to start."""
        number = self._free.popleft()
        await asyncio.sleep(self._chance.uniform(0.5, 1.5) * self.setting.hiring)
        worker = Worker(self, processor, number, self._chance.uniform(0.0003, 0.002))
        if self.setting.lost:
            self.loop.call_later(self._chance.expovariate(self.setting.lost / 3600), self._lose, worker, number)
        return worker

    def _lose(self, worker: Worker, number: int) -> None:
        self.ended += 1
        self._free.append(number)
        worker.lose()
