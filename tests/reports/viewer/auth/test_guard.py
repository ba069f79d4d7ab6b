"""Nobody is let in but a browser of this machine that was given the token: every route, every method, hostile headers."""

import asyncio
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import reduce

import pytest

from evalmark.reports.viewer.auth.guard import HEADERS, Tickets
from tests.reports.viewer.conftest import POLICY, SESSION, TOKEN, asked, from_browser, sent

RUN = "20261121-101500-3f9a"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
TAKING_FORMS = ("/labels", "/label/start", "/stop")
HOST = ("host", "127.0.0.1:7878")
COOKIE = ("cookie", f"{POLICY.cookie}={TOKEN}")
HOSTILE = {
    "no host": [COOKIE],
    "two hosts": [HOST, ("host", "127.0.0.1:7878"), COOKIE],
    "two hosts, one of them another": [HOST, ("host", "evil.example"), COOKIE],
    "a host of somebody else": [("host", "evil.example"), COOKIE],
    "a host that begins like ours": [("host", "127.0.0.1.evil.example:7878"), COOKIE],
    "a host that names every address": [("host", "0.0.0.0:7878"), COOKIE],
    "a host with a dot at its end": [("host", "localhost.:7878"), COOKIE],
    "a host with another port": [("host", "127.0.0.1:7879"), COOKIE],
    "a host with a space of another alphabet": [("host", "127.0.0.1:7878\xa0"), COOKIE],
    "a host without the port": [("host", "127.0.0.1"), COOKIE],
    "a host behind a user": [("host", "127.0.0.1:7878@evil.example"), COOKIE],
    "an origin of somebody else": [HOST, ("origin", "http://evil.example"), COOKIE],
    "an origin that is null": [HOST, ("origin", "null"), COOKIE],
    "an origin with another scheme": [HOST, ("origin", "ftp://127.0.0.1:7878"), COOKIE],
    "an origin with a user": [HOST, ("origin", "http://me@127.0.0.1:7878"), COOKIE],
    "an origin on port 0": [HOST, ("origin", "http://127.0.0.1:0"), COOKIE],
    "an origin of another port here": [HOST, ("origin", "http://127.0.0.1:9999"), COOKIE],
    "a page of another site asks": [HOST, ("sec-fetch-site", "cross-site"), COOKIE],
    "a page of the same site on another port asks": [HOST, ("sec-fetch-site", "same-site"), COOKIE],
    "no token": [HOST],
    "a wrong token": [HOST, ("cookie", f"{POLICY.cookie}={TOKEN[:-1]}x")],
    "an empty token": [HOST, ("cookie", f"{POLICY.cookie}=")],
    "two cookies": [HOST, COOKIE, ("cookie", f"{POLICY.cookie}=other")],
    "the token under the name of another port": [HOST, ("cookie", f"evalmark-1={TOKEN}")],
    "the token as a password": [HOST, ("authorization", f"Bearer {TOKEN}")],
    "a host that a proxy is said to have seen": [HOST, ("x-forwarded-host", "127.0.0.1:7878")],
}


def routes(app) -> list[str]:
    """An address for every route there is, taken from the router so that none is forgotten."""
    paths = [route.path for route in app.app.routes]
    assert len(paths) >= 6
    values = {"{run}": RUN, "{number}": "1", "{session}": SESSION, "{file}": "cases.csv", "{part}": "output"}
    return [reduce(lambda text, name: text.replace(name, values[name]), values, path) for path in paths]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_headers_open_no_route_to_any_method(app, hostile):
    addresses = [*routes(app), "/nothing", "//evil.example/", "/runs/../../etc/passwd"]
    for address in addresses:
        for method in METHODS:
            answer = asked(app, address, method, HOSTILE[hostile])
            assert answer.status in (400, 403, 405), (address, method)
            assert b"squares" not in answer.body
            assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_headers_send_no_form_even_with_its_key(app, hostile):
    kind = ("content-type", "application/x-www-form-urlencoded")
    origin = () if "origin" in hostile else (("origin", "http://127.0.0.1:7878"),)
    for address in (*routes(app), *TAKING_FORMS):
        answer = asked(app, address, "POST", [*HOSTILE[hostile], kind, *origin], f"key={POLICY.key}".encode())
        assert answer.status in (400, 403), address


