"""A chat model that replays the replies of the call log."""

import asyncio
from dataclasses import replace
from typing import Literal

from evalmark.core.context.trial_context import current_trial_context
from evalmark.core.errors import NotRecordedError, StoreError
from evalmark.core.protocols import CallLog, ChatModel
from evalmark.core.values.call import Reply, Request

from .keyed_request import KeyedRequest, with_key
from .logged_model import call_log_failure
from .meter import Meter

ReplayMode = Literal["auto", "off", "record", "strict"]
"""`auto`: a request with a cached reply is not sent. `record`: each request is sent once, and its reply replaces the cached one.
`strict`: nothing is sent; a request without a cached reply is an error. `off`: every request is sent."""

_FIRST_WORDS = 60
"""Characters of a prompt that an error message shows."""


class ReplayingModel:
    """A model that looks each request up in the call log first.

    Callers with the same key at the same time share one request and its result, errors included. If the caller that sends it
    is cancelled, the next one sends it. With `off` nothing is shared.
    """

    def __init__(
        self, model: ChatModel, call_log: CallLog | None, mode: ReplayMode = "auto", meter: Meter | None = None
    ) -> None:
        self.name, self.identity = model.name, model.identity
        self._model, self._call_log, self._mode, self._meter = model, call_log, mode, meter
        self._in_flight: dict[str, asyncio.Future[Reply]] = {}
        self._others: list[str] | None = None
        """The other models and addresses in the call log; None: not looked up yet."""
        self._fresh: set[str] = set()
        """Keys that this run has recorded; `record` sends each once."""

    async def __call__(self, request: Request) -> Reply:
        """Return the cached reply, or that of the model. Raises what the model raises.

        Raises:
            NotRecordedError: Strict replay finds no cached reply.
            RunStoppedError: The call log cannot be read.
        """
        request = with_key(request, self.identity)
        if self._mode == "off":
            return await self._model(request)
        key = request.cache_key
        while (other := self._in_flight.get(key)) is not None:
            await asyncio.wait({other})
            if not other.cancelled():
                current_trial_context().has_unreplayable_call = True  # it may be: only the other trial knows
                return self._replayed(other.result())
        mine = self._in_flight[key] = asyncio.get_running_loop().create_future()
        try:
            reply = await self._first(request)
        except asyncio.CancelledError:
            mine.cancel()
            raise
        except BaseException as error:
            mine.set_exception(error)
            mine.exception()  # marks the error as retrieved: no other caller may be waiting
            raise
        else:
            mine.set_result(reply)
            return reply
        finally:
            del self._in_flight[key]

    async def _first(self, request: KeyedRequest) -> Reply:
        """Return the cached reply, or that of the model, for the first caller with this key."""
        if self._mode != "record" or request.cache_key in self._fresh:
            found = await self._find(request.cache_key)
            if found is not None:
                return self._replayed(found)
        if self._mode == "strict":
            raise NotRecordedError(await self._missing(request))
        reply = await self._model(request)
        if self._mode == "record":
            self._fresh.add(request.cache_key)
        return reply

    async def _find(self, key: str) -> Reply | None:
        try:
            return None if self._call_log is None else await self._call_log.find(key)
        except StoreError as error:
            raise call_log_failure(error) from error

    def _replayed(self, reply: Reply) -> Reply:
        """Mark a reply as cached and count it."""
        if self._meter is not None:
            self._meter.record_replay(self.name, reply)
        return reply if reply.replayed else replace(reply, replayed=True)

    async def _missing(self, request: KeyedRequest) -> str:
        first = request.original.key(self.identity)
        has_first = first != request.cache_key and await self._find(first)
        which = f"for repeat {request.repeat + 1} and use {request.use + 1} of it" if has_first else "to it"
        missing = (
            f"The call log has no reply {which} under the key {request.cache_key}, and strict replay sends nothing."
        )
        location, advice = await self._elsewhere(request)
        if self._meter is not None and advice:
            self._meter.note(f"{self.name}: {advice}")
        advice = (
            advice or "Run once with --replay auto at the same address, and commit what `evalmark cache export` writes."
        )
        return f"{self.name}: not recorded at {self.identity}{location}: {_first_words(request)!r}. {missing} {advice}"

    async def _elsewhere(self, request: KeyedRequest) -> tuple[str, str]:
        """Where else the request is recorded, and how to use that reply here; both empty if it is nowhere."""
        mine, _, address = self.identity.rpartition("@")
        for identity in await self._identities():
            if await self._find(request.original.key(identity, request.repeat, request.use)) is None:
                continue
            model, _, other = identity.rpartition("@")
            if model != mine:
                return (
                    f", but at {identity}",
                    f"The same requests are recorded for {identity}; name that model instead.",
                )
            return f", but at {other}", (
                f"The same requests are recorded for another address, {other}. To replay them at {address}: evalmark cache "
                f"export calls.jsonl, then evalmark cache import calls.jsonl --address {other}={address}"
            )
        return "", ""

    async def _identities(self) -> list[str]:
        """The other models and addresses in the call log, the same model first."""
        if self._others is None:
            mine = self.identity.rpartition("@")[0]
            known = [] if self._call_log is None else await self._call_log.identities()
            others = [identity for identity in known if identity != self.identity]
            self._others = sorted(others, key=lambda identity: identity.rpartition("@")[0] != mine)
        return self._others


def _first_words(request: Request) -> str:
    content = request.messages[-1].content if request.messages else ""
    words = " ".join(str(content)[: 4 * _FIRST_WORDS].split())
    return words if len(words) <= _FIRST_WORDS else f"{words[:_FIRST_WORDS]}…"
