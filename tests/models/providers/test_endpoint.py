"""Which endpoint a name means, and what is said when it means none."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.errors import ConfigError
from evalmark.models.providers.addresses import validate_address
from evalmark.models.providers.endpoint import PROVIDERS, Endpoint, find_endpoint, missing_key
from tests.conftest import ROOT

CANARY = "sk-canary-0123456789"


@pytest.mark.parametrize(
    ("name", "environ", "identity"),
    [
        pytest.param("openai/m", {}, "openai/m@https://api.openai.com/v1", id="OpenAI"),
        pytest.param("openai/m", {"OPENAI_BASE_URL": "http://box:8000/v1/"}, "openai/m@http://box:8000/v1", id="OpenAI elsewhere"),
        pytest.param("anthropic/m", {}, "anthropic/m@https://api.anthropic.com", id="Anthropic"),
        pytest.param("anthropic/m", {"ANTHROPIC_BASE_URL": "http://box/v1"}, "anthropic/m@http://box", id="Anthropic elsewhere, with the version"),
        pytest.param("gemini/m", {}, "gemini/m@https://generativelanguage.googleapis.com", id="Gemini"),
        pytest.param("google/m", {}, "gemini/m@https://generativelanguage.googleapis.com", id="Gemini by its maker"),
        pytest.param("azure/d", {"AZURE_OPENAI_ENDPOINT": "https://r.example/"}, "azure/d@https://r.example", id="Azure"),
        pytest.param("azure/d", {"AZURE_OPENAI_ENDPOINT": "https://r.example/openai/v1/"}, "azure/d@https://r.example", id="Azure with the path"),
        pytest.param("azure/d", {"AZURE_OPENAI_ENDPOINT": "https://r.example", "OPENAI_API_VERSION": "2024-10-21"}, "azure/d@https://r.example?2024-10-21", id="Azure's dated API"),
        pytest.param("azure/d", {"AZURE_OPENAI_ENDPOINT": "https://r.example", "OPENAI_API_VERSION": "v1"}, "azure/d@https://r.example", id="Azure's v1 API by name"),
        pytest.param("ollama/llama3:8b", {}, "ollama/llama3:8b@http://127.0.0.1:11434/v1", id="Ollama"),
        pytest.param("ollama/m", {"OLLAMA_HOST": "0.0.0.0:9"}, "ollama/m@http://127.0.0.1:9/v1", id="Ollama, as it listens"),
        pytest.param("ollama/m", {"OLLAMA_HOST": ":9"}, "ollama/m@http://127.0.0.1:9/v1", id="Ollama, the port alone"),
        pytest.param("ollama/m", {"OLLAMA_HOST": "box"}, "ollama/m@http://box:11434/v1", id="Ollama, the host alone"),
        pytest.param("ollama/m", {"OLLAMA_HOST": "::1"}, "ollama/m@http://[::1]:11434/v1", id="Ollama over IPv6"),
        pytest.param("ollama/m", {"OLLAMA_HOST": "https://box/o/v1"}, "ollama/m@https://box/o/v1", id="Ollama at an address"),
        pytest.param("openrouter/a/b", {}, "openrouter/a/b@https://openrouter.ai/api/v1", id="a slash in the model"),
        pytest.param("openai_compatible:http://h:1/v1/m", {}, "openai_compatible/m@http://h:1/v1", id="an address"),
        pytest.param("openai_compatible:http://h:1/v1/org/m", {}, "openai_compatible/org/m@http://h:1/v1", id="an address, a slash in the model"),
        pytest.param("openai_compatible:http://h:1/proxy/v1/m/v1", {}, "openai_compatible/m/v1@http://h:1/proxy/v1", id="the first version ends the address"),
        pytest.param("openai_compatible:http://h:1/api/v4/m", {}, "openai_compatible/m@http://h:1/api/v4", id="another version"),
        pytest.param("openai_compatible:http://h:1/a/m", {}, "openai_compatible/m@http://h:1/a", id="no version: the last part is the model"),
        pytest.param("openai_compatible:http://[::1]:1/v1/m", {}, "openai_compatible/m@http://[::1]:1/v1", id="IPv6"),
        pytest.param("openai_compatible:http://h/v1/a%2Fb", {}, "openai_compatible/a/b@http://h/v1", id="an escaped slash"),
        pytest.param("pydantic-ai/bedrock:m", {}, "pydantic-ai/bedrock:m@", id="the bridge"),
    ],
)  # fmt: skip
def test_a_name_means_one_model_at_one_address(name, environ, identity):
    assert find_endpoint(name, environ, {}).identity == identity


@pytest.mark.parametrize(
    ("name", "environ", "said"),
    [
        pytest.param("m", {}, "'m' is not the name of a model. Write provider/model, such as openai/MODEL.", id="no provider"),
        pytest.param("", {}, "'' is not the name of a model", id="nothing"),
        pytest.param("openai/", {}, "'openai/' is not the name of a model of openai. Write openai/MODEL.", id="no model"),
        pytest.param("openai", {}, "'openai' is not the name of a model. Write provider/model", id="a provider alone"),
        pytest.param("opnai/m", {}, "Did you mean 'openai'?", id="a slip"),
        pytest.param("box/m", {}, "compatible with OpenAI, write openai_compatible:http://HOST/v1/MODEL.", id="a server of one's own"),
        pytest.param("bedrock/m", {}, "For any other, write pydantic-ai/PROVIDER:MODEL.", id="a provider for the bridge"),
        pytest.param("azure/d", {}, "azure/d: AZURE_OPENAI_ENDPOINT is not set. Set it to the address of your resource.", id="Azure without an address"),
        pytest.param("openai_compatible:", {}, "not an http address with a host", id="no address"),
        pytest.param("openai_compatible:http://h", {}, "the address is not followed by a model", id="no path"),
        pytest.param("openai_compatible:http://h/v1/", {}, "the address is not followed by a model", id="no model after the version"),
        pytest.param("openai_compatible:ftp://h/v1/m", {}, "not an http address", id="another scheme"),
        pytest.param("openai_compatible:http:///v1/m", {}, "not an http address with a host", id="no host"),
        pytest.param("openai_compatible:http://h:x/v1/m", {}, "is not an address", id="no port"),
        pytest.param("openai_compatible:http://h:0/v1/m", {}, "not an http address", id="port 0"),
        pytest.param("openai_compatible:http://h/v1/m x", {}, "a space", id="a space"),
        pytest.param("openai_compatible:http://h/v1/m\n", {}, "a control character", id="a line break, which Python would drop"),
        pytest.param("openai_compatible:http://h\\@i/v1/m", {}, "a backslash", id="a backslash, which readers of addresses disagree on"),
        pytest.param("openai_compatible:file:///etc/passwd", {}, "not an http address", id="a file"),
        pytest.param("openai/m", {"OPENAI_BASE_URL": "box:8000"}, "OPENAI_BASE_URL: 'box:8000' is not an http address", id="a variable without a scheme"),
    ],
)  # fmt: skip
def test_a_name_that_means_nothing_is_refused_in_one_sentence(name, environ, said):
    with pytest.raises(ConfigError) as refused:
        find_endpoint(name, environ, {})
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "address",
    [
        pytest.param(f"http://user:{CANARY}@h/v1/m", id="a password"),
        pytest.param(f"http://{CANARY}@h/v1/m", id="a user"),
        pytest.param(f"user:{CANARY}@h/v1/m", id="a password, no scheme"),
        pytest.param(f"htp://user:{CANARY}@h/v1/m", id="a password, a wrong scheme"),
        pytest.param(f"http://h/v1/m?key={CANARY}", id="a query"),
        pytest.param(f"http://h/v1/m#{CANARY}", id="a fragment"),
        pytest.param(f"http://u:{CANARY}@[::1/v1/m", id="a password, a broken host"),
        pytest.param(f"http://u:{CANARY} @h/v1/m", id="a password, a space"),
    ],
)
@pytest.mark.parametrize("where", ["openai_compatible", "OPENAI_BASE_URL", "OLLAMA_HOST", "the table"])
def test_an_address_with_a_secret_is_refused_and_not_repeated(address, where):
    table = {"x": {"provider": "openai", "model": "m", "base_url": address}} if where == "the table" else {}
    name = {
        "openai_compatible": f"openai_compatible:{address}",
        "OPENAI_BASE_URL": "openai/m",
        "OLLAMA_HOST": "ollama/m",
        "the table": "x",
    }[where]
    with pytest.raises(ConfigError) as refused:
        find_endpoint(name, {where: address}, table)
    assert CANARY not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "environ", "said"),
    [
        pytest.param("openai/m", {}, "openai/m: OPENAI_API_KEY is not set. Set it to the key of api.openai.com, or OPENAI_BASE_URL to the address of a server of your own.", id="no key"),
        pytest.param("openai/m", {"OPENAI_API_KEY": " "}, "OPENAI_API_KEY is not set", id="an empty key"),
        pytest.param("openai/m", {"OPENAI_API_KEY": "a\nb"}, "OPENAI_API_KEY contains a character that API keys do not have", id="a line break inside"),
        pytest.param("openai/m", {"OPENAI_API_KEY": "kéy"}, "OPENAI_API_KEY contains a character that API keys do not have", id="a letter with an accent"),
        pytest.param("openai/m", {"OPENAI_API_KEY": "key\n"}, None, id="a line break at the end"),
        pytest.param("openai/m", {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, None, id="a server of one's own wants none"),
        pytest.param("anthropic/m", {"OPENAI_API_KEY": "x"}, "ANTHROPIC_API_KEY is not set", id="another provider's key"),
        pytest.param("gemini/m", {}, "GEMINI_API_KEY is not set", id="Gemini without a key"),
        pytest.param("gemini/m", {"GOOGLE_API_KEY": "x"}, None, id="Gemini with Google's key"),
        pytest.param("azure/d", {"AZURE_OPENAI_ENDPOINT": "https://r.example"}, "AZURE_OPENAI_API_KEY is not set", id="Azure without a key"),
        pytest.param("ollama/m", {}, None, id="Ollama wants none"),
        pytest.param("openai_compatible:http://h/v1/m", {"OPENAI_API_KEY": "x"}, None, id="an address wants none"),
    ],
)  # fmt: skip
def test_a_missing_key_is_one_sentence_that_names_the_variable(name, environ, said):
    found = missing_key(find_endpoint(name, environ, {}))
    assert found is None if said is None else said in found


def test_a_key_goes_to_its_own_provider_only():
    keys = {variable: f"{CANARY}-{variable}" for provider in PROVIDERS.values() for variable in provider.key_variables}
    assert find_endpoint("openai_compatible:http://h/v1/m", keys, {}).key == ""
    assert find_endpoint("ollama/m", keys, {}).key == ""
    table = {"own": {"provider": "openai", "model": "m", "base_url": "http://h/v1"}}
    assert find_endpoint("own", keys, table).key == ""
    for name, provider in PROVIDERS.items():
        if provider.base_url and provider.key_variables:
            assert find_endpoint(f"{name}/m", keys, {}).key == f"{CANARY}-{provider.key_variables[0]}"


def test_an_endpoint_does_not_show_its_key():
    endpoint = find_endpoint("openai/m", {"OPENAI_API_KEY": CANARY}, {})
    assert endpoint.key == CANARY
    assert CANARY not in repr(endpoint) + str(endpoint) + endpoint.identity


TABLE = {
    "fast": {"provider": "openai", "model": "m", "base_url": "http://box:8000/v1", "key": "BOX_KEY"},
    "plain": {"provider": "openai", "model": "m"},
    "eu": {"provider": "azure", "model": "d", "base_url": "https://r.example", "key": "EU_KEY", "api_version": "2024-10-21"},
    "own": {"provider": "openai_compatible", "model": "org/m", "base_url": "http://box:8000/v1"},
    "claude": {"provider": "anthropic", "model": "m", "base_url": "http://box/v1"},
    "other": {"provider": "pydantic-ai", "model": "bedrock:m"},
    "google": {"provider": "google", "model": "m"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "identity", "variable"),
    [
        ("fast", "openai/m@http://box:8000/v1", "BOX_KEY"),
        ("plain", "openai/m@https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("eu", "azure/d@https://r.example?2024-10-21", "EU_KEY"),
        ("own", "openai_compatible/org/m@http://box:8000/v1", ""),
        ("claude", "anthropic/m@http://box", ""),
        ("other", "pydantic-ai/bedrock:m@", ""),
        ("google", "gemini/m@https://generativelanguage.googleapis.com", "GEMINI_API_KEY"),
    ],
)
def test_a_row_of_the_table_is_an_endpoint(name, identity, variable):
    endpoint = find_endpoint(name, {"BOX_KEY": "b", "EU_KEY": "e"}, TABLE)
    assert (endpoint.name, endpoint.identity, endpoint.key_variable) == (name, identity, variable)
    assert endpoint.key == {"BOX_KEY": "b", "EU_KEY": "e"}.get(variable, "")


def test_a_key_that_the_table_names_has_to_be_set():
    assert missing_key(find_endpoint("fast", {}, TABLE)) == "fast: BOX_KEY is not set. Set it to the key of box:8000."


@pytest.mark.parametrize(
    ("row", "said"),
    [
        pytest.param({}, "x.provider is missing", id="nothing"),
        pytest.param("openai/m", "x is not a table. Write x = {provider", id="a text"),
        pytest.param({"provider": "openai", "model": ""}, "x.model is empty", id="an empty model"),
        pytest.param({"provider": "openai", "model": 5}, "x.model is a int, not a text", id="a number"),
        pytest.param({"provider": "opnai", "model": "m"}, "x.provider is 'opnai'; use one of openai, azure", id="an unknown provider"),
        pytest.param({"provider": "openai", "model": "m", "temperature": 1}, "x.temperature is unknown; an endpoint has provider, model, base_url, key, api_version", id="a setting"),
        pytest.param({"provider": "openai", "model": "m", "base_url": "box"}, "x.base_url: 'box' is not an http address", id="no address"),
        pytest.param({"provider": "openai", "model": "m", "key": CANARY}, "x.key must be the name of the variable that contains the key, such as MY_API_KEY, not the key itself", id="a key"),
        pytest.param({"provider": "openai", "model": "m", "key": [CANARY]}, "x.key is a list, not a text", id="a list of keys"),
        pytest.param({"provider": "openai_compatible", "model": "m"}, "x.base_url is missing", id="a server without an address"),
        pytest.param({"provider": "pydantic-ai", "model": "m", "key": "A"}, "x: pydantic-ai finds address and key itself", id="a key for the bridge"),
        pytest.param({"provider": "openai", "model": "m", "api_version": "1"}, "x.api_version is for azure only", id="a version for OpenAI"),
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_used_is_refused_with_its_place(row, said):
    with pytest.raises(ConfigError) as refused:
        find_endpoint("openai/m", {}, {"x": row})
    assert f"pyproject.toml: [tool.evalmark.models] {said}" in str(refused.value)
    assert CANARY not in str(refused.value)


def test_all_faults_of_the_table_are_named_at_once():
    table = {"a b": {}, "x": {"provider": "openai", "model": "m", "base": "", "key": "sk"}, "y": 1}
    with pytest.raises(ConfigError) as refused:
        find_endpoint("x", {}, table)
    assert len(str(refused.value).splitlines()) == 3


def test_every_provider_stands_on_the_page_with_its_variables():
    page = (ROOT / "docs" / "reference" / "providers.md").read_text(encoding="utf-8")
    rows = {row.split("`")[1].partition("/")[0]: row for row in page.splitlines() if row.startswith("| `")}
    for name, provider in PROVIDERS.items():
        variables = {*provider.key_variables, provider.url_variable} - {""}
        assert {variable for variable in variables if f"`{variable}`" in rows[name]} == variables


def test_looking_up_a_name_loads_no_http_client():
    program = "import sys; from evalmark.models.providers.endpoint import find_endpoint; find_endpoint('openai/m', {}, {}); print('aiohttp' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


alphabet = st.text(st.sampled_from("abv1/:@[]?#%. \\\n\u00e9\u202e-_~;=&"), max_size=30)
schemes = st.sampled_from(
    ["", "http://", "https://", "openai_compatible:", "openai_compatible:http://", "openai/", "ollama/"]
)


@given(schemes, alphabet, st.sampled_from(["", "OPENAI_BASE_URL", "OLLAMA_HOST"]))
def test_whatever_a_name_holds_it_is_an_endpoint_or_refused(scheme, rest, variable):
    found = outcome(scheme + rest, {variable: rest})
    if isinstance(found, Endpoint):
        assert found.base_url == "" or validate_address(found.base_url, "x") == found.base_url
    else:
        assert "\n" not in found


def outcome(name, environ):
    """The endpoint, or the text of the error."""
    try:
        return find_endpoint(name, environ, {})
    except ConfigError as error:
        return str(error)
