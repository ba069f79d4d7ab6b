"""A model that is not asked what it has answered already."""

import asyncio
from dataclasses import replace
from typing import Literal

from evalmark.core.errors import NotRecordedError, StoreError
from evalmark.core.protocols import CallLog, ChatModel
from evalmark.core.values.call import Reply, Request

from .keyed_request import KeyedRequest, with_key
from .logged_model import call_log_failure
from .meter import Meter

ReplayMode = Literal["auto", "off", "record", "strict"]
"""`auto`: what the journal has is not asked again. `record`: everything is asked once more and replaces what the journal
has. `strict`: nothing is sent, what the journal does not have is an error. `off`: every request is sent."""

_FIRST_WORDS = 60
"""Characters of a prompt in an error."""


class ReplayingModel:
    """A model in front of which the journal is asked.

    The same request under the same key goes out once, also when it is made by several callers at the same moment: they
    share what comes of it, an error included, though only a good reply is found by those who come later. If the
    caller that sends it is cancelled, the next one sends it. With `off` nothing is shared.
    """

    def __init__(
        self, model: ChatModel, journal: CallLog | None, mode: ReplayMode = "auto", meter: Meter | None = None
    ) -> None:
        self.name, self.identity = model.name, model.identity
        self._model, self._journal, self._mode, self._meter = model, journal, mode, meter
        self._under_way: dict[str, asyncio.Future[Reply]] = {}
        self._others: list[str] | None = None
        """The other models and addresses that the journal knows; None: nobody has looked yet."""
        self._fresh: set[str] = set()
        """Keys that this run has recorded; `record` asks for each once."""

    async def __call__(self, request: Request) -> Reply:
        """The recorded reply, or the model's. Raises what the model raises.

        Raises:
            NotRecordedError: strict replay finds none.
            RunStoppedError: the journal cannot be read.
        """
        request = with_key(request, self.identity)
        if self._mode == "off":
            return await self._model(request)
        key = request.cache_key
        while (other := self._under_way.get(key)) is not None:
            await asyncio.wait({other})
            if not other.cancelled():
                return self._again(other.result())
        mine = self._under_way[key] = asyncio.get_running_loop().create_future()
        try:
            reply = await self._one(request)
        except asyncio.CancelledError:
            mine.cancel()
            raise
        except BaseException as error:
            mine.set_exception(error)
            mine.exception()  # nobody else may be waiting
            raise
        else:
            mine.set_result(reply)
            return reply
        finally:
            del self._under_way[key]

    async def _one(self, request: KeyedRequest) -> Reply:
        """The recorded reply, or the model's, for the first of those who ask at the same moment."""
        if self._mode != "record" or request.cache_key in self._fresh:
            found = await self._find(request.cache_key)
            if found is not None:
                return self._again(found)
        if self._mode == "strict":
            raise NotRecordedError(await self._missing(request))
        reply = await self._model(request)
        if self._mode == "record":
            self._fresh.add(request.cache_key)
        return reply

    async def _find(self, key: str) -> Reply | None:
        try:
            return None if self._journal is None else await self._journal.find(key)
        except StoreError as error:
            raise call_log_failure(error) from error

    def _again(self, reply: Reply) -> Reply:
        """A reply that costs nothing now."""
        if self._meter is not None:
            self._meter.replayed(self.name, reply)
        return reply if reply.replayed else replace(reply, replayed=True)

    async def _missing(self, request: KeyedRequest) -> str:
        """What is not recorded, and what to do about it."""
        first = request.original.key(self.identity)
        has_first = first != request.cache_key and await self._find(first)
        asked = f"for repeat {request.repeat + 1} and use {request.use + 1} of it" if has_first else "to it"
        missing = (
            f"The journal has no reply {asked} under the key {request.cache_key}, and strict replay sends nothing."
        )
        place, advice = await self._elsewhere(request)
        if self._meter is not None and advice:
            self._meter.note(f"{self.name}: {advice}")
        advice = (
            advice or "Run once with --replay auto at the same address, and commit what `evalmark cache export` writes."
        )
        return f"{self.name}: not recorded at {self.identity}{place}: {_first_words(request)!r}. {missing} {advice}"

    async def _elsewhere(self, request: KeyedRequest) -> tuple[str, str]:
        """Where the same request is recorded, and how to use the reply here; empty where it is nowhere."""
        mine, _, address = self.identity.rpartition("@")
        for identity in await self._identities():
            if await self._find(request.original.key(identity, request.repeat, request.use)) is None:
                continue
            model, _, other = identity.rpartition("@")
            if model != mine:
                return f", but at {identity}", f"The same requests are recorded of {identity}; name that model instead."
            return f", but at {other}", (
                f"The same requests are recorded for another address, {other}. To replay them at {address}: evalmark cache "
                f"export calls.jsonl, then evalmark cache import calls.jsonl --address {other}={address}"
            )
        return "", ""

    async def _identities(self) -> list[str]:
        """The other models and addresses that the journal knows: the same model first."""
        if self._others is None:
            mine = self.identity.rpartition("@")[0]
            known = [] if self._journal is None else await self._journal.identities()
            others = [identity for identity in known if identity != self.identity]
            self._others = sorted(others, key=lambda identity: identity.rpartition("@")[0] != mine)
        return self._others


def _first_words(request: Request) -> str:
    """How the last message begins: it is what tells one request from another."""
    content = request.messages[-1].content if request.messages else ""
    words = " ".join(str(content)[: 4 * _FIRST_WORDS].split())
    return words if len(words) <= _FIRST_WORDS else f"{words[:_FIRST_WORDS]}…"
