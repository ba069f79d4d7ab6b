"""A model whose calls count against the budget of the run."""

from evalmark.core.context.trial_context import current_trial_context
from evalmark.core.errors import ModelCallError, RunStoppedError
from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Reply, Request

from .meter import Meter


class MeteredModel:
    """A model that is asked while the budget lasts, and whose calls are counted."""

    def __init__(self, model: ChatModel, meter: Meter) -> None:
        self.name, self.identity = model.name, model.identity
        self._model, self._meter = model, meter

    async def __call__(self, request: Request) -> Reply:
        """The model's reply. Raises what the model raises.

        Raises:
            RunStoppedError: the budget is reached; nothing was sent.
        """
        guess = self._meter.guess(self, request)
        if not self._meter.admitted(guess):
            with current_trial_context().waiting():
                await self._meter.admit(guess)
        try:
            reply = await self._model(request)
        except ModelCallError as error:
            self._meter.failed(self.name, guess, error)
            raise
        except RunStoppedError as stopped:
            if isinstance(last := stopped.__cause__, ModelCallError):  # it was sent, and what came back ends the run
                self._meter.failed(self.name, guess, last)
            else:
                self._meter.release(guess)
            raise
        except BaseException:
            self._meter.broken_off(guess)
            raise
        self._meter.answered(self.name, guess, reply)
        return reply
