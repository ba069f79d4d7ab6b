"""An HTTP service under test, called like a model: with the same limits, retries, call log and cached replies."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from evalmark.core.errors import ModelCallError
from evalmark.core.lazy import LazyModule
from evalmark.core.values.call import Reply, Request
from evalmark.core.values.plain_data import fingerprint
from evalmark.inputs.documents.json_query import missing_part, query_json, response_json
from evalmark.inputs.secrets.known_secrets import mask_key, register_secret
from evalmark.inputs.suites.services import VARIABLE

from .endpoint import PROVIDERS, SERVICE, Endpoint
from .http import HttpClient
from .replies import finite_float, kept_headers
from .response import Response, check_status, response_error

if TYPE_CHECKING:
    from . import anthropic, openai
else:
    anthropic = LazyModule("evalmark.models.providers.anthropic")
    openai = LazyModule("evalmark.models.providers.openai")


_OF_ONE_CASE = (403, 404)
"""Statuses that may be meant for one case only: a filter that refuses its text, a record that does not exist."""


@dataclass(kw_only=True, eq=False)
class HttpService:
    """A service at an address. The settings of a request hold its `url`, `method`, `headers` and `content_type`.

    Headers of a request hold `${NAME}` for environment variables, whose values are filled in only here: what is logged
    has the name.
    """

    has_price: ClassVar[bool] = False

    name: str
    url: str
    """A template; its server is fixed."""
    http: HttpClient
    queries: Mapping[str, str]
    """The JSONPath of each part of a response that has to be there."""
    headers: Mapping[str, str]
    environ: Mapping[str, str] = field(repr=False)
    within: float
    """The timeout of each attempt in seconds."""
    has_answered: bool = field(default=False, init=False)
    """Whether a request has been answered with a status of 2xx."""

    @property
    def identity(self) -> str:
        """Its address."""
        return f"{SERVICE}/service@{self.url}"

    @property
    def variant(self) -> str:
        """Differs between services at one address that get other headers, or whose responses are read in another way."""
        return fingerprint(self.headers, self.queries)

    @property
    def fault(self) -> str | None:
        """Why no request can be sent: a variable that is missing, or that belongs to another host; None if there is none."""
        for variable in self._variables:
            value = self.environ.get(variable, "")
            if not value:
                return (
                    f"{self.name}: a header names the variable {variable}, which is not set; set it, or name a file that "
                    "does with --env-file."
                )
            if not (value.isascii() and value.isprintable()):
                return (
                    f"{self.name}: the variable {variable} contains a character that headers cannot have. Set it again."
                )
            if not self._may_send(variable):
                return (
                    f"{self.name}: a header would send {variable}, the key of a model provider, to "
                    f"{urlsplit(self.url).netloc}; put the key of that server into a variable with another name."
                )
        return None

    async def __call__(self, request: Request) -> Reply:
        """Send one request.

        Raises:
            ModelCallError: There is no response, its status is not 2xx, or it lacks a part that the suite names.
        """
        if fault := self.fault:
            raise ModelCallError(fault, fault="closed")
        settings = request.settings
        secrets = [self.environ[variable] for variable in self._variables]
        for secret in secrets:
            register_secret(secret)
        headers = {name.lower(): self._filled(value) for name, value in self.headers.items()}
        if settings.get("content_type"):
            headers.setdefault("content-type", str(settings["content_type"]))
        body = "".join(str(turn.content) for turn in request.messages).encode(errors="surrogatepass")
        url, method = str(settings["url"]), str(settings["method"])
        response = await self.http.send(method, url, body, headers, within=self.within)
        return self._read(_without(response, secrets))

    @cached_property
    def _variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(variable for value in self.headers.values() for variable in VARIABLE.findall(value)))

    def _may_send(self, variable: str) -> bool:
        """Return whether the variable is no provider's key, or that of the provider at this address."""
        owners = [provider for provider in PROVIDERS.values() if variable in provider.key_variables]
        places = [p.base_url for p in owners] + [self.environ.get(p.url_variable, "") for p in owners]
        return not owners or urlsplit(self.url).netloc in {urlsplit(place).netloc for place in places}

    def _filled(self, value: str) -> str:
        return VARIABLE.sub(lambda found: self.environ[found[1]], value)

    def _read(self, response: Response) -> Reply:
        endpoint = Endpoint(
            name=self.name,
            provider=SERVICE,
            model="",
            base_url=self.url,
            key_variable=next(iter(self._variables), ""),
        )
        try:
            check_status(response, endpoint)
        except ModelCallError as error:
            has_own_address = response.status == 404 and "{{" in self.url
            if has_own_address or (self.has_answered and response.status in _OF_ONE_CASE):
                error.fault = "rejected"
            raise
        self.has_answered = True
        text = response.body.decode("utf-8", errors="replace")
        if fault := missing_part(text, self.queries):
            raise response_error(response, endpoint, f"answered without what the suite expects: {fault}", "rejected")
        return Reply(
            text=text,
            status="ok" if text.strip() else "empty",
            seconds=response.seconds,
            headers=kept_headers(response.headers),
            **spending_parts(text, self.queries),
        )


def _without(response: Response, secrets: list[str]) -> Response:
    """Mask secrets that the service sends back."""
    body = text = response.body.decode(errors="surrogateescape")
    for secret in secrets:
        text = mask_key(text, secret)
    return response if text == body else response._replace(body=text.encode(errors="surrogateescape"))


def spending_parts(text: str, queries: Mapping[str, str]) -> dict[str, Any]:
    """Return the usage and the cost that a response reports."""
    found: dict[str, Any] = {}
    if "usage" in queries and isinstance(usage := query_json(queries["usage"], response_json(text)), dict):
        found["usage"] = openai.read_usage(usage) if "prompt_tokens" in usage else anthropic.read_usage(usage)
    if "cost" in queries and (cost := finite_float(query_json(queries["cost"], response_json(text)))) is not None:
        found["cost"] = cost
    return found
