"""Connections that are kept, cut, held up and given up, with both HTTP clients against servers of real sockets."""

import asyncio
import contextlib
import gc
import gzip
import json
import multiprocessing
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
import zlib

import pytest

from evalmark.errors import ModelCallError
from evalmark.models.providers.http import HttpClient

from . import wild as common
from .wild import answer_to, called, client, completed, completion, heard, http, request, wild

pytestmark = pytest.mark.usefixtures("library")
BODY = json.dumps(completion()).encode()
OK = http(b"{}")


class Recorder:
    """A server that answers each request as a list says, and records requests and connections."""

    def __init__(self, *responses, close_after=()):
        self.responses, self.close_after = list(responses), close_after
        self.heads, self.bodies, self.of_connection = [], [], []
        self.connections = 0

    async def __call__(self, reader, writer):
        self.connections += 1
        number = self.connections
        while True:
            head, body = await heard(reader)
            place = len(self.heads)
            self.heads.append(head)
            self.bodies.append(body)
            self.of_connection.append(number)
            writer.write(self.responses[place] if place < len(self.responses) else OK)
            await writer.drain()
            if place in self.close_after:
                return


async def statuses(http_client, url, calls, pause=0.0):
    """Send requests one after the other; the status of each, or its error."""
    found = []
    for _ in range(calls):
        try:
            found.append((await http_client.post(url, b"{}", {}, within=5)).status)
        except ModelCallError as error:
            found.append(str(error).partition(": ")[2])
        await asyncio.sleep(pause)
    return found


def talk(server, calls=2, pause=0.0):
    """Start the server, send requests one after the other, and return what they came to."""

    async def run():
        async with wild(server) as url:
            http_client = client()
            try:
                return await statuses(http_client, url, calls, pause)
            finally:
                await http_client.close()

    return asyncio.run(run())


@pytest.mark.parametrize(
    "interim",
    [
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n", id="go on"),
        pytest.param(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\nx-request-id: early\r\n\r\n", id="hints"),
        pytest.param(b"HTTP/1.1 102 Processing\r\n\r\n" * 5, id="five times"),
    ],
)
def test_interim_responses_are_skipped(interim):
    reply = answer_to(interim + http(BODY, "x-request-id: final"))
    assert (reply.text, reply.headers["x-request-id"]) == ("North.", "final")


def test_a_connection_serves_one_request_after_the_other():
    server = Recorder()
    assert talk(server, 5) == [200] * 5
    assert server.connections == 1


def test_requests_at_the_same_time_have_connections_of_their_own():
    server = Recorder()

    async def run():
        async with wild(server) as url:
            http_client = client()
            found = await asyncio.gather(*(http_client.post(url, b"%d" % i, {}, within=5) for i in range(20)))
            again = await asyncio.gather(*(http_client.post(url, b"%d" % i, {}, within=5) for i in range(20)))
            await http_client.close()
            return [response.status for response in (*found, *again)]

    assert asyncio.run(run()) == [200] * 40
    assert server.connections == 20


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(OK.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"), id="it says so"),
        pytest.param(OK.replace(b"HTTP/1.1", b"HTTP/1.0"), id="HTTP/1.0"),
    ],
)
def test_a_connection_that_cannot_be_trusted_is_not_used_again(response):
    server = Recorder(response)
    assert talk(server) == [200, 200]
    assert server.of_connection == [1, 2]


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(OK.replace(b"HTTP/1.1", b"HTTP/1.0").replace(b"\r\n\r\n", b"\r\nconnection: keep-alive\r\n\r\n"), id="HTTP/1.0 that keeps it"),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", id="no content"),
        pytest.param(b"HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n", id="a length without a body"),
        pytest.param(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;x=y\r\n{}\r\n0\r\nx-trailer: a\r\n\r\n", id="chunks with a trailer"),
        pytest.param(b"HTTP/1.1 200 OK\ncontent-length: 2\n\n{}", id="lines without a carriage return"),
    ],
)  # fmt: skip
def test_a_connection_is_kept_after_a_response_of_known_length(response):
    server = Recorder(response)
    assert talk(server)[1] == 200
    assert server.of_connection == [1, 1]


