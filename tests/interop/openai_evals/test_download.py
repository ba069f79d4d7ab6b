"""`--from-api`: an account of OpenAI or Azure is in the folder afterwards, whatever happened on the way."""

import asyncio
import json

import pytest

from evalmark.errors import EvalmarkError
from evalmark.interop.openai_evals.client import evals_endpoint
from evalmark.interop.openai_evals.download import download_evals
from evalmark.models.middleware.rate_limits import RetryPolicy
from evalmark.models.providers.http import HttpClient

from .account import KEY, Account, world

QUICK = RetryPolicy(first_wait=0.01, most_wait=0.05)
ITEMS = "evals/eval_tickets/runs/evalrun_2/output_items"


def download(account, folder, key=KEY, report=lambda line: None):
    name = "AZURE_OPENAI_API_KEY" if account.azure else "OPENAI_API_KEY"

    async def work():
        http = HttpClient({})
        try:
            return await download_evals(folder, evals_endpoint({name: key}, account.url), http, 10, report, QUICK)
        finally:
            await http.close()

    return asyncio.run(work())


@pytest.mark.parametrize("azure", [pytest.param(False, id="OpenAI"), pytest.param(True, id="Azure")])
def test_every_object_is_in_the_folder_as_it_came(tmp_path, azure):
    lines = []
    with Account(*world(), azure=azure) as account:
        found = download(account, tmp_path, report=lines.append)
    assert account.problems == []
    assert found == (2, 3, 410, 1, ())
    pages = [
        json.loads(path.read_text()) for path in sorted((tmp_path / "eval_tickets/evalrun_2/output_items").iterdir())
    ]
    assert [item for page in pages for item in page["data"]] == account.lists[ITEMS]
    assert [len(page["data"]) for page in pages] == [100, 100, 5]
    assert json.loads((tmp_path / "evals/page-0001.json").read_text())["data"] == account.lists["evals"]
    assert (tmp_path / "files/file-sums.jsonl").read_text() == account.files["file-sums"]
    assert lines == ["eval_tickets: 2 runs, 410 output items", "eval_sums: 1 run, 0 output items"]
    assert not any(KEY in path.read_text() for path in tmp_path.rglob("*") if path.is_file())


def test_what_is_in_the_folder_is_not_asked_for_again(tmp_path):
    with Account(*world()) as account:
        download(account, tmp_path)
        first = sum(account.requests.values())
        (tmp_path / "eval_tickets/evalrun_2/output_items/page-0002.json").unlink()
        assert download(account, tmp_path) == (2, 3, 410, 1, ())
        assert sum(account.requests.values()) == first + 1
    assert account.problems == []


@pytest.mark.parametrize(
    "faults",
    [
        pytest.param([429, 429, 429, 429, 429, 429, 429], id="a rate limit"),
        pytest.param([500, 503, 502], id="a server that fails"),
    ],
)
def test_a_refusal_that_passes_is_waited_for(tmp_path, faults):
    with Account(*world(3), faults={ITEMS: faults}) as account:
        assert download(account, tmp_path) == (2, 3, 6, 1, ())
    assert account.requests[ITEMS] == len(faults) + 1


def test_an_object_that_the_service_lost_is_named_and_the_rest_comes(tmp_path):
    lists, _ = world(3)
    del lists["evals/eval_sums/runs"]
    with Account(lists) as account:
        found = download(account, tmp_path)
    assert found == (2, 2, 6, 0, (("evals/eval_sums/runs", "the service does not have it (404)"),))
    assert json.loads((tmp_path / "download.json").read_text()) == {"failures": dict(found.failures)}


def test_a_download_that_broke_off_goes_on_where_it_stopped(tmp_path):
    with Account(*world(), faults={ITEMS: [403]}) as account:
        with pytest.raises(EvalmarkError, match="run the command again to continue"):
            download(account, tmp_path)
        before = account.requests["evals"]
        assert download(account, tmp_path) == (2, 3, 410, 1, ())
        assert account.requests["evals"] == before


def test_a_wrong_key_is_one_sentence_without_the_key(tmp_path):
    with Account(*world(1)) as account, pytest.raises(EvalmarkError) as error:
        download(account, tmp_path, key="sk-another-key-of-some-length")
    assert "401" in str(error.value)
    assert "sk-another" not in str(error.value)
    assert "OPENAI_API_KEY" in str(error.value)


def test_an_id_that_leads_out_of_the_folder_is_no_path(tmp_path):
    lists, _ = world(1)
    lists["evals"] = [{**lists["evals"][0], "id": "../../evil"}]
    with Account(lists) as account:
        found = download(account, tmp_path / "inside")
    assert [why for _, why in found.failures] == ["its id cannot be the name of a folder"]
    assert [path.name for path in tmp_path.iterdir()] == ["inside"]


def test_a_list_that_never_ends_is_left(tmp_path):
    lists, _ = world(1)
    with Account(lists) as account:
        account.page = lambda path, query: (  # type: ignore[method-assign]
            200,
            json.dumps({"object": "list", "data": [], "has_more": True, "last_id": None}).encode(),
            {},
        )
        with pytest.raises(EvalmarkError, match="not after which one"):
            download(account, tmp_path)
