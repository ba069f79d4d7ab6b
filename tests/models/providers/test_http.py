"""One HTTP attempt against servers and networks that misbehave."""

import asyncio
import gzip
import json
import shutil
import socket
import ssl
import subprocess
import zlib

import pytest

from evalmark.core.values.call import Reply
from evalmark.errors import ModelCallError
from evalmark.testing.scripted import Cut, Endless, HeadersOnly, Huge, Reset, ScriptedServer, Slow, Status

from .wild import (
    CHAT,
    KEY,
    answer_to,
    call,
    called,
    client,
    completed,
    completion,
    failed,
    heard,
    http,
    replied,
    request,
    sends,
    wild,
)

BODY = json.dumps(completion()).encode()
pytestmark = pytest.mark.usefixtures("library")


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (400, "rejected"), (401, "closed"), (402, "closed"), (403, "closed"), (404, "closed"), (405, "rejected"), (408, "transient"),
        (409, "transient"), (413, "rejected"), (418, "rejected"), (422, "rejected"), (425, "transient"), (429, "transient"),
        (500, "transient"), (502, "transient"), (503, "transient"), (504, "transient"), (520, "transient"), (529, "transient"),
    ],
)  # fmt: skip
def test_the_status_says_what_an_error_means_for_other_calls(status, fault):
    with ScriptedServer([Status(status)]) as server:
        error = failed(server.url)
    assert error.fault == fault
    assert [(attempt.status, attempt.seconds > 0) for attempt in error.attempts] == [(status, True)]
    assert f"answered {status}" in str(error)
    assert server.count == 1


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        pytest.param(401, {"error": {"message": "Incorrect key"}}, "401 Unauthorized: Incorrect key. Check the key in OPENAI_API_KEY.", id="a wrong key"),
        pytest.param(404, {"error": "model not found"}, "model not found. Check the model 'some-model' and the address http://", id="no such model"),
        pytest.param(400, {"detail": [{"msg": "no"}]}, '400 Bad Request: [{"msg":"no"}].', id="a list, as FastAPI sends it"),
        pytest.param(409, {"message": "too\nlong\x1b[31m"}, "409 Conflict: too long.", id="a message of several lines"),
        pytest.param(503, b"<html><body>Service Unavailable</body></html>", "503 Service Unavailable: a web page.", id="a web page"),
        pytest.param(500, b"\xff\xfe\x00", "500 Internal Server Error: ", id="bytes"),
        pytest.param(500, b"", "500 Internal Server Error.", id="nothing"),
        pytest.param(400, {"error": {"message": "x" * 5000}}, "xxx…", id="a long story"),
        pytest.param(400, b"[" * 5000, "400 Bad Request: [[[", id="a deep nest"),
        pytest.param(302, b"", "302 Found. Redirects are not followed: give the final address.", id="a redirect"),
        pytest.param(407, b"", "407 Proxy Authentication Required. Check HTTP_PROXY, HTTPS_PROXY and NO_PROXY.", id="a proxy that wants a password"),
        pytest.param(429, {"error": {"code": "insufficient_quota", "message": "You exceeded"}}, "429 Too Many Requests: You exceeded. The account has no credit left.", id="no money"),
    ],
)  # fmt: skip
def test_an_error_is_one_sentence_with_what_the_server_says_and_what_to_do(status, body, said):
    with ScriptedServer([Status(status, {}, body)]) as server:
        error = failed(server.url)
    assert said in str(error)
    assert str(error).startswith(f"{CHAT}: 127.0.0.1:")
    assert len(str(error)) < 500
    assert str(error).isprintable()


def test_an_account_without_money_takes_no_more_calls():
    with ScriptedServer([Status(429, {}, {"error": {"code": "insufficient_quota"}})]) as server:
        assert failed(server.url).fault == "closed"


def test_a_limit_says_how_long_to_wait():
    with ScriptedServer(
        [Status(429, {"Retry-After": "7"}), Status(503, {"retry-after-ms": "20"}), Status(400, {"retry-after": "7"})]
    ) as server:
        assert [failed(server.url).retry_after for _ in range(3)] == [7, 0.02, None]


