"""Chat models of the package pydantic-ai, for providers that evalmark has no client for."""

import asyncio
import time
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from evalmark.core.errors import ModelCallError
from evalmark.core.lazy import need
from evalmark.core.text import one_line
from evalmark.core.values.call import Attempt, Reply, ReplyForm, ReplyStatus, Request
from evalmark.core.values.case import Usage
from evalmark.core.values.plain_data import canonical, plain
from evalmark.inputs.secrets.known_secrets import build_index, environment_secrets

from .endpoint import Endpoint
from .http import HttpClient
from .replies import token_count, tool_call
from .request_body import content_of, split_system, text_of
from .response import MAX_BODY_CHARS
from .structured import EMPTY_CALL, TOOL, ForcedCall, StructuredOutputFallback, object_schema, read_forced_call

if TYPE_CHECKING:
    from evalmark.core.errors import CallFault

_NAMES = {"stop": "stop_sequences"}
_STATUSES: Mapping[Any, ReplyStatus] = {
    None: "ok",
    "stop": "ok",
    "tool_call": "ok",
    "length": "truncated",
    "content_filter": "filtered",
}
_FAULTS: tuple[tuple[str, "CallFault"], ...] = (
    ("ModelQuotaExceededError", "closed"),
    ("ModelAuthenticationError", "closed"),
    ("ModelNotFoundError", "closed"),
    ("ModelRequestRejectedError", "rejected"),
    ("ModelRateLimitError", "transient"),
    ("ModelUnavailableError", "transient"),
    ("ModelServerError", "transient"),
    ("ModelConnectionError", "transient"),
    ("UserError", "rejected"),
)
"""Exceptions of pydantic-ai, the specific ones first; earlier versions have fewer."""
_CLOSED = (401, 402, 403, 404)
_PASSING = (408, 409, 425, 429)


