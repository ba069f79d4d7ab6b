"""A model behind the gate of its endpoint."""

from collections.abc import Awaitable, Callable

from evalmark.core.context.trial_context import current_trial_context
from evalmark.core.errors import ModelCallError
from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Reply, Request

from .keyed_request import plain_request
from .throttle import Permit, Throttle
from .token_estimate import estimate_tokens


class LimitedModel:
    """A model that is asked when the throttle of its endpoint lets it.

    `before` is awaited with each request that was let go, right before it goes out.
    """

    def __init__(
        self, model: ChatModel, throttle: Throttle, before: Callable[[Request], Awaitable[None]] | None = None
    ) -> None:
        self.name, self.identity = model.name, model.identity
        self._model, self._throttle, self._before = model, throttle, before

    async def __call__(self, request: Request) -> Reply:
        """The model's reply. Raises what the model raises.

        Raises:
            RunStoppedError: the endpoint takes no more requests.
        """
        place = await self._depart(request)
        try:
            reply = await self._model(plain_request(request))
            self._throttle.heard(place, reply)
        except ModelCallError as error:
            self._throttle.failed(place, error)
            raise
        finally:
            self._throttle.leave(place)
        return reply

    async def _depart(self, request: Request) -> Permit:
        """The place of a request that may go out now."""
        size = estimate_tokens(request)
        place = self._throttle.at_once(size)
        if place is None:
            with current_trial_context().waiting():
                place = await self._throttle.enter(size)
        if self._before is not None:
            try:
                await self._before(request)
            except BaseException:
                self._throttle.leave(place)
                raise
        while self._throttle.pause_left() or self._throttle.closed:  # another call met a limit since
            self._throttle.leave(place)
            with current_trial_context().waiting():
                place = await self._throttle.enter(size, first=True)
        return place