def test_an_error_keeps_the_start_of_the_body():
    with ScriptedServer([Status(500, {}, "é" * 9_000)]) as server:
        assert failed(server.url).attempts[0].body == "é" * 4_096


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(b"", "invalid JSON", id="nothing"),
        pytest.param(b" \n", "invalid JSON", id="space"),
        pytest.param(b"ok", "invalid JSON", id="a word"),
        pytest.param(BODY[:-1], "invalid JSON", id="JSON that is cut"),
        pytest.param(b"\xef\xbb\xbf" + BODY, "starts with a byte order mark", id="a byte order mark"),
        pytest.param(BODY.replace(b"North", b"N\xc3"), "invalid UTF-8 (at byte ", id="half a character"),
        pytest.param(BODY + BODY, "more text after its JSON", id="two objects"),
        pytest.param(BODY.replace(b'"id"', b'"model"'), "a key twice", id="a key twice"),
        pytest.param(BODY.replace(b'"created": 1', b'"created": NaN'), "NaN", id="NaN"),
        pytest.param(BODY.replace(b'"created": 1', b'"created": 1e999'), "too large a number", id="infinity"),
        pytest.param(BODY.replace(b'"created": 1', b'"created": ' + b"1" * 5_000), "too large a number", id="5,000 digits"),
        pytest.param(b'{"a":' * 100_000, "too deep a nest", id="100,000 levels"),
        pytest.param(b"[" * 101 + b"]" * 101, "too deep a nest", id="101 levels, closed"),
        pytest.param(b"[]", "a JSON list where an object was expected", id="a list"),
        pytest.param(b"null", "a JSON NoneType where", id="null"),
        pytest.param(b"{}", "without a message", id="an empty object"),
        pytest.param(b'{"choices": []}', "without a message", id="no choice"),
        pytest.param(b'{"choices": [{"message": "x"}]}', "without a message", id="a message that is a text"),
        pytest.param(b'{"error": {"message": "overloaded"}}', "answered 500 Internal Server Error: overloaded", id="an error with status 200"),
        pytest.param(b'{"error": {"message": "slow down", "code": 429}}', "answered 429 Too Many Requests: slow down", id="an error with a status of its own"),
        pytest.param(b'{"choices": [{"message": {}, "finish_reason": "error", "error": {"message": "lost"}}]}', "ended its reply with an error", id="an error in the choice"),
    ],
)  # fmt: skip
def test_a_body_that_is_no_reply_is_a_typed_error_and_is_kept(body, said):
    error = answer_to(http(body))
    assert isinstance(error, ModelCallError)
    assert error.fault == "transient"
    assert said in str(error)
    assert error.attempts[0].body == body.decode("utf-8", "replace")[:4096]


@pytest.mark.parametrize("kind", ["text/html", "text/event-stream", "text/plain; charset=utf-8", "é"])
def test_another_content_type_is_no_reply(kind):
    error = answer_to(http(BODY, kind=kind))
    assert "where JSON was expected" in str(error)


@pytest.mark.parametrize(
    "kind", ["application/json", "application/json; charset=utf-8", "application/problem+json", "Application/JSON"]
)
def test_all_forms_of_json_are_a_reply(kind):
    assert answer_to(http(BODY, kind=kind)).text == "North."


def test_a_response_need_not_say_its_type():
    assert answer_to(http(BODY).replace(b"content-type: application/json\r\n", b"")).text == "North."


def test_space_around_the_json_is_fine():
    assert answer_to(http(b"\n\n " + BODY + b"\r\n")).text == "North."


ZIPPED = gzip.compress(BODY)


@pytest.mark.parametrize(
    ("body", "coding", "text"),
    [
        pytest.param(ZIPPED, "gzip", "North.", id="gzip"),
        pytest.param(zlib.compress(BODY), "deflate", "North.", id="deflate"),
        pytest.param(BODY, "identity", "North.", id="as it is, and says so"),
        pytest.param(BODY, "gzip", None, id="gzip that is none"),
        pytest.param(ZIPPED[:-30], "gzip", None, id="gzip that is cut"),
        pytest.param(ZIPPED[:20] + b"xx" + ZIPPED[22:], "gzip", None, id="gzip with a fault"),
        pytest.param(ZIPPED, "x-unknown", None, id="a coding nobody knows"),
        pytest.param(ZIPPED, "deflate", None, id="another coding than it says"),
        pytest.param(b"", "gzip", None, id="nothing, in gzip"),
    ],
)  # fmt: skip
def test_a_coding_is_undone_or_is_an_error(body, coding, text):
    found = answer_to(http(body, f"content-encoding: {coding}"))
    if text is None:
        assert isinstance(found, ModelCallError)
        assert found.fault == "transient"
    else:
        assert found.text == text


