"""Create exported evals and runs through the evals API of OpenAI, Azure OpenAI or a Foundry project."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from evalmark.core.errors import ConfigError, EvalmarkError, ModelCallError
from evalmark.core.text import count
from evalmark.models.providers.addresses import validate_address
from evalmark.models.providers.endpoint import Endpoint, find_endpoint, missing_key
from evalmark.models.providers.http import HttpClient, require_key
from evalmark.models.providers.network_errors import NetworkError
from evalmark.models.providers.request_body import encode_body
from evalmark.models.providers.response import read_json

AZURE_KEY = "AZURE_OPENAI_API_KEY"
AZURE_TOKEN = "AZURE_OPENAI_AD_TOKEN"  # noqa: S105  the name of a variable
_AZURE_HOSTS = (".azure.com", ".azure.us", ".azure.cn")
_AZURE_PATH = "/openai/v1"
_NO_TABLE: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedEval:
    """The service's ids of the created eval and runs."""

    eval_id: str
    runs: Mapping[str, str]
    """The id of each run, by the name of its file."""


def evals_endpoint(environ: Mapping[str, str], base_url: str | None = None) -> Endpoint:
    """Return the endpoint of the evals API, with the key from the environment.

    Without an address it is OpenAI, or the value of OPENAI_BASE_URL. An address under azure.com, or one that ends in
    `/openai/v1`, uses the key of Azure: AZURE_OPENAI_AD_TOKEN as a bearer token, else AZURE_OPENAI_API_KEY.

    >>> evals_endpoint({"AZURE_OPENAI_API_KEY": "key"}, "https://box.services.ai.azure.com/api/projects/mine").base_url
    'https://box.services.ai.azure.com/api/projects/mine/openai/v1'

    Raises:
        ConfigError: the address is invalid, or the key is missing.
    """
    if base_url is None:
        endpoint = find_endpoint("openai/evals", environ, _NO_TABLE)
    elif _is_azure(address := validate_address(base_url, "--base-url")):
        token = environ.get(AZURE_TOKEN, "").strip()
        endpoint = Endpoint(
            name="azure/evals",
            provider="openai" if token else "azure",  # which of the two headers holds the key
            model="evals",
            base_url=address if address.endswith(_AZURE_PATH) else f"{address.removesuffix('/openai')}{_AZURE_PATH}",
            key_variable=AZURE_TOKEN if token else AZURE_KEY,
            key=token or environ.get(AZURE_KEY, "").strip(),
            needs_key=True,
        )
    else:
        endpoint = find_endpoint("openai/evals", {**environ, "OPENAI_BASE_URL": base_url}, _NO_TABLE)
    if (fault := missing_key(endpoint)) is not None:
        raise ConfigError(fault)
    return endpoint


def headers_of(endpoint: Endpoint) -> dict[str, str]:
    """Return the headers of a request to the evals API, with the key."""
    preview = {"aoai-evals": "preview"} if endpoint.base_url.endswith(_AZURE_PATH) else {}  # Azure's evals need it
    if not endpoint.key:
        return preview
    key = {"api-key": endpoint.key} if endpoint.provider == "azure" else {"authorization": f"Bearer {endpoint.key}"}
    return preview | key


def _is_azure(address: str) -> bool:
    parts = urlsplit(address)
    return (parts.hostname or "").endswith(_AZURE_HOSTS) or parts.path.endswith(_AZURE_PATH)


async def post_evals(
    eval_body: Mapping[str, Any],
    runs: Mapping[str, Mapping[str, Any]],
    endpoint: Endpoint,
    http: HttpClient,
    within: float,
) -> CreatedEval:
    """Create the eval, then a run for each body; each request is sent once.

    Raises:
        EvalmarkError: the service refused a request, was unreachable, or replied without an id. What was created before
            remains, and the message names it.
    """
    eval_id = await _create("evals", eval_body, endpoint, http, within)
    made: dict[str, str] = {}
    for name, body in runs.items():
        try:
            made[name] = await _create(f"evals/{quote(eval_id, safe='')}/runs", body, endpoint, http, within)
        except EvalmarkError as error:
            created = f"The eval exists as {eval_id}, with {len(made)} of {count(len(runs), 'run')}."
            raise EvalmarkError(f"{error} {created}") from error
    return CreatedEval(eval_id=eval_id, runs=made)


def _was_never_sent(error: ModelCallError) -> bool:
    return isinstance(error.__context__, NetworkError) and not error.__context__.sent


async def _create(what: str, body: Mapping[str, Any], endpoint: Endpoint, http: HttpClient, within: float) -> str:
    require_key(endpoint)
    url = f"{endpoint.base_url}/{what}"
    try:
        answer = await http.post(url, encode_body(body, endpoint), headers_of(endpoint), within=within)
        data = read_json(answer, endpoint)
    except ModelCallError as error:
        if error.fault != "transient" or _was_never_sent(error):
            raise
        noun = "run" if what.endswith("/runs") else "eval"
        raise EvalmarkError(f"{error} The {noun} may exist nevertheless; check before you post it again.") from error
    created_id = data.get("id")
    if not isinstance(created_id, str) or not created_id:
        raise EvalmarkError(
            f"{endpoint.host} replied without an id when {what} was posted; check at the service whether it exists."
        )
    return created_id
