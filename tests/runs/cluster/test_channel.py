"""A worker's way to its coordinator: nothing that is sent is lost, and nobody waits for what nobody will say."""

import asyncio
import threading

import pytest

from evalmark import Turn
from evalmark.core.context.trial_context import TrialContext, trial_context
from evalmark.core.values.call import Reply, Request
from evalmark.errors import ModelCallError, RunStoppedError, ToolError
from evalmark.models.middleware.keyed_request import with_key
from evalmark.runs.cluster.channel import Channel
from evalmark.runs.cluster.messages import (
    AttemptFinished,
    CallRequested,
    ReplyDelta,
    SendNow,
    ServiceRequested,
    TicketCancelled,
    TicketResult,
    WorkerOnlyError,
)
from evalmark.testing.chat import ScriptedModel
from evalmark.testing.virtual_time import run_in_virtual_time

REQUEST = with_key(Request(messages=(Turn(role="user", content="?"),)), "testing:scripted/model")
BUSY = ModelCallError("busy", fault="transient")


class Coordinator:
    """The other end of a post, which says what it is told to say to each thing that it hears."""

    def __init__(self, *answers):
        self.rung = 0
        self.heard = []
        self.answers = list(answers)
        self.post = Channel(self.notify)

    def notify(self):
        self.rung += 1

    async def during(self, work):
        """What the work gives, while this coordinator answers."""
        task = asyncio.create_task(work)
        while not task.done():
            await asyncio.sleep(0.001)
            for message in self.post.fetch():
                self.heard.append(message)
                for answer in self.answers.pop(0) if self.answers else ():
                    self.post.take(answer)
        return task.result()


def asked(*answers, replies=("yes",)):
    """What comes of one request when the coordinator answers so, and what the coordinator has heard."""
    coordinator, model = Coordinator(*answers), ScriptedModel(list(replies))
    return (
        run_in_virtual_time(coordinator.during(coordinator.post.ask(model, REQUEST))),
        coordinator.heard,
        len(model.requests),
    )


def test_it_rings_once_for_all_that_is_to_be_fetched():
    coordinator = Coordinator()
    for ticket in range(3):
        coordinator.post.send(TicketCancelled(ticket))
    assert coordinator.rung == 1
    assert coordinator.post.fetch() == [TicketCancelled(0), TicketCancelled(1), TicketCancelled(2)]
    assert coordinator.post.fetch() == []
    coordinator.post.send(TicketCancelled(3))
    assert coordinator.rung == 2


def test_a_request_goes_out_when_the_coordinator_says_so_and_its_reply_is_what_the_coordinator_adds_to_it():
    reply, heard, sent = asked([SendNow(1)], [TicketResult(1, ReplyDelta({"cost": 0.5, "key": "kept"}))])
    assert (reply.text, reply.cost, reply.key, sent) == ("yes", 0.5, "kept", 1)
    assert [type(message) for message in heard] == [CallRequested, AttemptFinished]
    assert heard[0].request is REQUEST


def test_a_request_that_the_coordinator_knows_the_reply_of_does_not_go_out():
    reply, _, sent = asked([TicketResult(1, Reply(text="kept"))])
    assert (reply.text, sent) == ("kept", 0)


def test_a_request_goes_out_as_often_as_the_coordinator_says():
    reply, heard, sent = asked([SendNow(1)], [SendNow(1)], [TicketResult(1, ReplyDelta({}))], replies=[BUSY, "yes"])
    assert (reply.text, sent) == ("yes", 2)
    assert isinstance(heard[1].value, ModelCallError)


@pytest.mark.parametrize(
    ("told", "kind", "text"),
    [
        pytest.param(RunStoppedError("no budget"), RunStoppedError, "no budget", id="an error of ours"),
        pytest.param(WorkerOnlyError("TypeError: no"), TypeError, "no", id="the worker's own error, told back to it"),
    ],
)
def test_what_the_coordinator_makes_of_an_error_is_raised(told, kind, text):
    with pytest.raises(kind, match=text):
        asked([SendNow(1)], [TicketResult(1, told)], replies=[TypeError("no")])


