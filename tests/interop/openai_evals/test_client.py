"""`--create`: an eval and its runs at a service, and a key that nobody else gets to see."""

import asyncio
import json

import pytest

from evalmark.errors import ConfigError, EvalmarkError
from evalmark.interop.openai_evals.client import evals_endpoint, post_evals
from evalmark.interop.openai_evals.exporter import to_openai_evals
from evalmark.models.providers.http import HttpClient
from tests.interop.shared.carried import CARRIED

from .service import Service

KEY = "sk-0123456789abcdef-secret"
FILES = to_openai_evals(CARRIED).files
EVAL = json.loads(FILES["eval.json"])
RUNS = {name: json.loads(text) for name, text in FILES.items() if name.startswith("run.")}


def post(endpoint, within=10):
    async def posting():
        http = HttpClient({})
        try:
            return await post_evals(EVAL, RUNS, endpoint, http, within)
        finally:
            await http.close()

    return asyncio.run(posting())


@pytest.mark.parametrize(
    ("header", "prefix", "environ", "base"),
    [
        pytest.param("authorization", "/v1", {"OPENAI_API_KEY": KEY}, "{url}/v1", id="as OpenAI wants it"),
        pytest.param("api-key", "/openai/v1", {"AZURE_OPENAI_API_KEY": KEY}, "{url}/openai/v1", id="a resource of Azure"),
        pytest.param(
            "api-key", "/api/projects/p/openai/v1", {"AZURE_OPENAI_API_KEY": KEY}, "{url}/api/projects/p/openai/v1",
            id="a project of Foundry",
        ),
        pytest.param(
            "authorization", "/openai/v1", {"AZURE_OPENAI_AD_TOKEN": KEY, "AZURE_OPENAI_API_KEY": "another"}, "{url}/openai/v1",
            id="Azure with a token of Entra",
        ),
    ],
)  # fmt: skip
def test_the_eval_and_its_runs_are_created(header, prefix, environ, base):
    with Service(key=KEY, header=header, prefix=prefix) as there:
        posted = post(evals_endpoint(environ, base.format(url=there.url)))
    assert there.problems == []
    assert posted.eval_id == "eval_0"
    assert posted.runs == {name: f"evalrun_{number}" for number, name in enumerate(RUNS, 1)}
    assert list(there.evals.values()) == [EVAL]
    assert there.runs == list(RUNS.values())


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("https://box.openai.azure.com", "https://box.openai.azure.com/openai/v1"),
        ("https://box.openai.azure.com/openai", "https://box.openai.azure.com/openai/v1"),
        ("https://b.services.ai.azure.com/api/projects/p/", "https://b.services.ai.azure.com/api/projects/p/openai/v1"),
    ],
)
def test_an_address_of_azure_may_be_written_short(given, wanted):
    assert evals_endpoint({"AZURE_OPENAI_API_KEY": KEY}, given).base_url == wanted


@pytest.mark.parametrize(
    ("environ", "base", "wanted"),
    [
        pytest.param({}, None, "OPENAI_API_KEY is not set", id="no key for OpenAI"),
        pytest.param(
            {"OPENAI_API_KEY": KEY},
            "https://x.openai.azure.com",
            "AZURE_OPENAI_API_KEY is not set",
            id="no key for Azure",
        ),
        pytest.param({"OPENAI_API_KEY": KEY}, "ftp://x", "not an http address", id="no address"),
        pytest.param(
            {"OPENAI_API_KEY": KEY}, "https://u:p@x.azure.com", "contains credentials", id="a password in the address"
        ),
    ],
)
def test_what_is_missing_is_said_before_anything_is_sent(environ, base, wanted):
    with pytest.raises(ConfigError, match=wanted) as error:
        evals_endpoint(environ, base)
    assert KEY not in str(error.value)


def test_a_key_that_the_service_sends_back_stands_in_no_message():
    with Service(key="another-key-of-some-length") as there, pytest.raises(EvalmarkError) as error:
        post(evals_endpoint({"OPENAI_API_KEY": KEY}, f"{there.url}/v1"))
    assert "answered 401" in str(error.value)
    assert KEY not in str(error.value)
    assert "OPENAI_API_KEY" in str(error.value)


def test_what_was_created_before_a_fault_is_named():
    with (
        Service(fail_runs=True) as there,
        pytest.raises(EvalmarkError, match=r"The eval exists as eval_0, with 0 of 2 runs"),
    ):
        post(evals_endpoint({}, f"{there.url}/v1"))


def test_what_was_posted_without_an_answer_may_exist():
    with (
        Service(slow=True) as there,
        pytest.raises(EvalmarkError, match=r"within 0\.05 s\. The eval may exist nevertheless"),
    ):
        post(evals_endpoint({}, f"{there.url}/v1"), within=0.05)


def test_what_was_never_sent_does_not_exist():
    with Service() as there:
        gone = f"{there.url}/v1"
    with pytest.raises(EvalmarkError) as error:
        post(evals_endpoint({}, gone))
    assert "no connection could be made" in str(error.value)
    assert "may exist" not in str(error.value)
