"""A browser that opens the page of a run gets its head, which names style sheet and script, before the rest is made."""

import asyncio

import pytest
from starlette.requests import Request
from starlette.responses import Response

from evalmark.errors import NotFoundError, StoreBusyError
from evalmark.reports.viewer import run_page
from evalmark.reports.viewer.early_head import send_head_first
from evalmark.reports.viewer.urls.paths import run_path

from .conftest import POLICY, TOKEN, a_run, asked, from_browser
from .test_pages import checked, words

PAGE = run_path(a_run().id)
OPENED = [("host", "127.0.0.1:7878"), ("cookie", f"{POLICY.cookie}={TOKEN}"), ("sec-fetch-mode", "navigate")]


def sent_by(page, events: list[object]) -> None:
    """Open a page, and add what happens to `events`."""

    async def send(message) -> None:
        events.append(message.get("body"))

    async def receive():
        return await asyncio.Future()

    async def go() -> None:
        scope = {"type": "http", "method": "GET", "headers": [(b"sec-fetch-mode", b"navigate")]}
        scope["asgi"] = {"version": "3.0", "spec_version": "2.4"}
        fault = Response(b"<head>the error")
        request = Request(scope, receive)
        answer = await send_head_first("<head>", lambda _: events.append("checked"), page, lambda *_: fault, request)
        await answer(scope, receive, send)

    asyncio.run(go())


def test_the_head_is_sent_before_the_page_is_made():
    async def page(_: Request) -> Response:
        events.append("made")
        return Response(b"<head>the rest")

    sent_by(page, events := [])
    assert events == ["checked", None, b"<head>", "made", b"the rest", b""]


def test_the_page_is_the_same_as_for_others(app):
    opened, fetched = asked(app, PAGE, "GET", OPENED), from_browser(app, PAGE)
    assert opened.text == fetched.text
    kept = {"content-security-policy", "cache-control", "content-type"}
    assert {name: opened.headers[name] for name in kept} == {name: fetched.headers[name] for name in kept}


def test_a_page_that_may_be_known_already_is_answered_as_a_whole(app):
    mark = [("if-none-match", '"x"')]
    assert asked(app, PAGE, "GET", OPENED + mark).headers.get("server-timing") is not None


def test_a_run_that_is_not_there_has_its_status(app):
    assert asked(app, "/runs/nope", "GET", OPENED).status == 404


@pytest.mark.parametrize(
    ("error", "said"),
    [
        pytest.param(StoreBusyError("others are writing"), "Others are writing", id="a store that is busy"),
        pytest.param(NotFoundError("the run was deleted"), "The run was deleted", id="a run deleted meanwhile"),
    ],
)
def test_an_error_after_the_head_is_shown_as_a_whole_page(app, monkeypatch, error, said):
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(run_page, "page_values", fail)
    answer = asked(app, PAGE, "GET", OPENED)
    assert said.lower() in words(checked(answer.text)).lower()
    assert answer.text.count("<head>") == 1


def test_a_fault_of_the_viewer_is_shown_and_raised_again_so_that_the_server_prints_it():
    async def page(_: Request) -> Response:
        raise RuntimeError("a fault")

    with pytest.raises(RuntimeError, match="a fault"):
        sent_by(page, events := [])
    assert events == ["checked", None, b"<head>", b"the error"]
