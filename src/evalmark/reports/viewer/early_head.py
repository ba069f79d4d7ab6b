"""Send the head of a page before the rest is made, so that a browser loads style sheet and script meanwhile."""

from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from evalmark.core.errors import EvalmarkError

Page = Callable[[Request], Awaitable[Response]]


async def send_head_first(
    head: str,
    check: Callable[[Request], object],
    page: Page,
    fault: Callable[[Request, Exception], Response],
    request: Request,
) -> Response:
    """Answer a browser that opens a page with its head at once, and with the rest once it is made.

    Scripts and other clients get the whole page with its status: after the head, a fault can only be shown.

    Args:
        head: the start of every page.
        check: raises an error for a page that does not exist, before anything is sent.
        page: makes the page.
        fault: makes the page of an error.
        request: the request.
    """
    headers = request.headers
    if request.method != "GET" or headers.get("sec-fetch-mode") != "navigate" or "if-none-match" in headers:
        return await page(request)
    await run_in_threadpool(check, request)

    async def parts() -> AsyncIterator[bytes]:
        start = head.encode()
        yield start
        try:
            made = await page(request)
        except (EvalmarkError, HTTPException) as error:
            yield bytes(fault(request, error).body).removeprefix(start)
        except Exception as error:
            yield bytes(fault(request, error).body).removeprefix(start)
            raise  # the server prints it
        else:
            yield bytes(made.body).removeprefix(start)

    return StreamingResponse(parts(), media_type="text/html")
