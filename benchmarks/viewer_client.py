"""Request pages of the viewer within one process, with the cookie of its user's browser."""

from evalmark.reports.viewer.auth.guard import AccessPolicy

POLICY = AccessPolicy(token="a-token-of-this-benchmark", hosts=frozenset({"127.0.0.1:7878"}), cookie="evalmark")  # noqa: S106
HEADERS = [(b"host", b"127.0.0.1:7878"), (b"cookie", f"{POLICY.cookie}={POLICY.token}".encode())]


async def answer(app: object, address: str, mark: str = "") -> tuple[int, bytes]:
    """Status and body of a page; with `mark`, only if it has changed since."""
    path, _, query = address.partition("?")
    headers = [*HEADERS, *([(b"if-none-match", f'"{mark}"'.encode())] if mark else [])]
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": headers}
    sent = []

    async def receive() -> dict:
        return {"type": "http.request", "body": b""}

    async def send(message: dict) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])