def test_with_good_headers_a_page_is_looked_at_and_takes_no_form(app):
    for address in routes(app):
        is_for_forms = address in TAKING_FORMS
        for method in METHODS:
            answer = from_browser(app, address, method)
            looks = method in ("GET", "HEAD") and not is_for_forms
            assert answer.status == (200 if looks else 403 if method == "POST" else 405), (address, method)
        assert (sent(app, {}, address).status == 405) is not is_for_forms


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        pytest.param({"origin": ""}, 403, id="from nowhere"),
        pytest.param({"origin": "http://localhost:7878"}, 403, id="from the same viewer under another name"),
        pytest.param({"sec_fetch_site": "none"}, 403, id="typed by hand, as no form is"),
        pytest.param({"sec_fetch_site": "same-site"}, 403, id="from another port"),
        pytest.param({"key": ""}, 403, id="without a key"),
        pytest.param({"key": POLICY.key[:-1]}, 403, id="with a part of the key"),
        pytest.param({"key": TOKEN}, 403, id="with the token in the place of the key"),
        pytest.param({"key": "\ud800\N{SNOWMAN}".encode("utf-8", "replace").decode()}, 403, id="with an odd key"),
        pytest.param({"content_type": "application/json"}, 415, id="as JSON"),
        pytest.param({"content_type": "text/plain"}, 415, id="as plain text, which needs no permission across sites"),
        pytest.param({"content_type": ""}, 415, id="without saying what it is"),
        pytest.param({"cookie": ""}, 403, id="without the cookie"),
    ],
)
def test_a_form_that_no_page_of_the_viewer_sends_changes_nothing(own, store, changed, status):
    answer = sent(own, {"run": RUN, "number": "1", "liked": "up", "by": "eve"}, **changed)
    assert answer.status == status
    assert store.sessions.all_labels() == []


def test_a_form_with_the_key_in_its_address_alone_changes_nothing(own, store):
    answer = sent(own, {"run": RUN, "number": "1", "liked": "up"}, f"/labels?key={POLICY.key}", key="")
    assert answer.status == 403
    assert store.sessions.all_labels() == []


def test_a_form_that_is_too_large_or_has_too_many_fields_is_not_read(app):
    assert sent(app, {"comment": "x" * 1_000_001}).status == 413
    assert sent(app, {f"field-{number}": "" for number in range(1_001)}).status == 400


def test_every_answer_has_the_headers_that_keep_a_browser_in_check(app):
    answers = [
        from_browser(app, "/"),
        from_browser(app, "/nothing"),
        from_browser(app, "/static/style.css"),
        from_browser(app, "/", "POST"),
        asked(app, "/", headers=[HOST]),
        asked(app, f"/?token={TOKEN}", headers=[HOST]),
        asked(app, "/", headers=[("host", "evil.example")]),
    ]
    for answer in answers:
        for name, value in HEADERS:
            assert answer.headers[name.decode()] == value.decode()
    policy = answers[0].headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "script-src 'self';" in policy


def test_the_token_in_the_address_becomes_a_cookie_and_leaves_the_address(app):
    answer = asked(app, f"/runs/{RUN}?text=a+b&token={TOKEN}&page=2", headers=[HOST])
    assert answer.status == 303
    assert answer.headers["location"] == f"/runs/{RUN}?text=a+b&page=2"
    assert answer.headers["set-cookie"] == f"{POLICY.cookie}={TOKEN}; Path=/; HttpOnly; SameSite=Strict"


@pytest.mark.parametrize(
    "query", ["token=wrong", f"token={TOKEN}&token=other", f"Token={TOKEN}", "token=", f"token={TOKEN}x"]
)
def test_another_token_in_the_address_opens_nothing(app, query):
    assert asked(app, f"/?{query}", headers=[HOST]).status == 403


def test_the_token_leaves_the_address_of_somebody_who_is_inside_already(app):
    answer = asked(app, f"/?token={TOKEN}", headers=[HOST, COOKIE])
    assert (answer.status, answer.headers["location"]) == (303, "/")


def door_with(seconds: list[float]):
    return replace(POLICY, tickets=Tickets(lambda: seconds[0]))


def test_a_ticket_opens_the_door_once_and_leaves_the_address(app):
    guarded = replace(app, policy=door_with([0.0]))
    ticket = guarded.policy.tickets.new()
    assert len(ticket) >= 32
    address = f"/runs/{RUN}?text=a&ticket={ticket}"
    first = asked(guarded, address, headers=[HOST])
    assert (first.status, first.headers["location"]) == (303, f"/runs/{RUN}?text=a")
    assert first.headers["set-cookie"] == f"{POLICY.cookie}={TOKEN}; Path=/; HttpOnly; SameSite=Strict"
    second = asked(guarded, address, headers=[HOST])
    assert second.status == 403
    assert "set-cookie" not in second.headers
    assert asked(guarded, address, headers=[HOST, COOKIE]).status == 200, "the cookie opens, whatever stands beside it"


@pytest.mark.parametrize(("after", "status"), [(600.0, 303), (600.1, 403)])
def test_a_ticket_holds_for_ten_minutes(app, after, status):
    seconds = [5.0]
    guarded = replace(app, policy=door_with(seconds))
    ticket = guarded.policy.tickets.new()
    seconds[0] += after
    assert asked(guarded, f"/?ticket={ticket}", headers=[HOST]).status == status


