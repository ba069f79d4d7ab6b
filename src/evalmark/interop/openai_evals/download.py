"""Download the evals, runs, output items and files of OpenAI's or Azure's evals API into a folder.

Every page is stored as it came, so that the folder is also a backup that needs no evalmark:

    FOLDER/evals/page-0001.json
    FOLDER/EVAL/runs/page-0001.json
    FOLDER/EVAL/RUN/output_items/page-0001.json
    FOLDER/files/FILE.json and FILE.jsonl
    FOLDER/download.json                            what could not be downloaded, and why

A page that is stored is not asked for again: an interrupted download continues where it stopped.
"""

import asyncio
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from evalmark.core.errors import DataError, EvalmarkError, ModelCallError
from evalmark.core.settings import Settings
from evalmark.core.text import count
from evalmark.inputs.documents.atomic_write import write_atomically
from evalmark.inputs.documents.serialization import json_text
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.inputs.documents.text import read_text
from evalmark.interop.shared.items import dict_or_empty, list_or_empty
from evalmark.models.middleware.rate_limits import DEFAULT_RETRY_POLICY, RetryPolicy
from evalmark.models.middleware.retry import send_with_retries
from evalmark.models.providers.endpoint import Endpoint
from evalmark.models.providers.http import HttpClient
from evalmark.models.providers.network_errors import TOO_LARGE
from evalmark.models.providers.response import Response, check_status, read_json

from .client import evals_endpoint, headers_of

