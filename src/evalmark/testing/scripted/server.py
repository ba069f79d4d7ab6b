"""A local HTTP server with the APIs of model providers, which checks requests and can misbehave."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from types import TracebackType
from typing import Self

from aiohttp import web

from evalmark.core.sync import BackgroundLoop

from .delivery import Outgoing, deliver
from .dialects import DIALECTS, Dialect, build_response
from .requests import SECRET_HEADERS, RawRequest, ScriptedRequest, WrongRequestError
from .responses import Delay, ScriptedResponse

ScriptedResponses = Callable[[ScriptedRequest], ScriptedResponse] | Sequence[ScriptedResponse] | None


class ScriptedServer:
    """A local model server that runs in a thread for the duration of a `with` block.

    All arguments but `port` may be changed while it runs. An error in `answer` is raised at the end of the block.

    Args:
        answer: What it responds: a function of the request, or a list that is used in order. Without it, and after the end of
            the list, it repeats the last message of the user, or returns a minimal object that fits the schema.
        latency: Seconds before each response.
        key: The only API key that it accepts; None accepts any.
        unsupported: Parts of a request that it rejects, as an older server would: `response_format`, `tools`, ….
        port: The port; 0 for a free one. Cached replies are found by the address, so tests of replay need a fixed port.

    Example:
        >>> from evalmark.testing.scripted import ScriptedServer, Status
        >>> with ScriptedServer([Status(429), "Oslo"]) as server:
        ...     server.url.startswith("http://127.0.0.1:")
        True
    """

    def __init__(
        self,
        answer: ScriptedResponses = None,
        *,
        latency: float = 0.0,
        key: str | None = None,
        unsupported: Sequence[str] = (),
        port: int = 0,
    ) -> None:
        self.latency = latency
        self.key = key
        self.unsupported = tuple(unsupported)
        self._port = port
        self.url = ""
        """`http://127.0.0.1:PORT`, without a slash at the end."""
        self._requests: list[ScriptedRequest] = []
        self._broken: Exception | None = None
        self._now = 0
        self._most = 0
        self._number = 0
        self._lock = threading.Lock()
        self.answer = answer

    @property
    def answer(self) -> ScriptedResponses:
        """What it responds; a new list starts from its beginning."""
        return self._answer

    @answer.setter
    def answer(self, answer: ScriptedResponses) -> None:
        with self._lock:
            self._answer = answer
            self._script: Iterator[ScriptedResponse] = (
                iter(()) if answer is None or callable(answer) else iter(tuple(answer))
            )

    @property
    def requests(self) -> list[ScriptedRequest]:
        """All requests so far, in order."""
        with self._lock:
            return sorted(self._requests, key=lambda request: request.number)

    @property
    def problems(self) -> list[str]:
        """Why requests were rejected, in order; empty if all were valid."""
        return [request.problem for request in self.requests if request.problem]

    @property
    def count(self) -> int:
        """The number of requests so far."""
        with self._lock:
            return self._number

    @property
    def in_flight(self) -> int:
        """The number of requests in flight."""
        with self._lock:
            return self._now

    @property
    def most_in_flight(self) -> int:
        """The highest number of requests in flight so far."""
        with self._lock:
            return self._most

    def __enter__(self) -> Self:
        self._loop = BackgroundLoop()
        try:
            self._runner, self.url = self._loop.run(self._start())
        except OSError:  # the port is in use
            self._loop.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.run(self._runner.cleanup())
        self._loop.close()
        if self._broken is not None and error is None:
            raise self._broken

    async def _start(self) -> tuple[web.AppRunner, str]:
        app = web.Application(client_max_size=64 * 2**20)
        for pattern, dialect in DIALECTS:
            app.router.add_post(pattern, self._handler(dialect))
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self._port, backlog=4_096)
        try:
            await site.start()
        except OSError:
            await runner.cleanup()
            raise
        host, port = runner.addresses[0][:2]
        return runner, f"http://{host}:{port}"

    def _handler(self, dialect: Dialect) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            number = self._request_started()
            try:
                if self.latency:
                    await asyncio.sleep(self.latency)
                outgoing = await self._outgoing(dialect, request, number)
                return await deliver(outgoing, request)
            finally:
                self._request_ended()

        return handle

    def _request_started(self) -> int:
        with self._lock:
            number = self._number
            self._number += 1
            self._now += 1
            self._most = max(self._most, self._now)
            return number

    def _request_ended(self) -> None:
        with self._lock:
            self._now -= 1

    async def _outgoing(self, dialect: Dialect, request: web.Request, number: int) -> Outgoing:
        try:
            raw = await _raw_request(request, number, self.key)
            scripted = _read(dialect, raw)
            dialect.check_support(scripted, raw.body, self.unsupported)
        except WrongRequestError as error:
            self._keep(_refused(dialect, request, number, str(error)))
            return dialect.fault(error)
        self._keep(scripted)
        try:
            answer = self._next(scripted)
            while isinstance(answer, Delay):
                await asyncio.sleep(answer.seconds)
                answer = answer.then
            return build_response(dialect, scripted, answer)
        except Exception as error:  # noqa: BLE001  `answer` is code of the user
            self._broken = self._broken or error
            return Outgoing.of({"error": {"message": f"the scripted answer failed: {error!r}"}}, status=500)

    def _keep(self, request: ScriptedRequest) -> None:
        with self._lock:
            self._requests.append(request)

    def _next(self, request: ScriptedRequest) -> ScriptedResponse:
        answer = self.answer
        if answer is None or callable(answer):
            return None if answer is None else answer(request)
        with self._lock:
            return next(self._script, None)


def _read(dialect: Dialect, request: RawRequest) -> ScriptedRequest:
    try:
        return dialect.read(request)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise WrongRequestError(f"the request does not have the documented form: {error!r}") from error


async def _raw_request(request: web.Request, number: int, key: str | None) -> RawRequest:
    if request.content_type != "application/json":
        raise WrongRequestError(f"the content type is {request.content_type!r}, not application/json")
    try:
        body = await request.json()
    except ValueError as error:
        raise WrongRequestError("We could not parse the JSON body of your request.") from error
    if not isinstance(body, dict):
        raise WrongRequestError("the body is not a JSON object")
    return RawRequest(
        path=request.path_qs,
        names=dict(request.match_info),
        query=dict(request.query),
        headers={name.lower(): value for name, value in request.headers.items()},
        body=body,
        number=number,
        key=key,
    )


def _refused(dialect: Dialect, request: web.Request, number: int, problem: str) -> ScriptedRequest:
    headers = {name.lower(): value for name, value in request.headers.items() if name.lower() not in SECRET_HEADERS}
    return ScriptedRequest(
        provider=dialect.provider,
        kind=dialect.kind,
        number=number,
        headers=headers,
        path=request.path,
        problem=problem,
    )
