"""The base class of chat models that are called over HTTP."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from evalmark.core.values.call import Reply, ReplyForm, Request

from .endpoint import Endpoint
from .http import HttpClient, require_key
from .request_body import refuse_reserved_settings
from .response import Response
from .structured import StructuredOutputFallback


class HttpChat(ABC):
    """A chat model at an address; subclasses encode requests and read responses in the format of their provider."""

    def __init__(
        self, endpoint: Endpoint, http: HttpClient, within: float, *, url: str, headers: Mapping[str, str]
    ) -> None:
        """`within` is the timeout of each attempt in seconds."""
        self.name, self.identity = endpoint.name, endpoint.identity
        self._endpoint, self._http, self._within = endpoint, http, within
        self._url, self._headers = url, headers
        self._fallback = StructuredOutputFallback()

    async def __call__(self, request: Request) -> Reply:
        """Send one request; one more attempt is made for each form of structured output that the server rejects.

        Raises:
            ModelCallError: There is no reply.
        """
        require_key(self._endpoint)
        refuse_reserved_settings(request, self._endpoint)
        return await self._fallback.ask(request, self._send)

    async def _send(self, request: Request, form: ReplyForm) -> Reply:
        response = await self._http.post(self._url, self._encode(request, form), self._headers, within=self._within)
        return self._read(response, form)

    @abstractmethod
    def _encode(self, request: Request, form: ReplyForm) -> bytes: ...

    @abstractmethod
    def _read(self, response: Response, form: ReplyForm) -> Reply: ...