def test_a_small_body_that_unpacks_to_a_large_one_is_not_read():
    bomb = gzip.compress(b" " * (40 << 20))
    error = answer_to(http(bomb, "content-encoding: gzip"))
    assert "larger than 32 MiB" in str(error)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\r\n\r\n", id="empty lines"),
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n", id="another protocol"),
        pytest.param(b"HTTP/1.1 200 OK\r\n", id="half a head"),
        pytest.param(b"HTTP/1.1 abc OK\r\n\r\n", id="a status that is no number"),
        pytest.param(b"HTTP/9.9 200 OK\r\n\r\n", id="another version"),
        pytest.param(b"HTTP/1.1 99999 OK\r\ncontent-length: 0\r\n\r\n", id="a status with five digits"),
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n{}", id="a negative length"),
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n{}", id="a length that is no number"),
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}", id="two lengths"),
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}", id="a length beyond the body"),
        pytest.param(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}", id="a chunk without a size"),
        pytest.param(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n{}", id="an enormous chunk"),
        pytest.param(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n", id="chunks without an end"),
        pytest.param(b"HTTP/1.1 200 OK\r\nx: " + b"a" * 100_000 + b"\r\n\r\n", id="an endless header"),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"x: a\r\n" * 10_000 + b"\r\n", id="ten thousand headers"),
        pytest.param(b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", id="a header without a colon"),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", id="no content"),
        pytest.param(b"HTTP/1.1 304 Not Modified\r\n\r\n", id="not modified"),
        pytest.param(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n", id="another protocol from here on"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" * 50, id="go on, and on"),
    ],
)  # fmt: skip
def test_what_is_no_response_is_a_typed_error(data):
    error = answer_to(data, within=1)
    assert isinstance(error, ModelCallError)
    assert error.fault in ("transient", "closed")
    assert len(error.attempts) == 1


def test_odd_bytes_in_headers_do_no_harm():
    reply = answer_to(http(BODY, "x-request-id: \udcff\udcfe", "retry-after: \udcff", "date: \udcc3"))
    assert reply.text == "North."
    assert reply.headers["x-request-id"]


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        pytest.param(Slow(20), "no complete response within 0.3 s", id="a byte at a time"),
        pytest.param(HeadersOnly(), "no complete response within 0.3 s", id="a head without a body"),
        pytest.param(Reset(), "the connection broke: Connection reset by peer", id="a reset"),
        pytest.param(Cut(40), "the response was cut off", id="a cut"),
    ],
)
def test_an_attempt_ends_at_its_deadline_or_with_the_connection(trouble, said):
    with ScriptedServer([trouble]) as server:
        error = failed(server.url, within=0.3)
    assert said in str(error)
    assert error.fault == "transient"
    assert error.attempts[0].status is None
    assert error.attempts[0].seconds < 2


@pytest.mark.parametrize("trouble", [Endless(), Huge(40 << 20)])
def test_a_body_without_end_is_not_read(trouble):
    with ScriptedServer([trouble]) as server:
        assert "the response is larger than 32 MiB and was not read" in str(failed(server.url, within=20))