class PydanticAIChat:
    """A chat model of pydantic-ai, which finds its address and key itself.

    `model`, a `Model` of pydantic-ai, replaces the one that the endpoint names. Values of `environ` that may be keys are
    removed from error messages.

    Raises:
        MissingExtraError: pydantic-ai is not installed.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        http: HttpClient,
        within: float,
        *,
        environ: Mapping[str, str] | None = None,
        model: Any = None,
    ) -> None:
        need("pydantic_ai", "pydantic-ai")
        self.name = endpoint.name
        self.identity = endpoint.identity
        self._endpoint = endpoint
        self._http = http  # used to close the connections of pydantic-ai
        self._within = within
        self._secrets = build_index(environment_secrets(environ or {}))
        self._given = model
        self._models: dict[asyncio.AbstractEventLoop, Any] = {}
        self._fallback = StructuredOutputFallback()

    async def __call__(self, request: Request) -> Reply:
        """Send one request; one more attempt is made for each form of structured output that the server rejects.

        Raises:
            ModelCallError: There is no reply.
        """
        model = await self._model()

        async def ask(part: Request, form: ReplyForm) -> Reply:
            return await self._ask(model, part, form)

        return await self._fallback.ask(request, ask)

    async def _model(self) -> Any:
        """The model of the running loop; connections belong to a loop."""
        loop = asyncio.get_running_loop()
        if (model := self._models.get(loop)) is not None:
            return model
        self._models = {other: model for other, model in self._models.items() if not other.is_closed()}
        try:
            model = self._models[loop] = _part("models").infer_model(self._given or self._endpoint.model)
            await model.__aenter__()
        except Exception as error:  # noqa: BLE001  the SDK of any provider
            self._models.pop(loop, None)
            raise self._failed(error, "closed", 0.0) from None

        async def close() -> None:
            self._models.pop(loop, None)
            await model.__aexit__(None, None, None)

        self._http.on_close(close)
        return model

    async def _ask(self, model: Any, request: Request, form: ReplyForm) -> Reply:
        messages = _messages(request, self._endpoint)
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self._within):
                response = await _part("direct").model_request(
                    model,
                    messages,
                    model_settings=self._settings(model, request),
                    model_request_parameters=_parameters(request, form),
                    instrument=False,
                )
        except TimeoutError as error:
            late = TimeoutError(str(error) or f"no complete response within {self._within:g} s")
            raise self._failed(late, "transient", time.perf_counter() - started) from None
        except Exception as error:  # noqa: BLE001  the SDK of any provider
            raise self._failed(error, _fault(error), time.perf_counter() - started) from None
        return _reply(response, form, time.perf_counter() - started)

    def _settings(self, model: Any, request: Request) -> dict[str, Any]:
        given = {_NAMES.get(name, name): plain(value) for name, value in request.settings.items() if value is not None}
        if isinstance(stop := given.get("stop_sequences"), str):
            given["stop_sequences"] = [stop]
        # Retries are made by RetryingModel.
        alone = {} if "max_retries" in getattr(model, "unsupported_settings", ()) else {"max_retries": 0}
        return {**alone, **given}

    def _failed(self, error: Exception, fault: "CallFault", seconds: float) -> ModelCallError:
        body = getattr(error, "body", None)
        text = self._secrets.masked(str(error) if body is None else canonical(body))
        status = getattr(error, "status_code", None)
        shown = f" {status}" if isinstance(status, int) else ""
        message = f"{self.name}: {type(error).__name__}{shown}: {one_line(text, 300).rstrip('.')}."
        attempt = Attempt(
            seconds=seconds,
            error=message,
            status=status if isinstance(status, int) else None,
            body=text[:MAX_BODY_CHARS],
        )
        wait = getattr(error, "retry_after", None)
        pause = float(wait) if fault == "transient" and isinstance(wait, (int, float)) and wait >= 0 else None
        return ModelCallError(message, fault=fault, attempts=(attempt,), retry_after=pause)


def _part(name: str) -> ModuleType:
    return need(f"pydantic_ai.{name}", "pydantic-ai")


def _fault(error: Exception) -> "CallFault":
    known = _part("exceptions")
    for name, fault in _FAULTS:
        if isinstance(error, getattr(known, name, ())):
            return fault
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and 400 <= status < 500 and status not in _PASSING:
        return "closed" if status in _CLOSED else "rejected"
    # Other errors are in the request or in the code; a retry would not help.
    return "transient" if isinstance(error, (OSError, known.AgentRunError)) else "rejected"


def _messages(request: Request, endpoint: Endpoint) -> list[Any]:
    """The conversation as messages of pydantic-ai: requests and responses in turn."""
    words = _part("messages")
    system, turns = split_system(request.messages, endpoint)
    found: list[Any] = []
    waiting = [words.SystemPromptPart(system)] if system else []
    for role, content in turns:
        text = _only_text(content, endpoint)
        if role == "user":
            waiting.append(words.UserPromptPart(text))
            continue
        if waiting:
            found.append(words.ModelRequest(waiting))
            waiting = []
        found.append(words.ModelResponse([words.TextPart(text)]))
    return [*found, words.ModelRequest(waiting)] if waiting else found


def _only_text(content: Any, endpoint: Endpoint) -> str:
    parts = content_of(content)
    if isinstance(parts, list) and any(part.get("type") != "text" for part in parts):
        fault = f"{endpoint.name}: a message has parts other than text, which pydantic-ai/ models do not support. Name the provider itself."
        raise ModelCallError(fault, fault="rejected", attempts=(Attempt(seconds=0.0, error=fault),))
    return text_of(parts)


def _parameters(request: Request, form: ReplyForm) -> Any:
    parameters = _part("models").ModelRequestParameters
    if form == "schema":
        definition = _part("output").OutputObjectDefinition(json_schema=object_schema(request), name=TOOL)
        return parameters(output_mode="native", output_object=definition)
    if form == "tool":
        tool = _part("tools").ToolDefinition(
            name=TOOL, description="Gives the answer.", parameters_json_schema=object_schema(request), kind="output"
        )
        return parameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
    return parameters()


def _reply(response: Any, form: ReplyForm, seconds: float) -> Reply:
    text = "".join(_contents(response, "text"))
    calls = tuple(tool_call(part.tool_name, part.args) for part in response.parts if part.part_kind == "tool-call")
    found = read_forced_call(text, calls) if form == "tool" else ForcedCall(text, None, calls)
    status = _status(response, empty=found == EMPTY_CALL)
    if not found.text and status == "refused":
        found = found._replace(text=str((response.provider_details or {}).get("refusal") or ""))
    return Reply(
        text=found.text,
        status=status,
        data=found.data,
        reasoning="".join(_contents(response, "thinking")),
        tool_calls=found.calls,
        usage=read_usage(response.usage),
        model=response.model_name or "",
        seconds=seconds,
    )


def _contents(response: Any, kind: str) -> list[str]:
    return [part.content for part in response.parts if part.part_kind == kind and isinstance(part.content, str)]


def _status(response: Any, *, empty: bool) -> ReplyStatus:
    details = response.provider_details or {}
    if details.get("refusal") or details.get("finish_reason") == "refusal":
        return "refused"
    # A paused turn, or one that ended with an error, is incomplete.
    whole = getattr(response, "state", "complete") == "complete"
    status = _STATUSES.get(response.finish_reason, "truncated") if whole else "truncated"
    return "empty" if status == "ok" and empty else status


def read_usage(given: Any) -> Usage:
    """Read the token counts; zeros become None, since pydantic-ai uses them for unknown counts too."""
    used = token_count(getattr(given, "input_tokens", None)) or None
    if used is None or getattr(given, "unmeasured_requests", None):
        return Usage()
    return Usage(
        input_tokens=used,
        output_tokens=token_count(given.output_tokens),
        cached_tokens=token_count(given.cache_read_tokens) or None,
        cache_write_tokens=token_count(given.cache_write_tokens) or None,
        reasoning_tokens=token_count(getattr(given, "output_reasoning_tokens", None)) or None,
    )
