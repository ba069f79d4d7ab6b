"""A server with OpenAI's chat completions that refuses requests: at random, by kind, or by a rate limit.

Each reply contains the seconds that the server took for it. `GET /stats` returns the counts. `clean` answers all
requests; `random` refuses 20 % (429, `Retry-After: 0`); `mix` 20 % with 429, 10 % with 500, drops 5 %, cuts the body of 2 %,
sends 1 % as invalid JSON, and answers 1 % two seconds late; `bucket` lets through 600 requests a minute and a burst of 20.

Run: python benchmarks/faulty_server.py bucket [--latency 500] [--retry-after 0]; it ends with its standard input.
"""

import argparse
import asyncio
import json
import random
import sys
import time

from aiohttp import web

KINDS = ("clean", "random", "mix", "bucket")
MIX = ((0.2, "limit"), (0.3, "fault"), (0.35, "drop"), (0.37, "cut"), (0.38, "garbage"), (0.39, "slow"))
SLOW = 2.0
PER_SECOND, BURST = 10.0, 20.0


class World:
    def __init__(self, args: argparse.Namespace) -> None:
        self.kind, self.latency, self.retry_after = args.kind, args.latency / 1_000, args.retry_after
        self.chance = random.Random(args.seed)  # noqa: S311
        self.level, self.then = BURST, time.monotonic()
        self.counts = {"requests": 0, "answered": 0, "limited": 0, "first": 0.0, "last": 0.0}

    def drawn(self) -> str:
        """What becomes of the next request."""
        if self.kind == "random":
            return "limit" if self.chance.random() < 0.2 else ""
        if self.kind == "mix":
            number = self.chance.random()
            return next((name for edge, name in MIX if number < edge), "")
        return "limit" if self.kind == "bucket" and not self.taken() else ""

    def taken(self) -> bool:
        now = time.monotonic()
        self.level = min(BURST, self.level + (now - self.then) * PER_SECOND)
        self.then = now
        if self.level < 1.0:
            return False
        self.level -= 1.0
        return True

    async def answer(self, request: web.Request) -> web.StreamResponse:
        started = time.perf_counter()
        self.counts["requests"] += 1
        self.counts["first"] = self.counts["first"] or time.monotonic()
        what = self.drawn()
        if what == "limit":
            self.counts["limited"] += 1
            headers = {} if self.retry_after == "none" else {"retry-after": self.retry_after}
            return web.json_response({"error": {"message": "slow down"}}, status=429, headers=headers)
        if what == "fault":
            return web.json_response({"error": {"message": "out of order"}}, status=500)
        if what == "drop":
            request.transport.close()
            return web.Response()
        if what == "garbage":
            return web.Response(text="<html>no JSON", content_type="application/json")
        await request.read()
        await asyncio.sleep(self.latency + (SLOW if what == "slow" else 0.0))
        if what == "cut":
            return await self.cut(request)
        self.counts["answered"] += 1
        self.counts["last"] = time.monotonic()
        return web.json_response(completion(f"{time.perf_counter() - started:.6f}"))

    async def cut(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-length": "1000", "content-type": "application/json"})
        await response.prepare(request)
        await response.write(b'{"choices": [')
        request.transport.close()
        return response

    async def stats(self, _request: web.Request) -> web.Response:
        return web.json_response(self.counts)


def completion(content: str) -> dict:
    return {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "mock",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


async def serve(args: argparse.Namespace) -> None:
    world, app, done = World(args), web.Application(), asyncio.Event()
    app.router.add_post("/v1/chat/completions", world.answer)
    app.router.add_get("/stats", world.stats)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=512)
    await site.start()
    print(json.dumps(f"http://127.0.0.1:{runner.addresses[0][1]}"), flush=True)
    asyncio.get_running_loop().add_reader(sys.stdin, lambda: sys.stdin.readline() or done.set())
    await done.wait()
    await runner.cleanup()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--latency", type=float, default=500, help="milliseconds")
    parser.add_argument("--retry-after", default="0", help="what a 429 says; `none`: nothing")
    parser.add_argument("--seed", type=int, default=1)
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
