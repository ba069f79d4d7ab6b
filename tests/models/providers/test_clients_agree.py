"""Both HTTP clients make the same of what a server sends, whole or damaged, however it is cut into packets."""

import asyncio
import gzip
import socket
import struct
import zlib
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from evalmark.core.settings import HTTP_LIBRARIES
from evalmark.errors import ModelCallError
from evalmark.models.providers.http import HttpClient

from .wild import heard, http, wild

CODINGS = {"": bytes, "gzip": gzip.compress, "deflate": zlib.compress}
FIELDS = ("x-request-id: a", "Content-Type: application/json", "X-Empty:", "x-spaced:   a b  ", "Server: é", "date: x")
INTERIM = (b"", b"", b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n")


@st.composite
def responses(draw):
    """A valid response in one of the ways that HTTP has to write it."""
    version, status = (
        draw(st.sampled_from(("1.1", "1.1", "1.0"))),
        draw(st.sampled_from((200, 201, 204, 304, 404, 500))),
    )
    body = draw(st.binary(max_size=60)) if status not in (204, 304) else b""
    coding, framing = draw(st.sampled_from(list(CODINGS))), draw(st.sampled_from(("length", "chunks", "end")))
    coded = CODINGS[coding](body) if body else b""
    lines = [f"HTTP/{version} {status} Some words", *draw(st.lists(st.sampled_from(FIELDS), max_size=4, unique=True))]
    lines += [f"content-encoding: {coding}"] if coding and coded else []
    if framing == "length" or version == "1.0":
        lines.append(f"content-length: {len(coded)}")
    elif framing == "chunks" and status not in (204, 304):
        lines.append("transfer-encoding: chunked")
        size = draw(st.integers(1, 30))
        pieces = [coded[at : at + size] for at in range(0, len(coded), size)]
        trailer = draw(st.sampled_from((b"", b"x-trailer: a\r\n")))
        coded = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n" + trailer + b"\r\n"
    end = draw(st.sampled_from(("\r\n", "\r\n", "\r\n", "\n")))
    return draw(st.sampled_from(INTERIM)) + (end.join([*lines, "", ""])).encode() + coded


@st.composite
def damaged(draw):
    """A response with a few bytes changed, lost, added or repeated."""
    data = bytearray(draw(responses()))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        kind = draw(st.sampled_from(("change", "lose", "add", "repeat", "cut")))
        if kind == "change" and data:
            data[at] = draw(st.integers(0, 255))
        elif kind == "lose":
            del data[at : at + draw(st.integers(1, 9))]
        elif kind == "add":
            data[at:at] = draw(
                st.one_of(st.binary(min_size=1, max_size=4), st.sampled_from((b"\r", b"\n", b" ", b":")))
            )
        elif kind == "repeat":
            data[at:at] = data[at : at + draw(st.integers(1, 30))]
        else:
            del data[at:]
    return bytes(data)


async def outcome(library, data, places, end):
    """What a call comes to when the server sends the data in pieces and then closes or resets the connection."""
    cuts = sorted({min(place, len(data)) for place in places} | {0, len(data)})

    async def send(reader, writer):
        await heard(reader)
        for start, stop in pairwise(cuts):
            writer.write(data[start:stop])
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        if end == "reset":
            await asyncio.sleep(0.01)
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        elif end == "stay":
            await reader.read()

    async with wild(send) as url:
        client = HttpClient({}, library)
        try:
            response = await client.post(url, b"{}", {}, within=1 if end == "stay" else 10)
        except ModelCallError as error:
            return error.fault, str(error).partition(": ")[2]
        finally:
            await client.close()
        return response.status, response.body, dict(response.headers)


def outcomes(data, places, end):
    return {library: asyncio.run(outcome(library, data, places, end)) for library in HTTP_LIBRARIES}


ENDS = st.sampled_from(("close", "close", "close", "reset", "reset", "stay"))
PLACES = st.lists(st.integers(0, 400), max_size=6)
FUZZ = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@settings(FUZZ, max_examples=30)
@given(responses(), PLACES, st.just("close"))
def test_valid_responses_are_the_same_with_both(data, places, end):
    found = outcomes(data, places, end)
    assert isinstance(found["builtin"][0], int), found
    assert found["builtin"] == found["aiohttp"]


@pytest.mark.slow
@settings(FUZZ, max_examples=30)
@example(http(b"{}") + b"rubbish", [], "close")
@example(b"HTTP/1.1 200 OK\r\n\r\n{}", [], "reset")
@example(b"HTTP/1.1 200 OK\r\ntransfer-encoding: identity\r\n\r\n{}", [], "close")
@example(b"HTTP/1.1 200 OK\r\ntransfer-encoding: unchunked\r\n\r\n{}", [], "close")
@example(http(gzip.compress(b"{}"), "content-encoding: a", "content-encoding: gzip"), [], "close")
@given(damaged(), PLACES, ENDS)
def test_damaged_responses_are_the_same_with_both(data, places, end):
    check_damaged(data, places, end)


@pytest.mark.sweep
@settings(FUZZ, max_examples=2_000)
@given(damaged(), PLACES, ENDS)
def test_many_damaged_responses_are_the_same_with_both(data, places, end):
    check_damaged(data, places, end)


def check_damaged(data, places, end):
    found = outcomes(data, places, end)
    event(str(found["builtin"][0]))
    assert found["builtin"] == found["aiohttp"] or is_stricter(found, end) or has_surplus(found, data)


BROKEN = ("the response is not valid HTTP.", "the response was cut off, or its compression is invalid.")


def is_stricter(found, end):
    """The clients may see a fault at different times; aiohttp takes for whole what ended with a reset or amid its compression."""
    (ours, reason, *_), (theirs, other, *rest) = (found[library] for library in HTTP_LIBRARIES)
    if ours == theirs == "transient":
        return all(text in BROKEN or "no complete response" in text for text in (reason, other))
    cut = ours == "transient" and reason in BROKEN and isinstance(theirs, int)
    return cut and (end == "reset" or "content-encoding" in rest[0])


def has_surplus(found, data):
    """A whole response counts whatever comes behind it; aiohttp refuses it if both come in one packet."""
    if not isinstance(found["builtin"][0], int) or "not valid HTTP" not in str(found["aiohttp"][1]):
        return False
    starts = (asyncio.run(outcome("aiohttp", data[:length], [], "close")) for length in range(10, len(data)))
    return found["builtin"] in starts
