"""What the viewer says when a store cannot be read, and when it fails itself: a page that looks like all others."""

import logging
import sqlite3
import urllib.error
import urllib.request
from contextlib import closing

import pytest

from evalmark.core.values.label import about_output
from evalmark.errors import StoreBusyError
from tests.reports.viewer.auth.test_server import served

from .conftest import SESSION, a_run, from_browser, keep, keep_session, result, shown
from .test_pages import checked, words

RUN = a_run().id
PAGES = (
    "/",
    f"/runs/{RUN}",
    f"/runs/{RUN}/results/1",
    f"/runs/{RUN}/results/1/whole.json",
    f"/runs/{RUN}/charts",
    f"/compare?run={RUN}",
    "/trends",
    f"/label?what=run:{RUN}",
    "/sessions",
    f"/sessions/{SESSION}",
    "/sessions/user-7",
)


class Broken:
    """A store of which nothing can be read: it is not as it should be, or somebody else's at the moment."""

    def __init__(self, store, fault) -> None:
        self._store, self._fault = store, fault

    def __getattr__(self, name):
        if name in ("is_writable", "path"):
            return getattr(self._store, name)
        raise self._fault


def newer(path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("pragma user_version = 9999")


def damaged(path) -> None:
    path.write_bytes(b"not a store " * 4_000)


def header_damaged(path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("update run set header = 'x' || header")


@pytest.mark.parametrize("address", PAGES)
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        pytest.param(newer, "a newer evalmark wrote this store (store version 9999", id="newer"),
        pytest.param(damaged, "the file is damaged or is not a store", id="damaged"),
    ],
)
def test_a_store_that_cannot_be_read_is_told_from_one_that_has_no_such_thing(store, address, spoil, said):
    keep(store, a_run(), [result(number) for number in range(3)])
    keep_session(store)
    app = shown(store)
    spoil(store.path)
    answer = from_browser(app, address)
    assert answer.status == 500
    assert said in words(checked(answer.text))
    assert "The store cannot be read" in answer.text


def test_a_run_whose_header_is_damaged_is_not_called_missing(store):
    keep(store, a_run(), [result(1)])
    app = shown(store)
    header_damaged(store.path)
    answer = from_browser(app, f"/runs/{RUN}")
    assert answer.status == 500
    assert "the header of run number 1 is damaged" in words(checked(answer.text))
    assert from_browser(app, "/runs/nope").status == 404


@pytest.mark.parametrize("address", PAGES)
def test_a_store_that_others_are_writing_for_too_long_is_there_again_later(store, address):
    answer = from_browser(
        shown(Broken(store, StoreBusyError("evals.db: others have been writing for too long."))), address
    )
    assert answer.status == 503
    assert "others have been writing for too long" in words(checked(answer.text))


@pytest.mark.parametrize("address", ["/", f"/runs/{RUN}", "/compare", "/trends", f"/sessions/{SESSION}", "/label"])
def test_a_fault_of_the_viewer_itself_is_a_page_that_tells_nothing_of_it(store, caplog, address):
    failing = Broken(store, RuntimeError(about_output("a secret of this machine")))
    with served(failing) as (made, host):
        asked = urllib.request.Request(
            f"http://{host}{address}", headers={"cookie": f"{made.policy.cookie}={made.policy.token}"}
        )
        with pytest.raises(urllib.error.HTTPError) as told, caplog.at_level(logging.WARNING):
            urllib.request.urlopen(asked, timeout=20)  # noqa: S310  a server of this test
        with told.value:
            text = told.value.read().decode()
    assert (told.value.code, told.value.headers["content-type"]) == (500, "text/html; charset=utf-8")
    assert "default-src 'none'" in told.value.headers["content-security-policy"]
    assert "evalmark failed to make this page." in words(checked(text))
    assert '<nav aria-label="' in text
    assert not any(word in text for word in ("secret", "RuntimeError", "Traceback", ".py"))
    (printed,) = caplog.records
    assert "a secret of this machine" in str(printed.exc_info[1]), "it is on the terminal, once"
