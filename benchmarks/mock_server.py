"""A server with OpenAI's chat completions that answers after a fixed time and counts its requests.

A model with a JSON schema gets an object that fits it; any other returns the last text between [[ECHO: and ]] in the
request, or `ok`, and adds its name if that begins with `own-`. `GET /stats` returns the counts, `/reset` resets them,
`/config?latency_ms=20` changes the time.

Run: python benchmarks/mock_server.py [--port 8099] [--latency 50]; it ends with its standard input.
"""

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from functools import lru_cache
from urllib.parse import parse_qs, urlsplit

SHOULD_SAY = (("enum", lambda s: "C" if "C" in s["enum"] else s["enum"][-1]), ("const", lambda s: s["const"]))
PLAIN = {"string": "fine", "boolean": True, "array": [], "null": None}


class Counts:
    def __init__(self) -> None:
        self.bodies = Counter()
        self.tally = Counter(
            dict.fromkeys(("judge", "connections", "abandoned", "failed", "inflight", "max_inflight"), 0)
        )
        self.first = self.last = 0.0

    def stats(self) -> dict:
        total = self.bodies.total()
        said = {"requests": total, "unique_bodies": len(self.bodies), "repeated": total - len(self.bodies)}
        return said | self.tally | {"t_first": self.first, "t_last": self.last, "cpu_s": time.process_time()}


class World:
    def __init__(self, latency: float) -> None:
        self.latency = latency
        self.counts = Counts()


class Connection(asyncio.Protocol):
    def __init__(self, world: World) -> None:
        self.world = world
        self.held = b""
        self.waiting = 0

    def connection_made(self, transport) -> None:
        self.transport = transport
        self.world.counts.tally["connections"] += 1

    def connection_lost(self, error) -> None:
        self.world.counts.tally["abandoned"] += self.waiting

    def data_received(self, data: bytes) -> None:
        self.held += data
        while (end := self.held.find(b"\r\n\r\n")) >= 0:
            head = self.held[:end]
            size = length_of(head)
            if len(self.held) < end + 4 + size:
                return
            body, self.held = self.held[end + 4 : end + 4 + size], self.held[end + 4 + size :]
            self.handle(head.split(b" ", 2)[1].decode("ascii"), body)

    def handle(self, address: str, body: bytes) -> None:
        if not address.endswith("/chat/completions"):
            self.transport.write(response(json.dumps(self.stats(address))))
            return
        counts, now = self.world.counts, time.time()
        counts.bodies[hash(body)] += 1
        counts.first = counts.first or now
        counts.tally["inflight"] += 1
        counts.tally["max_inflight"] = max(counts.tally["max_inflight"], counts.tally["inflight"])
        self.waiting += 1
        asyncio.get_running_loop().call_later(self.world.latency, self.answer, body)

    def answer(self, body: bytes) -> None:
        counts = self.world.counts
        counts.tally["inflight"] -= 1
        counts.last = time.time()
        if self.transport.is_closing():
            return
        self.waiting -= 1
        said, judged = completion(body)
        counts.tally["judge"] += judged
        self.transport.write(response(said))

    def stats(self, address: str) -> dict:
        parts = urlsplit(address)
        if parts.path == "/reset":
            flying, self.world.counts = self.world.counts.tally["inflight"], Counts()
            self.world.counts.tally["inflight"] = flying
        elif parts.path == "/config":
            self.world.latency = float(parse_qs(parts.query)["latency_ms"][0]) / 1_000
        return self.world.counts.stats()


def length_of(head: bytes) -> int:
    start = head.lower().find(b"content-length:")
    return int(head[start + 15 :].split(b"\r\n", 1)[0]) if start >= 0 else 0


def response(text: str) -> bytes:
    body = text.encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


def completion(body: bytes) -> tuple[str, bool]:
    """The response to a request, and whether a judgement was request for."""
    request = json.loads(body)
    tokens = len(body) // 4
    wanted = request.get("response_format", {}).get("json_schema", {}).get("schema")
    own = f" ({request['model']})" if request["model"].startswith("own-") else ""
    content = fitting(json.dumps(wanted)) if wanted else echo(body) + own
    said = {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": request["model"],
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 8, "total_tokens": tokens + 8},
    }
    return json.dumps(said), bool(wanted)


def echo(body: bytes) -> str:
    start = body.rfind(b"[[ECHO:")
    return body[start + 7 :].split(b"]]", 1)[0].decode() if start >= 0 else "ok"


@lru_cache
def fitting(schema: str) -> str:
    return json.dumps(value_for(json.loads(schema)))


def value_for(schema: dict):
    for key, choose in SHOULD_SAY:
        if key in schema:
            return choose(schema)
    if "anyOf" in schema:
        return value_for(schema["anyOf"][0])
    kind = schema.get("type", "string")
    if kind == "object":
        return {name: value_for(inner) for name, inner in schema.get("properties", {}).items()}
    return schema.get("maximum", 1) if kind in ("integer", "number") else PLAIN[kind]


async def serve(port: int, latency: float) -> None:
    loop = asyncio.get_running_loop()
    world, done = World(latency), asyncio.Event()
    server = await loop.create_server(lambda: Connection(world), "127.0.0.1", port, backlog=512)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    loop.add_reader(sys.stdin, lambda: sys.stdin.readline() or done.set())
    await done.wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=50, help="milliseconds")
    args = parser.parse_args()
    asyncio.run(serve(args.port, args.latency / 1_000))


if __name__ == "__main__":
    main()