class UnprintableError(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def test_an_error_without_a_text_is_told_all_the_same():
    coordinator, model = (
        Coordinator([SendNow(1)], [TicketResult(1, WorkerOnlyError("?"))]),
        ScriptedModel([UnprintableError()]),
    )
    with pytest.raises(UnprintableError):
        run_in_virtual_time(coordinator.during(coordinator.post.ask(model, REQUEST)))
    assert str(coordinator.heard[1].value) == "UnprintableError: (its text cannot be shown)"


@pytest.mark.parametrize("answers", [[], [[SendNow(1)]]], ids=["before it goes out", "while it is under way"])
def test_who_gives_up_a_request_tells_the_coordinator(answers):
    coordinator = Coordinator(*answers)

    async def given_up():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(coordinator.post.ask(ScriptedModel(["late"], seconds=60), REQUEST), 1)

    run_in_virtual_time(coordinator.during(given_up()))
    coordinator.heard += coordinator.post.fetch()
    assert coordinator.heard[-1] == TicketCancelled(1)
    coordinator.post.take(TicketResult(1, Reply(text="too late")))  # nobody waits, and nothing happens


def test_waiting_for_the_coordinator_counts_as_waiting_and_being_answered_does_not():
    coordinator, uses = Coordinator(), TrialContext()

    async def asks():
        with trial_context(uses):
            await coordinator.post.ask(ScriptedModel(["yes"], seconds=5), REQUEST)

    async def story():
        task = asyncio.create_task(asks())
        await asyncio.sleep(3)
        coordinator.post.take(SendNow(1))
        await asyncio.sleep(10)
        coordinator.post.take(TicketResult(1, ReplyDelta({})))
        await task

    run_in_virtual_time(story())
    assert uses.waited() == pytest.approx(8)


def test_wishes_are_answered_by_their_tickets_in_any_order():
    coordinator = Coordinator([], [TicketResult(2, "second"), TicketResult(1, "first")])

    async def both():
        return await asyncio.gather(coordinator.post.request("find", "a"), coordinator.post.request("find", "b"))

    assert run_in_virtual_time(coordinator.during(both())) == ["first", "second"]
    assert coordinator.heard == [ServiceRequested(1, "find", ("a",)), ServiceRequested(2, "find", ("b",))]


def test_a_thread_can_wait_for_a_wish_and_gets_its_error():
    coordinator, found = Coordinator(), []

    def work():
        found.append(coordinator.post.request_in_thread("find", "key"))
        with pytest.raises(ToolError, match="another function"):
            coordinator.post.request_in_thread("claim", "tool")
        found.append("raised")

    thread = threading.Thread(target=work)
    thread.start()
    answers = {"find": "recorded", "claim": ToolError("another function")}
    while thread.is_alive():
        for message in coordinator.post.fetch():
            coordinator.post.take(TicketResult(message.ticket, answers[message.service]))
    thread.join()
    assert found == ["recorded", "raised"]


def test_who_brings_more_than_may_wait_goes_on_when_it_is_fetched():
    async def story():
        post = Channel(lambda: None)
        for ticket in range(3):
            post.send(TicketCancelled(ticket))
        await post.wait_for_space(3)
        waiting = asyncio.create_task(post.wait_for_space(2))
        await asyncio.sleep(1)
        assert not waiting.done()
        post.fetch()
        await waiting

    run_in_virtual_time(story())


def test_nothing_is_lost_when_who_waited_for_room_is_gone():
    async def story():
        post = Channel(lambda: None)
        post.send(TicketCancelled(1))
        waiting = asyncio.create_task(post.wait_for_space(0))
        await asyncio.sleep(1)
        waiting.cancel()
        await asyncio.sleep(1)
        return post.fetch()

    assert run_in_virtual_time(story()) == [TicketCancelled(1)]


def test_many_threads_may_send_at_the_same_time():
    rung, post = [], Channel(lambda: rung.append(1))
    threads = [threading.Thread(target=lambda: [post.send(TicketCancelled(n)) for n in range(500)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    heard = []
    while any(thread.is_alive() for thread in threads):
        heard += post.fetch()
    heard += post.fetch()
    assert len(heard) == 2_000
    assert 1 <= len(rung) <= 2_000
