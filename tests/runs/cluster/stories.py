"""Runs that are told twice: done by the engine, and done by workers in this process."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field, replace

from evalmark import Case, Output, Result, Score, Turn, chat_model
from evalmark.core.context.tool_replay import ToolReplay
from evalmark.core.settings import Settings
from evalmark.core.values.call import Reply, Request
from evalmark.core.values.score import Trial
from evalmark.errors import ModelCallError
from evalmark.runs.cluster.coordinator import CoordinatorConfig, run_on_workers
from evalmark.runs.cluster.remote import RemoteGateway
from evalmark.runs.cluster.remote_calls import CallProxy
from evalmark.runs.cluster.services import SharedServices
from evalmark.runs.engine.pipeline import run_trials
from evalmark.runs.engine.work import AnsweredTrial, AnsweredTurn, Conversation, Limits, Work
from evalmark.runs.planning.models import ModelFactory, ModelGateway
from evalmark.runs.planning.target_models import TargetModels
from evalmark.runs.tool_replay.remote_tools import RemoteTools
from evalmark.testing.chat import ScriptedModel
from evalmark.testing.memory import MemoryCallLog, MemorySink, MemoryToolLog
from evalmark.testing.virtual_time import run_in_virtual_time

from .local_workers import LocalWorkerPool

LIMITS = Limits(jobs=4, window=16)
SETTINGS = Settings(jobs=4)
FOR_EVER = 1e6
"""Seconds on a clock that leaps; a run that takes longer does not end."""


def trials(count, **more):
    return [Trial(case=Case(id=str(n), input=f"x{n}"), position=n, **more) for n in range(count)]


@dataclass(frozen=True)
class Upper:
    """Answers in capitals after a while; raises for some inputs."""

    seconds: float = 0.0
    bad: dict = field(default_factory=dict)
    name: str = "upper"

    async def __call__(self, case):
        await asyncio.sleep(self.seconds)
        if case.input in self.bad:
            raise self.bad[case.input].with_traceback(None)  # one error is raised in several runs
        return Output(value=f"{case.input} after {[turn.content for turn in case.history]}")


class Chat(Upper):
    """Remembers by itself what was said, as an agent with a session does."""

    def new_conversation(self):
        return Heard()


class Heard:
    name = "heard"

    def __init__(self):
        self.heard = []

    async def __call__(self, case):
        self.heard.append(case.input)
        await asyncio.sleep(0.1)
        return Output(value=" ".join(self.heard))


@dataclass(frozen=True)
class Is:
    """Says that an answer has a letter, or raises."""

    letter: str
    bad: str = ""

    @property
    def name(self):
        return f"has {self.letter}"

    async def __call__(self, case, output):
        await asyncio.sleep(0.01)
        if case.input == self.bad:
            raise ValueError("no score")
        return [
            Score(name=self.name, value=1.0, passed=self.letter in str(output.value), detail={"of": len(case.history)})
        ]


@dataclass(frozen=True)
class Asks:
    """A target and a scorer that ask a model, so often for each case."""

    model: object
    times: int = 1
    name: str = "asks"

    async def __call__(self, case, output=None):
        request = Request(messages=(Turn(role="user", content=str(case.input)),))
        replies = [await self.model(request) for _ in range(self.times)]
        said = " ".join(reply.text for reply in replies)
        if output is None:
            return Output(value=said, metadata={"calls": [reply.key for reply in replies]})
        return [Score(name=self.name, value=1.0, passed=said.startswith("echo"), detail={"key": replies[0].key})]


@dataclass(frozen=True)
class Lends:
    """A target that asks a model of the run by its name."""

    name: str = "lends"

    async def __call__(self, case):
        async with chat_model("openai/small") as model:
            return Output(value=(await model(Request(messages=(Turn(role="user", content=case.input),)))).text)


def echo(request):
    return Reply(text=f"echo {request.messages[-1].content}")


@dataclass(frozen=True, kw_only=True)
class OneModel(ModelFactory):
    """Models of which every name means the same one."""

    model: object

    def chat(self, name):
        return self.model


@dataclass(frozen=True, kw_only=True)
class Story:
    """Trials, what answers and judges them, and the model that is asked."""

    trials: object
    """Gives them anew for each run."""
    work: object
    """Targets and scorers, out of the model as a run asks it, and of what ends the worker that calls it."""
    replies: object = echo
    model: object = None
    """Another model than one that says these."""
    limits: Limits = LIMITS
    settings: Settings = SETTINGS


def plain(*scorers, **targets):
    """Work that asks no model."""
    return lambda model, die: {
        "targets": targets or {"": Upper()},
        "scorers": scorers or (Is("x"),),
        "turn_scorers": (Is("a"),),
    }


def asking(times=1, **more):
    return lambda model, die: {"targets": {"": Asks(model, times)}, "scorers": (Is("e"),), **more}


@dataclass(frozen=True)
class NotHere:
    """The model as the coordinator knows it, which leaves it to workers to ask it."""

    name: str
    identity: str

    async def __call__(self, request):
        raise AssertionError("a model was asked from the coordinator")


class World:
    """Where a story happens: a model, a journal, a sink, and nobody yet who does the work."""

    def __init__(self, story, sink=None, **more):
        self.story, self.sink, self.more = story, sink or MemorySink(), more
        self.model = story.model or ScriptedModel(story.replies, seconds=0.05)
        self.models = OneModel(settings=story.settings, model=self.model)
        self.call_log, self.recordings = MemoryCallLog(), MemoryToolLog()
        self.door = ModelGateway(self.models, self.call_log)
        self.tools = ToolReplay(lambda: self.recordings, "auto")
        self.outcome = self.pool = None

    def work(self, door, tools, items=(), die=None, model=None):
        made = self.story.work(door(model or self.model), die)
        lend = TargetModels(self.models, lambda: door, asyncio.get_running_loop())
        return Work(trials=items, sink=self.sink, tools=tools, get_model=lend, **made)

    async def here(self):
        """Have it done by the engine."""
        work = self.work(self.door, self.tools, self.story.trials())
        self.outcome = await run_trials(work, self.story.limits, **self.more)

    async def elsewhere(self, kind=LocalWorkerPool, **crew):
        """Have it done by workers."""
        self.pool = kind(made=self.at_a_worker, limits=self.story.limits, **crew)
        offers = SharedServices(self.tools, None, None)
        room = 2 * self.story.limits.jobs + self.story.limits.window
        duty = CoordinatorConfig(pool=self.pool, calls=CallProxy(self.door), services=offers, max_items=room)
        work = self.work(
            self.door, self.tools, self.story.trials(), model=NotHere(self.model.name, self.model.identity)
        )
        async with asyncio.timeout(FOR_EVER):
            self.outcome = await run_on_workers(work, self.story.limits, duty, **self.more)

    def at_a_worker(self, post):
        def die():
            next(member for member in self.pool.members if member is not None and member.post is post).worker_lost(
                "killed"
            )

        return self.work(RemoteGateway(self.models, post), RemoteTools(post.request_in_thread, "auto"), die=die)

    @property
    def found(self):
        """Results in the order of the trials, without times."""
        ordered = sorted(
            self.sink.results, key=lambda r: (r.trial.position, r.trial.repeat, r.trial.mode, r.trial.target)
        )
        return [replace(result, output=replace(result.output, seconds=None, waited=None)) for result in ordered]

    @property
    def payload(self):
        """How often each question was asked of the model."""
        return Counter(request.messages[-1].content for request in self.model.requests)


def here(story, run=run_in_virtual_time, **more):
    world = World(story, **more)
    run(world.here())
    return world


def elsewhere(story, run=run_in_virtual_time, sink=None, stop=None, watch=None, **crew):
    world = World(story, sink, stop=stop, watch=watch)
    run(world.elsewhere(**crew))
    return world


def bad_row(position):
    case = Case(id=str(position), input=f"x{position}")
    return Result(
        trial=Trial(case=case, position=position, mode="single"), output=Output(error="cases.csv:3: too few cells")
    )


def talk(count, kind="conversation", **more):
    turns = trials(count, mode=kind)
    said = AnsweredTurn(case=Case(id="said", input="said"), output=Output(value="before"))
    return Conversation(
        target="", turns=[said, *turns[:2], replace(bad_row(900), trial=replace(turns[2])), *turns[3:]], **more
    )


def flaky(request):
    """Fails twice of three times for reasons that pass."""
    flaky.asked[request.hash] += 1
    return echo(request) if flaky.asked[request.hash] % 3 == 0 else ModelCallError("busy", fault="transient")


flaky.asked = Counter()


def kept(trial):
    return AnsweredTrial(trial=trial, output=Output(value=f"kept {trial.case.id}"))


def refuses(request):
    if request.messages[-1].content in {"x3", "x4"}:
        raise ModelCallError("a wrong question", fault="rejected")
    return echo(request)


BAD = {"x3": ValueError("no such city"), "x5": SystemExit(3), "x7": asyncio.CancelledError()}
TWICE = lambda: [replace(t, case=replace(t.case, input=f"x{t.position % 3}")) for t in trials(12)]  # noqa: E731
STORIES = {
    "functions": Story(trials=lambda: trials(60), work=plain()),
    "no trials": Story(trials=list, work=plain()),
    "repeats": Story(trials=lambda: [t for n in range(3) for t in trials(9, repeat=n)], work=asking(2)),
    "failing targets": Story(trials=lambda: trials(20), work=plain(**{"": Upper(bad=BAD)})),
    "failing scorers": Story(trials=lambda: trials(20), work=plain(Is("x", bad="x3"), Is("y"))),
    "answers that come too late": Story(
        trials=lambda: trials(4), work=plain(**{"": Upper(seconds=9)}), limits=replace(LIMITS, timeout=1)
    ),
    "two targets, one of which is not there": Story(
        trials=lambda: [*trials(5, target="a"), *trials(5, target="gone")], work=plain(a=Upper())
    ),
    "rows that cannot be read": Story(
        trials=lambda: [bad_row(100), *trials(9), *map(bad_row, range(9, 40))], work=plain()
    ),
    "only rows that cannot be read": Story(trials=lambda: list(map(bad_row, range(3_000))), work=plain()),
    "outputs that are known": Story(trials=lambda: map(kept, trials(20)), work=plain()),
    "a conversation": Story(trials=lambda: [talk(8)], work=plain()),
    "a conversation that the target remembers": Story(trials=lambda: [talk(8), *trials(4)], work=plain(**{"": Chat()})),
    "a conversation with turns that fail": Story(trials=lambda: [talk(9)], work=plain(**{"": Upper(bad=BAD)})),
    "a model": Story(trials=lambda: trials(30), work=asking(2)),
    "a judge": Story(
        trials=lambda: trials(20),
        work=lambda model, die: {"targets": {"": Upper()}, "scorers": (Asks(model), Asks(model, 2))},
    ),
    "a model that fails now and then": Story(trials=lambda: trials(20), work=asking(), replies=flaky),
    "a model that refuses": Story(trials=lambda: trials(8), work=asking(), replies=refuses),
    "the same questions in many cases": Story(trials=TWICE, work=asking()),
    "a model that the target borrows": Story(trials=lambda: trials(9), work=plain(**{"": Lends()})),
}


def place(result):
    """Which trial it is of."""
    trial = result.trial
    return trial.position, trial.repeat, trial.mode, trial.target