@pytest.mark.parametrize("surplus", [b"rubbish", OK, OK[:20], b"\0"])
def test_what_a_server_sends_after_its_response_is_not_taken_for_the_next_one(surplus, library):
    if library == "aiohttp":
        pytest.skip("aiohttp takes it for the response to the next request, or for an invalid response to this one")
    server = Recorder(OK + surplus)
    assert talk(server) == [200, 200]
    assert server.of_connection == [1, 2]

    async def late(reader, writer):
        await heard(reader)
        writer.write(OK)
        await asyncio.sleep(0.05)
        writer.write(surplus)
        await heard(reader)
        writer.write(http(b"{}", status="418 Later"))

    assert talk(late, 2, pause=0.2) == [200, 200]


def test_a_trailer_does_not_replace_a_header():
    head = b"HTTP/1.1 200 OK\r\nx-request-id: head\r\ntransfer-encoding: chunked\r\n\r\n"
    data = head + b"%x\r\n%b\r\n0\r\nx-request-id: trailer\r\n\r\n" % (len(BODY), BODY)
    assert answer_to(data).headers["x-request-id"] == "head"


def test_the_first_of_several_headers_with_one_name_counts():
    assert answer_to(http(BODY, "x-request-id: a", "x-request-id: b")).headers["x-request-id"] == "a"


def test_a_connection_that_the_server_closed_meanwhile_is_replaced():
    server = Recorder(close_after={0, 1, 2})
    assert talk(server, 4, pause=0.05) == [200] * 4
    assert server.of_connection == [1, 2, 3, 4]


def test_a_request_is_never_sent_twice_when_a_kept_connection_breaks():
    requests = []

    async def send(reader, writer):
        requests.append(await heard(reader))
        writer.write(OK)
        requests.append(await heard(reader))

    found = talk(send, 2)
    assert found == [200, "the server closed the connection without a response."]
    assert len(requests) == 2


@pytest.mark.parametrize(
    "endless",
    [
        pytest.param((b"HTTP/1.1 200 OK\r\n", b"x-%d: a\r\n" * 100), id="headers"),
        pytest.param((b"HTTP/1.1 200 OK\r\nx: ", b"a" * 1_000), id="one header"),
        pytest.param((b"HTTP/1.1 200 " , b"a" * 1_000), id="a reason"),
        pytest.param((b"a", b"a" * 1_000), id="no header at all"),
    ],
)  # fmt: skip
def test_a_head_without_end_is_not_read(endless):
    sent = 0

    async def send(reader, writer):
        nonlocal sent
        await heard(reader)
        writer.write(endless[0])
        while sent < 20_000:
            writer.write(endless[1].replace(b"%d", b"%d" % sent))
            await writer.drain()
            sent += 1

    assert talk(send, 1) == ["the response is not valid HTTP."]
    assert sent < 20_000


def test_interim_responses_without_end_are_not_read(library):
    if library == "aiohttp":
        pytest.skip("aiohttp reads them up to the deadline")
    sent = 0

    async def send(reader, writer):
        nonlocal sent
        await heard(reader)
        while sent < 20_000:
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 10)
            await writer.drain()
            sent += 1

    assert talk(send, 1) == ["the response is not valid HTTP."]
    assert sent < 20_000


def test_a_body_in_more_than_one_gzip_member_is_read():
    assert answer_to(http(gzip.compress(BODY[:9]) + gzip.compress(BODY[9:]), "content-encoding: gzip")).text == "North."


def test_raw_deflate_data_is_read():
    raw = zlib.compressobj(wbits=-15)
    data = raw.compress(BODY) + raw.flush()
    assert answer_to(http(data, "content-encoding: Deflate")).text == "North."


def test_chunks_that_unpack_to_too_much_are_not_read():
    bomb = gzip.compress(b" " * (33 << 20))
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n"
    data = head + b"".join(b"%x\r\n%b\r\n" % (len(bomb[i : i + 99]), bomb[i : i + 99]) for i in range(0, len(bomb), 99))
    assert "the response is larger than 32 MiB" in str(answer_to(data + b"0\r\n\r\n"))


# What is sent.


def test_a_large_request_reaches_a_slow_server_whole():
    received = []

    async def send(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split()[0])
        while sum(map(len, received)) < length:
            received.append(await reader.read(500_000))
            await asyncio.sleep(0.001)
        writer.write(OK)

    body = os.urandom(1 << 20) * 12

    async def run():
        async with wild(send) as url:
            http_client = client()
            response = await http_client.post(url, body, {}, within=30)
            await http_client.close()
            return response.status

    assert asyncio.run(run()) == 200
    assert b"".join(received) == body


