"""A server on loopback that keeps comments as the APIs of GitHub and GitLab do."""

import json
import re
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

GITHUB = re.compile(r"/repos/org/app/issues/(?:7/comments|comments/(\d+))")
GITLAB = re.compile(r"/projects/42/merge_requests/7/notes(?:/(\d+))?")


class CodeHost(ThreadingHTTPServer):
    """Comments of one pull request; `faults` answers the next requests instead."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.comments: dict[int, dict] = {}
        self.requests: list[tuple[str, str]] = []
        self.tokens: set[str] = set()
        self.faults: deque[tuple[int, dict[str, str], str]] = deque()
        self.user: int | None = None
        """The id that `/user` gives; None: it refuses, as it does for the token of a job."""
        self.hold: threading.Barrier | None = None
        """Where the first lists of comments wait for each other."""
        self.listed = 0
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def add(self, body: str, author: int = 41898282, kind: str = "Bot") -> int:
        """Add a comment as its author would."""
        with self.lock:
            number = max(self.comments, default=100) + 1
            about = {"id": author, "type": kind}
            self.comments[number] = {"id": number, "body": body, "user": about, "author": about}
        return number

    def methods(self) -> list[str]:
        """The methods of the requests that changed something."""
        return [method for method, _ in self.requests if method != "GET"]


class _Handler(BaseHTTPRequestHandler):
    server: CodeHost

    def _do(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        server, url = self.server, urlsplit(self.path)
        server.requests.append((self.command, self.path))
        server.tokens.add(self.headers.get("authorization") or self.headers.get("private-token") or "")
        if server.faults:
            status, headers, text = server.faults.popleft()
            self._send(status, {"message": text}, headers)
        elif url.path == "/user":
            self._send(403 if server.user is None else 200, {"id": server.user})
        elif match := GITHUB.fullmatch(url.path) or GITLAB.fullmatch(url.path):
            self._comment(match[1], body, parse_qs(url.query))
        else:
            self._send(404, {"message": "Not Found"})

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _do  # noqa: N815  names of the library

    def _comment(self, number: str | None, body: dict, query: dict[str, list[str]]) -> None:
        server = self.server
        if self.command == "GET":
            page, size = int(query["page"][0]), int(query["per_page"][0])
            found = sorted(server.comments.values(), key=lambda comment: comment["id"])
            with server.lock:
                server.listed += 1
                waits = server.hold is not None and server.listed <= server.hold.parties
            if waits and server.hold:
                server.hold.wait()
            self._send(200, found[(page - 1) * size : page * size])
        elif self.command == "POST":
            if len(body["body"]) > 65_536:
                self._send(422, {"message": "Validation Failed: body is too long"})
                return
            author = (41898282, "Bot") if server.user is None else (server.user, "User")
            made = server.add(body["body"], *author)
            self._send(201, server.comments[made])
        elif int(number or 0) not in server.comments:
            self._send(404, {"message": "Not Found"})
        elif self.command == "DELETE":
            del server.comments[int(number)]
            self._send(204, None)
        else:
            server.comments[int(number)]["body"] = body["body"]
            self._send(200, server.comments[int(number)])

    def _send(self, status: int, data: object, headers: dict[str, str] | None = None) -> None:
        content = b"" if data is None else json.dumps(data).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def code_host() -> Iterator[CodeHost]:
    """Run the server."""
    server = CodeHost()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