@pytest.mark.parametrize(
    "query",
    [
        "ticket=",
        "ticket=wrong",
        "ticket={0}x",
        "Ticket={0}",
        "token={0}",
        f"ticket={TOKEN}",
        "ticket={0}&ticket=other",
        "ticket={0}&token=other",
    ],
)
def test_what_is_no_ticket_opens_nothing_and_uses_none_up(app, query):
    guarded = replace(app, policy=door_with([0.0]))
    ticket, other = guarded.policy.tickets.new(), guarded.policy.tickets.new()
    assert asked(guarded, f"/?{query.format(ticket)}", headers=[HOST]).status == 403
    assert asked(guarded, f"/?ticket={other}", headers=[HOST]).status == 303
    assert asked(guarded, f"/?ticket={ticket}", headers=[HOST]).status == 303


def test_only_a_look_by_this_browser_uses_a_ticket_up(app):
    guarded = replace(app, policy=door_with([0.0]))
    ticket = guarded.policy.tickets.new()
    for method in ("HEAD", "POST", "PUT", "OPTIONS"):
        answer = asked(guarded, f"/?ticket={ticket}", method, [HOST, ("origin", "http://127.0.0.1:7878")])
        assert answer.status in (403, 405), method
    for hostile in (("origin", "http://evil.example"), ("sec-fetch-site", "cross-site")):
        assert asked(guarded, f"/?ticket={ticket}", headers=[HOST, hostile]).status == 403
    assert asked(guarded, f"/?ticket={ticket}", headers=[HOST]).status == 303


def test_of_many_who_bring_the_same_ticket_at_once_one_comes_in():
    tickets = Tickets()
    ticket = tickets.new()
    start = threading.Barrier(8)

    def enter(_) -> bool:
        start.wait(10)
        return tickets.take(ticket)

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(enter, range(8))) == 1


@pytest.mark.parametrize("path", ["//evil.example/", "/\\evil.example", "///evil.example//x"])
def test_the_token_does_not_lead_to_another_host(app, path):
    answer = asked(app, f"{path}?token={TOKEN}", headers=[HOST])
    assert re.match(r"/(?![/\\])", answer.headers["location"])


@pytest.mark.parametrize(
    "beside",
    [
        '{"theme": "dark"}',
        "a b=c",
        'x={"a":"b"}',
        "theme=d\xe4rk",
        "=",
        "foo",
        'x="unclosed',
        "a@b=1",
        "path=/",
        "secure",
        f"{POLICY.cookie}=set-by-another-server",
        f"{POLICY.cookie}",
        "",
    ],
)
def test_cookies_that_servers_on_other_ports_have_set_keep_nobody_out(app, beside):
    """Browsers keep cookies by host and not by port."""
    ours = COOKIE[1]
    for cookie in (f"{beside}; {ours}", f"{ours}; {beside}", f"{ours};{beside};{beside}"):
        assert asked(app, "/", headers=[HOST, ("cookie", cookie)]).status == 200, cookie


@pytest.mark.parametrize(
    "cookie",
    [
        pytest.param(f"x{POLICY.cookie}={TOKEN}", id="a name that ends like ours"),
        pytest.param(f"{POLICY.cookie}x={TOKEN}", id="a name that begins like ours"),
        pytest.param(f"x={POLICY.cookie}={TOKEN}", id="ours as the value of another"),
        pytest.param(f'{POLICY.cookie}="{TOKEN}"', id="the token in quotes, as no browser sends it"),
        pytest.param(f"{POLICY.cookie}={TOKEN}, x", id="the token and more"),
        pytest.param(f"{POLICY.cookie.upper()}={TOKEN}", id="our name in capitals"),
    ],
)
def test_what_only_looks_like_our_cookie_opens_nothing(app, cookie):
    assert asked(app, "/", headers=[HOST, ("cookie", cookie)]).status == 403


def test_a_page_of_the_viewer_itself_may_ask(app):
    for site_of in ("same-origin", "none"):
        headers = [HOST, COOKIE, ("sec-fetch-site", site_of), ("origin", "http://127.0.0.1:7878")]
        assert asked(app, "/", headers=headers).status == 200


def test_a_websocket_is_turned_away(app):
    sent = []

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"127.0.0.1:7878"), (b"cookie", f"{POLICY.cookie}={TOKEN}".encode())]
    asyncio.run(app({"type": "websocket", "path": "/", "headers": headers}, None, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_nothing_of_the_door_is_printed_with_the_token():
    ticket = POLICY.tickets.new()
    assert TOKEN not in repr(POLICY)
    assert ticket not in repr(POLICY)
    assert ticket not in repr(POLICY.tickets)


def test_browsers_keep_only_static_files_and_only_under_the_address_of_their_content(app):
    style = re.search(r'href="(/static/style\.css\?\w+)"', from_browser(app, "/").text)[1]
    kept = from_browser(app, style).headers["cache-control"]
    assert kept == "private, max-age=31536000, immutable"
    for other in (
        "/static/style.css",
        "/static/style.css?0",
        style + "0",
        "/",
        "/?" + style.partition("?")[2],
        "/nothing",
    ):
        assert from_browser(app, other).headers["cache-control"] == "no-store"
    assert asked(app, style, headers=[HOST]).headers["cache-control"] == "no-store"