def test_a_response_before_the_end_of_a_large_request_counts_and_ends_the_connection():
    server_done = asyncio.Event()
    connections = 0

    async def send(reader, writer):
        nonlocal connections
        connections += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(http(b"{}", status="413 Content Too Large"))
        await writer.drain()
        await server_done.wait()

    async def run():
        async with wild(send) as url:
            http_client = client()
            found = [(await http_client.post(url, bytes(30 << 20), {}, within=5)).status for _ in range(2)]
            server_done.set()
            await http_client.close()
            return found

    assert asyncio.run(run()) == [413, 413]
    assert connections == 2


@pytest.mark.parametrize("taken", [0, 1 << 18, 1 << 19, 1 << 20, 3 << 20])
def test_a_connection_with_a_request_that_was_sent_in_part_is_not_used_again(taken):
    async def send(reader, writer):
        while b"content-length: 2\r\n" not in (await reader.readuntil(b"\r\n\r\n")).lower():
            await reader.readexactly(taken)
            writer.write(http(b"{}", status="413 Content Too Large"))
            await reader.readexactly((4 << 20) - taken)
        await reader.readexactly(2)
        writer.write(http(b"{}", status="201 Created"))

    async def run():
        async with wild(send) as url:
            http_client = client()
            found = []
            for body in (bytes(4 << 20), b"{}"):
                found.append((await http_client.post(url, body, {}, within=5)).status)
            await http_client.close()
            return found

    assert asyncio.run(run()) == [413, 201]


@pytest.mark.parametrize(
    ("address", "line", "host"),
    [
        ("URL", "/", "HOST"),
        ("URL/v1/m%2Fx", "/v1/m%2Fx", "HOST"),
        ("URL/v1/models/a:b?alt=json&x=%20", "/v1/models/a:b?alt=json&x=%20", "HOST"),
        ("URL/v1/deployments/é", "/v1/deployments/%C3%A9", "HOST"),
        ("URL/v1#part", "/v1", "HOST"),
    ],
)
def test_the_request_names_path_and_host(address, line, host):
    server = Recorder()

    async def run():
        async with wild(server) as url:
            http_client = client()
            await http_client.post(address.replace("URL", url), b"{}", {"x-own": "1"}, within=5)
            await http_client.close()
            return url.removeprefix("http://")

    where = asyncio.run(run())
    first, *fields = server.heads[0].decode().strip().split("\r\n")
    assert first == f"POST {line} HTTP/1.1"
    sent = dict(field.lower().split(": ", 1) for field in fields)
    assert sent.pop("accept-encoding").startswith("gzip, deflate")  # with zstd by aiohttp on Python 3.14
    assert sent == {
        "host": host.replace("HOST", where),
        "accept": "application/json",
        "content-type": "application/json",
        "user-agent": "evalmark",
        "x-own": "1",
        "content-length": "2",
    }


def test_headers_of_a_request_replace_those_of_the_client():
    server = Recorder()

    async def run():
        async with wild(server) as url:
            http_client = client()
            await http_client.post(url, b"{}", {"content-type": "text/plain"}, within=5)
            await http_client.close()

    asyncio.run(run())
    assert server.heads[0].lower().count(b"content-type: ") == 1
    assert b"content-type: text/plain\r\n" in server.heads[0].lower()


@pytest.mark.parametrize(
    ("url", "headers"),
    [
        pytest.param("URL", {"x": "a\r\ny: b"}, id="a header of two lines"),
        pytest.param("http://127.0.0.1:99999", {}, id="a port that is none"),
        pytest.param("http://.example/", {}, id="an empty label"),
    ],
)
def test_a_request_that_cannot_be_written_is_not_sent(url, headers):
    async def run():
        async with wild(server) as own:
            http_client = client()
            with pytest.raises(ModelCallError) as refused:
                await http_client.post(url.replace("URL", own), b"{}", headers, within=2)
            await http_client.close()
            return refused.value

    server = Recorder()
    error = asyncio.run(run())
    assert server.heads == []
    assert "cannot be used" in str(error)
    assert error.fault == "closed"