def test_a_body_of_a_gigabyte_is_not_even_begun():
    sent = 0

    async def send(reader, writer):
        nonlocal sent
        await heard(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1073741824\r\n\r\n")
        for _ in range(1024):
            writer.write(b" " * (1 << 20))
            await writer.drain()
            sent += 1

    async def run():
        async with wild(send) as url:
            return await called(url, request())

    assert "larger than 32 MiB" in str(asyncio.run(run()))
    assert sent < 32


def test_the_connection_is_used_again_after_an_error():
    with ScriptedServer([Status(500), None, Status(429)]) as server:

        async def run():
            http_client = client()
            url = f"{server.url}/v1/chat/completions"
            body = b'{"model": "m", "messages": [{"role": "user", "content": "x"}]}'
            try:
                return [(await http_client.post(url, body, {}, within=5)).status for _ in range(4)]
            finally:
                await http_client.close()

        assert asyncio.run(run()) == [500, 200, 429, 200]


def test_a_server_that_is_not_there_is_one_sentence():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        error = failed(f"http://127.0.0.1:{port}")
    assert (
        str(error)
        == f"127.0.0.1:{port}: no connection could be made: Connection refused. Start the server, or check the address."
    )
    assert error.fault == "transient"


def test_plain_http_where_tls_is_spoken_is_one_sentence():
    async def send(reader, writer):
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await reader.read()

    async def run():
        async with wild(send) as url:
            return await called(url.replace("http:", "https:"), request())

    error = asyncio.run(run())
    assert "no connection could be made" in str(error)
    assert error.fault == "transient"


def test_a_certificate_that_is_not_trusted_ends_all_calls(tmp_path):
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl makes the certificate")
    files = ["-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "certificate")]
    options = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    subprocess.run([openssl, "req", *options, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "certificate", tmp_path / "key")

    async def handle(_, writer):
        writer.close()

    async def run():
        server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context)
        async with server:
            return await called(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", request())

    error = asyncio.run(run())
    assert "its certificate is not trusted: self" in str(error)
    assert error.fault == "closed"


def test_a_redirect_is_not_followed():
    with ScriptedServer() as target:

        async def run():
            where = f"location: {target.url}/v1/chat/completions"
            async with wild(sends(http(b"", where, status="307 Temporary Redirect"))) as url:
                return await called(url, request())

        error = asyncio.run(run())
    assert "Redirects are not followed" in str(error)
    assert error.fault == "closed"
    assert target.count == 0


def test_cookies_of_a_server_are_not_sent_back():
    heads = []

    async def send(reader, writer):
        for _ in range(2):
            heads.append((await heard(reader))[0])
            writer.write(http(BODY, "set-cookie: a=b; Path=/"))
            await writer.drain()

    async def run():
        async with wild(send) as url:
            http_client = client()
            for _ in range(2):
                await http_client.post(f"{url}/v1", b"{}", {}, within=5)
            await http_client.close()

    asyncio.run(run())
    assert len(heads) == 2
    assert b"cookie" not in b"".join(heads).lower()


def test_no_password_is_taken_from_netrc(tmp_path, monkeypatch):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password netrc-canary\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    heads = []

    async def send(reader, writer):
        heads.append((await heard(reader))[0])
        writer.write(http(BODY))

    async def run():
        async with wild(send) as url:
            http_client = client({"NETRC": str(tmp_path / "netrc")})
            await http_client.post(f"{url}/v1", b"{}", {}, within=5)
            await http_client.close()

    asyncio.run(run())
    assert b"authorization" not in heads[0].lower()


@pytest.mark.parametrize(
    ("environ", "host", "through_proxy"),
    [
        pytest.param({"HTTP_PROXY": "PROXY"}, "model.example", True, id="a proxy"),
        pytest.param({"http_proxy": "PROXY"}, "model.example", True, id="in small letters"),
        pytest.param({"HTTPS_PROXY": "PROXY"}, "127.0.0.1", False, id="a proxy for https only"),
        pytest.param({"HTTP_PROXY": "PROXY"}, "127.0.0.1", False, id="this machine is asked directly"),
        pytest.param({"HTTP_PROXY": "PROXY", "NO_PROXY": "127.0.0.1"}, "127.0.0.1", False, id="an exception"),
    ],
)
def test_a_proxy_is_used_where_the_environment_names_one(environ, host, through_proxy):
    heads = []

    async def send(reader, writer):
        heads.append((await heard(reader))[0])
        writer.write(http(BODY))

    async def run():
        async with wild(send) as url:
            set_to = {
                name: value.replace("PROXY", url.replace("//", "//me:proxy-canary@")) for name, value in environ.items()
            }
            return await called(url.replace("127.0.0.1", host), request(), **set_to)

    assert asyncio.run(run()).text == "North."
    assert heads[0].startswith(f"POST http://{host}".encode() if through_proxy else b"POST /v1")


@pytest.mark.parametrize(
    ("host", "exceptions", "direct"),
    [
        ("api.example", "", False),
        ("api.example", "example", True),
        ("api.example", ".example", True),
        ("api.example", "other, api.example", True),
        ("api.example", "pi.example", False),
        ("api.example", "*", True),
        ("localhost", "", True),
        ("127.0.0.2", "", True),
        ("::1", "", True),
    ],
)
def test_hosts_that_are_asked_without_the_proxy(host, exceptions, direct):
    http_client = client({"HTTP_PROXY": "http://proxy.example", "NO_PROXY": exceptions})
    assert (http_client._proxy(f"http://{f'[{host}]' if ':' in host else host}/v1") is None) is direct


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n", "407"),
        (b"", "without a response"),
    ],
)
def test_a_proxy_that_fails_does_not_show_its_password(answer, said):
    async def run():
        async with wild(sends(answer)) as url:
            return await called("http://model.example", request(), HTTP_PROXY=url.replace("//", "//me:proxy-canary@"))

    error = asyncio.run(run())
    assert said in str(error)
    assert "canary" not in repr(error) + repr(error.attempts)


def test_a_tunnel_that_is_refused_does_not_show_the_password_of_the_proxy():
    async def run():
        async with wild(sends(b"HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n")) as url:
            return await called("https://model.example", request(), HTTPS_PROXY=url.replace("//", "//me:proxy-canary@"))

    error = asyncio.run(run())
    assert "the proxy answered 407. Check HTTP_PROXY, HTTPS_PROXY and NO_PROXY" in str(error)
    assert "canary" not in repr(error) + repr(error.attempts)


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "ftp://127.0.0.1:9", "http://[", "127.0.0.1:x"])
def test_a_proxy_that_cannot_be_used_is_one_sentence(proxy):
    error = failed("http://model.example", HTTP_PROXY=proxy)
    assert "Check HTTP_PROXY" in str(error)
    assert error.fault == "closed"


