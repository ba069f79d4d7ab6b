"""A request with its key in the call log."""

from dataclasses import dataclass

from evalmark.core.context.trial_context import current_trial_context
from evalmark.core.values.call import Request


@dataclass(frozen=True, kw_only=True)
class KeyedRequest(Request):
    """A request with its key in the call log; the provider gets the original request."""

    original: Request
    cache_key: str
    """The key in the call log."""
    repeat: int
    use: int

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """The texts of the original request, which are computed already."""
        return self.original.texts


def with_key(request: Request, identity: str) -> KeyedRequest:
    """Return the request with its key and count it as a use in the current trial; return a keyed request unchanged."""
    if isinstance(request, KeyedRequest):
        return request
    context = current_trial_context()
    use = context.count_use(f"{identity} {request.hash}")  # two judges may send the same request, in any order
    return KeyedRequest(
        messages=request.messages,
        schema=request.schema,
        settings=request.settings,
        logprobs=request.logprobs,
        original=request,
        cache_key=request.key(identity, context.repeat, use),
        repeat=context.repeat,
        use=use,
    )


def plain_request(request: Request) -> Request:
    """Return the original request, without the key."""
    return request.original if isinstance(request, KeyedRequest) else request