# Phases of a request: each ends at the deadline, and when the call is cancelled.


@contextlib.contextmanager
def full_backlog():
    """A server whose queue of connections is full, so that none is made."""
    with socket.socket() as server, contextlib.ExitStack() as held:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(4):
            waiting = held.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        time.sleep(0.05)
        yield server.getsockname()[1]


async def silent(reader, writer):
    await reader.read()


async def deaf(reader, writer):
    await asyncio.sleep(30)


def half(data):
    async def send(reader, writer):
        await heard(reader)
        writer.write(data)
        await reader.read()

    return send


PHASES = [
    pytest.param("http", None, b"{}", id="connecting"),
    pytest.param("https", silent, b"{}", id="TLS"),
    pytest.param("http", deaf, bytes(30 << 20), id="sending"),
    pytest.param("http", half(b""), b"{}", id="waiting for the first byte"),
    pytest.param("http", half(b"HTTP/1.1 200 OK\r\ncontent-le"), b"{}", id="in the head"),
    pytest.param("http", half(b"HTTP/1.1 100 Continue\r\n\r\n"), b"{}", id="after an interim response"),
    pytest.param("http", half(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"), b"{}", id="in the body"),
    pytest.param("http", half(b"HTTP/1.1 200 OK\r\n\r\n{}"), b"{}", id="in a body without a length"),
    pytest.param("http", half(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"), b"{}", id="in the trailer"),
]  # fmt: skip


async def in_phase(scheme, send, use):
    """Run `use(url, closed)` against a server that stops in one phase; `closed` is set when a connection ends."""
    closed = asyncio.Event()

    async def watched(reader, writer):
        try:
            await send(reader, writer)
        finally:
            closed.set()

    if send is None:
        with full_backlog() as port:
            closed.set()
            return await use(f"http://127.0.0.1:{port}", closed)
    async with wild(watched) as url:
        return await use(url.replace("http:", f"{scheme}:"), closed)


@pytest.mark.parametrize(("scheme", "send", "body"), PHASES)
def test_an_attempt_ends_at_its_deadline_in_each_phase(scheme, send, body):
    async def use(url, closed):
        http_client = client()
        started = time.perf_counter()
        with pytest.raises(ModelCallError) as late:
            await http_client.post(url, body, {}, within=0.3)
        taken = time.perf_counter() - started
        if send is not deaf:
            await asyncio.wait_for(closed.wait(), 5)
        await http_client.close()
        return late.value, taken

    error, taken = asyncio.run(in_phase(scheme, send, use))
    assert str(error).endswith(": no complete response within 0.3 s.")
    assert (error.fault, len(error.attempts)) == ("transient", 1)
    assert 0.25 < taken < 3


@pytest.mark.parametrize(("scheme", "send", "body"), PHASES)
def test_a_call_that_is_cancelled_in_any_phase_closes_its_connection(scheme, send, body):
    reports = []

    async def use(url, closed):
        asyncio.get_running_loop().set_exception_handler(lambda _, report: reports.append(report["message"]))
        http_client = client()
        task = asyncio.create_task(http_client.post(url, body, {}, within=30))
        await asyncio.sleep(0.15)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        del task
        gc.collect()  # reports exceptions that nothing waited for
        if send is not deaf:
            await asyncio.wait_for(closed.wait(), 5)
        await http_client.close()

    asyncio.run(in_phase(scheme, send, use))
    assert reports == []


def test_after_a_cancelled_call_the_next_one_gets_its_own_response():
    async def send(reader, writer):
        number = 0
        while True:
            _, body = await heard(reader)
            await asyncio.sleep(0.1 if body == b"slow" else 0)
            writer.write(http(body))
            number += 1

    async def run():
        async with wild(send) as url:
            http_client = client()
            for _ in range(5):
                task = asyncio.create_task(http_client.post(url, b"slow", {}, within=5))
                await asyncio.sleep(0.02)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                response = await http_client.post(url, b"next", {}, within=5)
                assert response.body == b"next"
                await asyncio.sleep(0.1)
            await http_client.close()

    asyncio.run(run())


def test_calls_cancelled_at_random_never_get_the_response_of_another():
    async def send(reader, writer):
        while True:
            _, body = await heard(reader)
            data = http(body)
            writer.write(data[:40])
            await asyncio.sleep(0)
            writer.write(data[40:])

    async def run():
        async with wild(send) as url:
            http_client = client()

            async def one(number):
                try:
                    async with asyncio.timeout(number % 7 * 0.002 if number % 3 else 5):
                        response = await http_client.post(url, b"%d" % number, {}, within=5)
                except TimeoutError:
                    return
                assert response.body == b"%d" % number

            for batch in range(8):
                await asyncio.gather(*(one(batch * 50 + i) for i in range(50)))
            await http_client.close()

    asyncio.run(run())


# Names and addresses.


def port_of(url):
    return int(url.rpartition(":")[2])


def resolved(monkeypatch, addresses):
    """Let each name resolve to these addresses; returns the list of names that were looked up."""
    names = []
    original = asyncio.BaseEventLoop.getaddrinfo

    async def getaddrinfo(loop, host, port, **options):
        if host != "model.example":
            return await original(loop, host, port, **options)
        names.append(host)
        await asyncio.sleep(0.01)
        found = addresses[min(len(names), len(addresses)) - 1]
        if isinstance(found, Exception):
            raise found
        return [
            (socket.AF_INET6 if ":" in address[0] else socket.AF_INET, socket.SOCK_STREAM, 6, "", address)
            for address in found
        ]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)
    return names


def test_the_second_address_of_a_name_is_used_where_the_first_does_not_answer(monkeypatch):
    async def run(port):
        async with wild(Recorder()) as url:
            good = port_of(url)
            resolved(monkeypatch, [[("127.0.0.1", port), ("127.0.0.1", good)]])
            http_client = client()
            found = await statuses(http_client, "http://model.example", 1)
            await http_client.close()
            return found

    with full_backlog() as port:
        assert asyncio.run(run(port)) == [200]


def test_the_second_address_of_a_name_is_used_where_the_first_refuses(monkeypatch):
    async def run():
        async with wild(Recorder()) as url:
            port = port_of(url)
            resolved(monkeypatch, [[("::1", port, 0, 0), ("127.0.0.1", port)]])
            http_client = client()
            found = await statuses(http_client, "http://model.example", 1)
            await http_client.close()
            return found

    assert asyncio.run(run()) == [200]


def test_a_server_that_refuses_at_all_its_addresses_is_one_sentence(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        resolved(monkeypatch, [[("127.0.0.2", port), ("127.0.0.1", port)]])

        async def run():
            http_client = client()
            found = await statuses(http_client, "http://model.example", 1)
            await http_client.close()
            return found

        assert asyncio.run(run()) == [
            "no connection could be made: Connection refused. Start the server, or check the address."
        ]


def test_a_name_is_looked_up_once_for_many_connections(monkeypatch):
    async def run():
        async with wild(Recorder()) as url:
            names = resolved(monkeypatch, [[("127.0.0.1", port_of(url))]])
            http_client = client()
            calls = (http_client.post("http://model.example", b"{}", {}, within=5) for _ in range(30))
            assert {response.status for response in await asyncio.gather(*calls)} == {200}
            await http_client.close()
            return names

    assert asyncio.run(run()) == ["model.example"]


def test_a_failed_lookup_is_one_sentence_and_is_tried_again(monkeypatch):
    async def run():
        async with wild(Recorder()) as url:
            missing = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            resolved(monkeypatch, [missing, [("127.0.0.1", port_of(url))]])
            http_client = client()
            found = await statuses(http_client, "http://model.example", 2)
            await http_client.close()
            return found

    assert asyncio.run(run()) == ["no connection could be made: Name or service not known. Check the address.", 200]


def test_a_call_that_is_cancelled_while_its_name_is_looked_up_leaves_the_others(monkeypatch):
    async def run():
        async with wild(Recorder()) as url:
            resolved(monkeypatch, [[("127.0.0.1", port_of(url))]])
            http_client = client()
            first, second = (
                asyncio.create_task(http_client.post("http://model.example", b"{}", {}, within=5)) for _ in range(2)
            )
            await asyncio.sleep(0.005)
            first.cancel()
            response = await second
            await asyncio.gather(first, return_exceptions=True)
            await http_client.close()
            return first.cancelled(), response.status

    assert asyncio.run(run()) == (True, 200)


# Event loops, threads, processes.


def test_one_client_serves_several_event_loops_at_once():
    server = Recorder()
    failures = []

    def thread(http_client, url):
        async def run():
            try:
                assert set(await statuses(http_client, url, 5)) == {200}
            finally:
                await http_client.close()

        try:
            asyncio.run(run())
        except BaseException as error:  # noqa: BLE001  reported by the test
            failures.append(error)

    async def serve():
        async with wild(server) as url:
            http_client = client()
            threads = [threading.Thread(target=thread, args=(http_client, url)) for _ in range(8)]
            for each in threads:
                each.start()
            await asyncio.gather(*(asyncio.to_thread(each.join) for each in threads))

    asyncio.run(serve())
    assert failures == []
    assert len(server.heads) == 40


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_loop_that_ended_without_closing_its_connections_does_not_disturb_the_next():
    def two_loops():
        http_client = client()

        async def run():
            async with wild(Recorder()) as url:
                return await statuses(http_client, url, 2)

        return [asyncio.run(run()) for _ in range(2)]

    assert two_loops() == [[200, 200]] * 2
    gc.collect()  # the warnings about what was left open belong to this test


def _child(http_client, url, found):
    async def run():
        result = await statuses(http_client, url, 2)
        await http_client.close()
        return result

    found.put(asyncio.run(run()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_connections_of_its_own():
    server = Recorder()
    context = multiprocessing.get_context("fork")

    async def run():
        async with wild(server) as url:
            http_client = client()
            before = await statuses(http_client, url, 1)
            found = context.Queue()
            process = context.Process(target=_child, args=(http_client, url, found))
            process.start()
            in_child = await asyncio.to_thread(found.get, True, 20)
            await asyncio.to_thread(process.join)
            after = await statuses(http_client, url, 1)
            await http_client.close()
            return before, in_child, after

    assert asyncio.run(run()) == ([200], [200, 200], [200])
    assert server.of_connection == [1, 2, 2, 1]


def test_closing_ends_idle_connections_and_calls_under_way():
    closed = asyncio.Event()

    async def send(reader, writer):
        while b"/hang" not in (await heard(reader))[0]:
            writer.write(OK)
        await reader.read()
        closed.set()

    async def run():
        async with wild(send) as url:
            http_client = client()
            await http_client.post(url, b"{}", {}, within=5)
            task = asyncio.create_task(http_client.post(f"{url}/hang", b"{}", {}, within=30))
            await asyncio.sleep(0.1)
            await http_client.close()
            with pytest.raises(ModelCallError) as ended:
                await task
            await asyncio.wait_for(closed.wait(), 5)
            return ended.value

    assert asyncio.run(run()).fault == "transient"


# TLS.


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """A certificate authority, and certificates of it for a server."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl makes the certificates")
    folder = tmp_path_factory.mktemp("certificates")

    def make(*words):
        return subprocess.run([openssl, *map(str, words)], check=True, capture_output=True, cwd=folder)

    # From OpenSSL 3.4 on, a day in the past is a date; before, it was a negative number of days.
    has_dates = b"-not_after" in (shown := make("x509", "-help")).stdout + shown.stderr
    past = ("-not_before", "20200101000000Z", "-not_after", "20200102000000Z") if has_dates else ("-days", -1)
    key = ("-newkey", "rsa:2048", "-nodes")
    usage = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
    make("req", "-x509", *key, "-days", 2, "-subj", "/CN=test authority", *usage, "-keyout", "ca.key", "-out", "ca.pem")
    for name, valid in (("localhost", ("-days", 2)), ("other.example", ("-days", 2)), ("expired", past)):
        host = "localhost" if name == "expired" else name
        lines = (f"subjectAltName=DNS:{host}", "authorityKeyIdentifier=keyid", "subjectKeyIdentifier=hash")
        (folder / "ext").write_text("\n".join(lines) + "\nbasicConstraints=CA:FALSE\n")
        make("req", *key, "-subj", f"/CN={host}", "-keyout", f"{name}.key", "-out", "request.pem")
        sign = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "ext")
        make("x509", "-req", "-in", "request.pem", *sign, *valid, "-out", f"{name}.pem")
    return folder


def server_context(folder, name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
    return context


PROGRAM = """
import asyncio, json, sys
from evalmark.errors import ModelCallError
from evalmark.models.providers.http import HttpClient

async def run(url, library, size, calls):
    client = HttpClient({}, library)
    for _ in range(calls):
        try:
            response = await client.post(url, bytes(size), {}, within=10)
            print(json.dumps([response.status, len(response.body)]))
        except ModelCallError as error:
            print(json.dumps([error.fault, str(error).partition(": ")[2]]))
    await client.close()

asyncio.run(run(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
"""


def over_tls(folder, certificate, send, *, size=2, calls=1, trusted=True):
    """Results of calls over TLS in a process of its own, which reads SSL_CERT_FILE at its start; and the names it asked for."""
    names = []

    async def run():
        context = server_context(folder, certificate)
        context.sni_callback = lambda _, name, __: names.append(name)

        async with wild(send, tls=context) as address:
            url = address.replace("127.0.0.1", "localhost")
            environ = {**os.environ, **({"SSL_CERT_FILE": str(folder / "ca.pem")} if trusted else {})}
            words = [sys.executable, "-c", PROGRAM, url, common.library, str(size), str(calls)]
            process = await asyncio.create_subprocess_exec(*words, env=environ, stdout=subprocess.PIPE)
            output, _ = await process.communicate()
            return [json.loads(line) for line in output.decode().splitlines()]

    return asyncio.run(run()), names


def test_a_certificate_of_a_trusted_authority_is_accepted_and_the_server_is_told_the_name(authority):
    server = Recorder()
    found, names = over_tls(authority, "localhost", server, calls=3)
    assert found == [[200, 2]] * 3
    assert (names, server.connections) == (["localhost"], 1)


def test_large_bodies_go_over_tls_in_both_directions(authority):
    found, _ = over_tls(authority, "localhost", Recorder(*[http(bytes(9 << 20))] * 2), size=9 << 20, calls=2)
    assert found == [[200, 9 << 20]] * 2


@pytest.mark.parametrize(
    ("certificate", "trusted", "reason"),
    [
        pytest.param("localhost", False, "unable to get local issuer certificate", id="an unknown authority"),
        pytest.param("other.example", True, "Hostname mismatch, certificate is not valid for 'localhost'.", id="another name"),
        pytest.param("expired", True, "certificate has expired", id="expired"),
    ],
)  # fmt: skip
def test_a_certificate_that_does_not_fit_ends_all_calls(authority, certificate, trusted, reason):
    found, _ = over_tls(authority, certificate, Recorder(), trusted=trusted)
    assert found == [["closed", f"its certificate is not trusted: {reason}."]]


def test_a_response_over_tls_that_is_cut_is_a_transient_error(authority):
    async def send(reader, writer):
        await heard(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{")
        await writer.drain()
        writer.transport.abort()

    found, _ = over_tls(authority, "localhost", send)
    assert found == [["transient", "the response was cut off, or its compression is invalid."]]


def test_a_server_that_speaks_no_tls_is_one_sentence():
    async def send(reader, writer):
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await reader.read()

    async def run():
        async with wild(send) as url:
            return await called(url.replace("http:", "https:"), request())

    assert "no connection could be made: TLS failed (" in str(asyncio.run(run()))


def test_a_server_that_hangs_up_during_the_handshake_is_one_sentence():
    async def send(reader, writer):
        await reader.read(10)

    async def run():
        async with wild(send) as url:
            return await called(url.replace("http:", "https:"), request())

    error = asyncio.run(run())
    assert str(error).endswith(": no connection could be made: the server closed the connection.")
    assert error.fault == "transient"


def test_replies_come_from_a_server_that_sends_a_byte_at_a_time():
    async def send(reader, writer):
        await heard(reader)
        for byte in completed():
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0)

    async def run():
        async with wild(send) as url:
            return await called(url, request())

    assert asyncio.run(run()).text == "North."


def test_the_setting_chooses_the_client():
    async def run(library, environ):
        http_client = HttpClient(environ, library)
        kind = type(http_client._pool()).__name__
        await http_client.close()
        return kind

    assert asyncio.run(run("builtin", {})) == "ConnectionPool"
    assert asyncio.run(run("aiohttp", {})) == "AiohttpPool"
    assert asyncio.run(run("builtin", {"HTTPS_PROXY": "proxy.example:3128"})) == "AiohttpPool"