def test_a_proxy_may_be_written_without_a_scheme():
    async def run():
        async with wild(sends(completed())) as url:
            return await called("http://model.example", request(), HTTP_PROXY=url.removeprefix("http://"))

    assert asyncio.run(run()).text == "North."


@pytest.mark.skipif(not socket.has_ipv6, reason="this Python has no IPv6")
def test_a_server_that_speaks_ipv6_only_is_reached():
    async def run():
        async def handle(reader, writer):
            await sends(completed())(reader, writer)
            writer.close()

        try:
            server = await asyncio.start_server(handle, "::1", 0)
        except OSError:
            pytest.skip("this machine has no IPv6")
        async with server:
            return await called(f"http://[::1]:{server.sockets[0].getsockname()[1]}", request())

    assert asyncio.run(run()).text == "North."


def test_one_client_serves_one_event_loop_after_the_other():
    http_client = client()

    async def run(url):
        try:
            return (await http_client.post(f"{url}/v1/chat/completions", b"{}", {}, within=5)).status
        finally:
            await http_client.close()

    with ScriptedServer() as server:
        assert [asyncio.run(run(server.url)) for _ in range(2)] == [400, 400]


def test_a_large_request_is_sent():
    with ScriptedServer() as server:
        reply = replied(server.url, request(settings={"user": "x" * (3 << 20)}))
    assert reply.text == "Which way?"


def test_a_call_that_is_cancelled_closes_its_connection():
    async def run():
        begun, gone = asyncio.Event(), asyncio.Event()

        async def send(reader, writer):
            await heard(reader)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n")
            begun.set()
            await reader.read()
            gone.set()

        async with wild(send) as url:
            http_client = client()
            task = asyncio.create_task(http_client.post(url, b"{}", {}, within=30))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(gone.wait(), 5)
            await http_client.close()

    asyncio.run(run())


FRAMINGS = {
    "a length": http(BODY + b" " * (2_048 - len(BODY))),
    "chunks": b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    + b"".join(b"%x\r\n%s\r\n" % (len(BODY[i : i + 50]), BODY[i : i + 50]) for i in range(0, len(BODY), 50))
    + b"0\r\n\r\n",
    "the end of the connection": b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n" + BODY,
}


async def outcomes(data, places):
    """What calls come to when the server hangs up after so many bytes, at each of the places."""
    at = iter(places)

    async def send(reader, writer):
        await heard(reader)
        writer.write(data[: next(at)])
        await writer.drain()

    async with wild(send) as url:
        return [await called(url, request()) for _ in places]


@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_reply_that_breaks_off_at_any_byte_is_a_transient_error(framing):
    data = FRAMINGS[framing]
    check_cuts(data, [*range(0, len(data), 83), *range(len(data) - 7, len(data) + 1)])


@pytest.mark.sweep
@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_reply_that_breaks_off_at_every_byte_is_a_transient_error(framing):
    check_cuts(FRAMINGS[framing], range(len(FRAMINGS[framing]) + 1))


def check_cuts(data, places):
    """Whole replies are replies, all others are errors that may pass."""
    for place, found in zip(places, asyncio.run(outcomes(data, places)), strict=True):
        if isinstance(found, Reply):
            assert found.text == "North."
            assert place >= len(data.rstrip()) - len(b"0\r\n\r\n") or place == len(data)
        else:
            assert isinstance(found, ModelCallError)
            assert found.fault == "transient", place
            assert len(found.attempts) == 1
            assert place < len(data)


def test_a_key_is_not_sent_where_there_is_none():
    with ScriptedServer(key=None) as server:
        call(server.url, OPENAI_API_KEY="")
        assert server.problems == []


def test_the_key_that_is_sent_is_the_one_in_the_variable():
    with ScriptedServer(key=KEY) as server:
        assert replied(server.url).text == "Which way?"
        assert failed(server.url, OPENAI_API_KEY="sk-another-0123456789").fault == "closed"
