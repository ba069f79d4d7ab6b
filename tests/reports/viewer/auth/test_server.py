"""Where the viewer listens, and what it refuses to do without a token."""

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import pytest
import uvicorn

from evalmark.errors import ConfigError
from evalmark.reports.viewer.app import viewer_app
from evalmark.reports.viewer.auth.server import Listener, bind


def closed(made):
    for each in made.sockets:
        each.close()


def test_it_listens_on_this_machine_only_and_makes_a_token_each_time():
    first, second = bind(0), bind(0)
    try:
        assert {each.getsockname()[0] for each in first.sockets} <= {"127.0.0.1", "::1"}
        assert len({each.getsockname()[1] for each in first.sockets}) == 1
        assert first.policy.token != second.policy.token
        assert len(first.policy.token) >= 32
        assert first.address_of("/runs/x") == f"{first.origin}/runs/x?token={first.policy.token}"
        assert first.origin.removeprefix("http://") in first.policy.hosts
        once = first.address_once("/runs/x")
        assert once.startswith(f"{first.origin}/runs/x?ticket=")
        assert first.policy.token not in once
        assert once != first.address_once("/runs/x")
    finally:
        closed(first)
        closed(second)


def test_small_pages_are_sent_at_once():
    made = bind(0)
    try:
        assert {each.proto for each in made.sockets} == {
            socket.IPPROTO_TCP
        }  # asyncio looks at this, and then does not wait
    finally:
        closed(made)


@pytest.mark.parametrize(
    ("host", "token", "said"),
    [
        pytest.param("0.0.0.0", "", "EVALMARK_TOKEN", id="every address without a token"),  # noqa: S104
        pytest.param("192.0.2.7", "", "EVALMARK_TOKEN", id="another address without a token"),
        pytest.param("box.example", "", "EVALMARK_TOKEN", id="a name without a token"),
        pytest.param("0.0.0.0", "a-long-enough-token", "give one address", id="every address with a token"),  # noqa: S104
        pytest.param("::", "a-long-enough-token", "give one address", id="every address of IPv6 with a token"),
        pytest.param("", "short", "at least 16", id="a short token"),
        pytest.param("", "a token; Path=/; Domain=x", "letters, digits", id="a token that would break a cookie"),
        pytest.param("192.0.2.7", "a-long-enough-token", "port 0", id="an address of another machine"),
    ],
)
def test_what_is_not_safe_or_not_here_is_refused(host, token, said):
    with pytest.raises(ConfigError, match=said):
        bind(0, host, token)


def test_a_port_that_is_taken_is_named_with_a_way_out():
    first = bind(0)
    try:
        port = first.sockets[0].getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port}.*--port 0"):
            bind(port)
    finally:
        closed(first)


@contextmanager
def served(store, **settings) -> Iterator[tuple[Listener, str]]:
    """A real server as `serve` starts it; gives what it is bound to and its host."""
    made = bind(0)
    config = uvicorn.Config(
        viewer_app(store, made.policy),
        **{
            "http": "evalmark.reports.viewer.auth.connections:ViewerConnection",
            "ws": "none",
            "lifespan": "off",
            "log_config": None,
        }
        | settings,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": list(made.sockets)}, daemon=True)
    thread.start()
    try:
        yield made, made.origin.removeprefix("http://")
    finally:
        server.should_exit = True
        thread.join(5)


def test_a_real_server_answers_who_holds_the_token_and_refuses_two_hosts(store):
    with served(store) as (made, host):
        assert status(host, "/", [("Host", host)]) == 403
        assert status(host, f"/?token={made.policy.token}", [("Host", host)]) == 303
        assert status(host, "/", [("Host", host), ("Cookie", f"{made.policy.cookie}={made.policy.token}")]) == 200
        assert status(host, "/", [("Host", host), ("Host", host)]) == 400
        assert status(host, "/", []) == 400


def connected(host) -> socket.socket:
    name, _, port = host.rpartition(":")
    return socket.create_connection((name, int(port)), timeout=5)


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b"", id="that say nothing"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: ", id="that do not end what they ask"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n", id="that are answered, and never end their form"),
    ],
)
def test_connections_do_not_keep_others_out(store, said):
    with served(store, limit_concurrency=8) as (_, host), ExitStack() as several:
        held = [several.enter_context(connected(host)) for _ in range(30)]
        for one in held:
            one.sendall(said)
        for _ in range(5):
            assert status(host, "/", [("Host", host)]) == 403, "refused, as without the token; not turned away"


def hasty(seconds: float):
    """A connection with less patience."""
    from evalmark.reports.viewer.auth.connections import ViewerConnection  # it needs uvicorn

    return type("Hasty", (ViewerConnection,), {"patience": seconds})


def test_a_connection_is_not_waited_for_however_slowly_it_speaks(store):
    with served(store, http=hasty(0.05)) as (_, host), connected(host) as slow:
        assert not all(spoken(slow) for _ in range(500)), "it goes on speaking for ever"


def spoken(slow: socket.socket) -> bool:
    """Whether a little more could be said."""
    time.sleep(0.01)
    try:
        slow.sendall(b"G")
    except ConnectionError:
        return False
    return True


def test_a_connection_that_asks_again_and_again_stays_open(store):
    with served(store, http=hasty(0.3)) as (_, host), closing(http.client.HTTPConnection(host, timeout=5)) as kept:
        kept.connect()
        kept.auto_open = 0
        for _ in range(50):
            time.sleep(0.01)
            kept.request("GET", "/")
            assert b"the token" in kept.getresponse().read()


def status(host, path, headers):
    connection = http.client.HTTPConnection(host, timeout=5)
    connection.putrequest("GET", path, skip_host=True)
    for name, value in headers:
        connection.putheader(name, value)
    connection.endheaders()
    found = connection.getresponse().status
    connection.close()
    return found