PAGE_SIZE = 100
"""Objects in a page: the most that the API gives."""
AT_ONCE = 4
"""Requests that wait for a reply at the same time."""
FAILURES = "download.json"
"""The file with what could not be downloaded."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")

Data = dict[str, Any]


class DownloadCounts(NamedTuple):
    """What a folder has after a download."""

    evals: int
    runs: int
    items: int
    files: int
    failures: tuple[tuple[str, str], ...]
    """The address and the reason of each request that failed; the rest was downloaded."""


@dataclass(slots=True, kw_only=True)
class _Download:
    """The requests of one download."""

    folder: Path
    endpoint: Endpoint
    http: HttpClient
    within: float
    retries: RetryPolicy
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    failures: dict[str, str] = field(default_factory=dict)

    async def listed(self, path: str, folder: Path) -> list[Data]:
        """Return all objects of a list, and store its pages in a folder."""
        found: list[Data] = []
        after, number = "", 0
        while True:
            number += 1
            page = folder / f"page-{number:04}.json"
            data = _stored(page) if page.is_file() else await self._page(path, after, page)
            if data is None:
                return found
            objects = [item for item in list_or_empty(data.get("data")) if isinstance(item, dict)]
            found += objects
            last = str(data.get("last_id") or (objects[-1].get("id") if objects else "") or "")
            if data.get("has_more") is not True:
                return found
            if not last or last == after:
                self.failures[path] = f"page {number} says that there are more objects, but not after which one"
                return found
            after = last

    async def _page(self, path: str, after: str, page: Path) -> Data | None:
        """Download and store a page; None if it failed. A page that is too large is asked for in smaller ones."""
        size = PAGE_SIZE
        while True:
            query = f"?limit={size}" + (f"&after={quote(after, safe='')}" if after else "")
            try:
                response = await self._got(path + query)
                data = read_json(response, self.endpoint)
            except ModelCallError as error:
                if TOO_LARGE in str(error) and size > 1:
                    size = max(1, size // 4)
                    continue
                self._failed(path, error)
                return None
            write_atomically(page, [response.body.decode("utf-8")], "page")
            return data

    async def file(self, name: str) -> bool:
        """Store the description and the content of a file; return whether both are there."""
        folder, path = self.folder / "files", f"files/{quote(name, safe='')}"
        described, content = folder / f"{name}.json", folder / f"{name}.jsonl"
        try:
            if not described.is_file():
                response = await self._got(path)
                read_json(response, self.endpoint)
                write_atomically(described, [response.body.decode("utf-8")])
            if not content.is_file():
                write_atomically(content, [(await self._got(f"{path}/content")).body.decode("utf-8")])
        except ModelCallError as error:
            self._failed(path, error)
        except UnicodeDecodeError:
            self.failures[path] = "the file is not text in UTF-8"
        return described.is_file() and content.is_file()

    async def _got(self, path: str) -> Response:
        async with self.slots:
            response, _ = await send_with_retries(partial(self._sent, path), self.retries)
        return response

    async def _sent(self, path: str) -> Response:
        url = f"{self.endpoint.base_url}/{path}"
        try:
            response = await self.http.send("GET", url, b"", headers_of(self.endpoint), within=self.within)
        except ModelCallError as error:
            if TOO_LARGE in str(error):  # it is as large the next time
                raise ModelCallError(str(error), fault="rejected", attempts=error.attempts) from None
            raise
        check_status(response, self.endpoint)
        return response

    def _failed(self, path: str, error: ModelCallError) -> None:
        """Record a failure that concerns one object only.

        Raises:
            EvalmarkError: no further request can succeed, such as with a wrong key.
        """
        status = error.attempts[-1].status if error.attempts else None
        if status in (400, 404) or TOO_LARGE in str(error):
            self.failures[path] = "the service does not have it (404)" if status == 404 else str(error)
            return
        raise EvalmarkError(
            f"{error} What was downloaded before is in {self.folder}; run the command again to continue."
        ) from error


async def download_account(
    folder: Path, base_url: str | None, settings: Settings, report: Callable[[str], None]
) -> DownloadCounts:
    """Download all evals of the account whose key is in the environment; raises and returns what `download_evals` does."""
    endpoint = evals_endpoint(os.environ, base_url)
    http = HttpClient(os.environ, settings.http_library)
    try:
        return await download_evals(folder, endpoint, http, settings.call_timeout, report)
    finally:
        await http.close()


async def download_evals(
    folder: Path,
    endpoint: Endpoint,
    http: HttpClient,
    within: float,
    report: Callable[[str], None] = lambda line: None,
    retries: RetryPolicy = DEFAULT_RETRY_POLICY,
) -> DownloadCounts:
    """Download all evals of an account with their runs, output items and the files that runs name.

    Args:
        folder: where the pages are stored; what it has already is not downloaded again.
        endpoint: the service, with the key.
        http: the client.
        within: the longest time of a request, in seconds.
        report: called with a line for each eval that is complete.
        retries: how often a request is sent again, and how long it waits before.

    Raises:
        EvalmarkError: the service refused the key or cannot be reached; a page cannot be stored.
    """
    work = _Download(folder=folder, endpoint=endpoint, http=http, within=within, retries=retries)
    evals = await work.listed("evals", folder / "evals")
    if "evals" in work.failures:
        raise EvalmarkError(work.failures["evals"])
    runs: list[Data] = []
    items = 0
    for one in evals:
        name = _safe_id(one, work)
        mine = await work.listed(f"evals/{name}/runs", folder / name / "runs") if name else []
        pages = await asyncio.gather(*(_output_items(work, name, run) for run in mine))
        runs += mine
        items += sum(pages)
        report(f"{name}: {count(len(mine), 'run')}, {count(sum(pages), 'output item')}")
    files = await asyncio.gather(*(work.file(name) for name in dict.fromkeys(_files_of(runs))))
    write_atomically(folder / FAILURES, [json_text({"failures": work.failures})])
    return DownloadCounts(len(evals), len(runs), items, sum(files), tuple(work.failures.items()))


async def _output_items(work: _Download, eval_name: str, run: Data) -> int:
    name = _safe_id(run, work)
    if not name:
        return 0
    path = f"evals/{eval_name}/runs/{name}/output_items"
    return len(await work.listed(path, work.folder / eval_name / name / "output_items"))


def _safe_id(item: Data, work: _Download) -> str:
    """Return the id of an object, which becomes the name of a folder; empty if it is none."""
    name = str(item.get("id"))
    if _ID.fullmatch(name) and name not in ("evals", "files"):
        return name
    work.failures[f"the object {name!r:.80}"] = "its id cannot be the name of a folder"
    return ""


def _files_of(runs: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the ids of the files from which runs took their items."""
    for run in runs:
        source = dict_or_empty(dict_or_empty(run.get("data_source")).get("source"))
        name = source.get("id")
        if source.get("type") == "file_id" and isinstance(name, str) and _ID.fullmatch(name):
            yield name


def _stored(page: Path) -> Data:
    """Read a page that an earlier download stored.

    Raises:
        DataError: it is not the JSON of a page.
    """
    data = parse_json(read_text(page), str(page))
    if not isinstance(data, dict):
        raise DataError(f"{page}: is not a page of the API; delete the file to download it again.")
    return data


def download_failures(folder: Path) -> dict[str, str]:
    """Return the reason of each failure of the download into a folder; empty for other folders."""
    path = folder / FAILURES
    if not path.is_file():
        return {}
    failures = dict_or_empty(dict_or_empty(parse_json(read_text(path), str(path))).get("failures"))
    return {str(what): str(why) for what, why in failures.items()}
