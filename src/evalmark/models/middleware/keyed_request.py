"""A request on its way through the wrappers, with the key under which the journal will keep its call."""

from dataclasses import dataclass

from evalmark.core.context.trial_context import current_trial_context
from evalmark.core.values.call import Request


@dataclass(frozen=True, kw_only=True)
class KeyedRequest(Request):
    """A request whose place in its trial has been counted; the models inside see the plain one."""

    original: Request
    cache_key: str
    """The key."""
    repeat: int
    use: int

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """Those of the plain request, which has made them for the key."""
        return self.original.texts


def with_key(request: Request, identity: str) -> KeyedRequest:
    """The request with its key, which counts it as made in this trial; one that has a key already as it is."""
    if isinstance(request, KeyedRequest):
        return request
    uses = current_trial_context()
    use = uses.next(f"{identity} {request.hash}")  # two judges may be asked the same, in any order
    return KeyedRequest(
        messages=request.messages,
        schema=request.schema,
        settings=request.settings,
        logprobs=request.logprobs,
        original=request,
        cache_key=request.key(identity, uses.repeat, use),
        repeat=uses.repeat,
        use=use,
    )


def plain_request(request: Request) -> Request:
    """The request as it was made."""
    return request.original if isinstance(request, KeyedRequest) else request
