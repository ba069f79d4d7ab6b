"""The spending of a run, and the budget that limits it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from evalmark.core.context.trial_context import current_trial_context
from evalmark.core.errors import ModelCallError, RunStoppedError
from evalmark.core.fair_queue import FairQueue
from evalmark.core.money import money
from evalmark.core.protocols import ChatModel
from evalmark.core.text import count
from evalmark.core.values.call import Attempt, Reply, Request, is_model
from evalmark.core.values.spending import Spending, spending_of_reply, total_spending

from .prices import Prices
from .token_estimate import ASSUMED_OUTPUT, estimate_input_tokens, output_limit

T = TypeVar("T", int, float)

_MOST_ADDED = 256
MIN_BILLED_SECONDS = 1.0
"""Seconds from which an attempt without a response is assumed to be billed, since the model may have been working."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The budget of a run, all its passes together; None: no limit."""

    max_cost: float | None = None
    """US dollars."""
    max_calls: int | None = None
    """Requests; the attempts of one request count once."""
    max_tokens: int | None = None
    """Input and output tokens."""


@dataclass(frozen=True, slots=True)
class CallEstimate:
    """The estimated tokens and US dollars of a call before it is made."""

    tokens: int
    cost: float


@dataclass(slots=True, kw_only=True)
class ModelUsage:
    """The calls of one model so far."""

    added: list[Spending]
    """Spending without cached replies; added up only when it is needed or long, since each call adds one."""
    replayed: int = 0
    most_output: int = 0
    """Tokens of the longest reply."""
    names: dict[str, None] = field(default_factory=dict)
    """The models that replied, in order, as the provider names them."""
    fingerprints: dict[str, None] = field(default_factory=dict)

    def add(self, more: Spending) -> None:
        """Add spending."""
        self.added.append(more)
        if len(self.added) > _MOST_ADDED:
            self.total()

    def total(self) -> Spending:
        """Return the sum of the spending."""
        if len(self.added) > 1:
            self.added = [total_spending(self.added, self.added[0].model)]
        return self.added[0]


class Meter:
    """Counts the calls of a run and stops it when its budget is reached.

    A call is admitted while the spending plus the estimates of the calls in flight is below the budget. Near the end of the
    budget callers wait for the actual costs of the calls in flight. So a run exceeds its budget by at most one call if the
    estimates are right, and by at most one call for each concurrent caller if they are not.
    """

    def __init__(
        self,
        budget: Budget = Budget(),
        earlier: Sequence[Spending] = (),
        prices: Prices | None = None,
        lost: int = 0,
    ) -> None:
        """`earlier` is the spending of earlier passes; `lost` is the number of their requests with an unknown outcome."""
        self.budget = budget
        self.masked = 0
        """Replies that contain a secret and are masked in the call log."""
        self._prices = prices or Prices()
        # Cached replies of earlier passes are not counted again.
        self._tallies = {spent.model: ModelUsage(added=[replace(spent, replayed=0)]) for spent in earlier}
        self.services = {spent.model for spent in earlier if not spent.is_model}
        """HTTP services and commands under test, which are called like models."""
        self._extra_notes: dict[str, None] = {}
        self._queue: FairQueue[CallEstimate] = FairQueue(self._admit_now, self.release)
        replies = sum(spent.calls for spent in earlier)
        # Requests sent again after an interruption were probably billed twice; so will be those that are lost now.
        lost += sum(spent.repeated for spent in earlier)
        self._calls = replies + sum(spent.failed for spent in earlier) + lost
        self._tokens = _with_lost(sum(map(_likely_tokens, earlier)), replies, lost)
        self._cost = _with_lost(sum(map(_likely_cost, earlier)), replies, lost)
        self._estimated = 0.0
        """The part of `_cost` that is estimated."""
        self._estimated_tokens = 0
        """The part of `_tokens` that is estimated."""
        self._in_flight = 0
        self._held_tokens = 0
        self._held_cost = 0.0

    def refuse_unknown(self, model: ChatModel) -> str | None:
        """The error message if the budget limits costs and the price of the model is unknown; otherwise None."""
        if self.budget.max_cost is None or self._prices.are_known(model):
            return None
        if not getattr(model, "has_price", True):
            return f"--max-cost: what {model.name} costs is not known before a call; limit --max-calls instead."
        return (
            f"--max-cost: the price of {model.name} is not known. Name the model in [tool.evalmark.models] with its "
            "`input` and `output`, in dollars for a million tokens, or limit --max-calls or --max-tokens instead."
        )

    def estimate(self, model: ChatModel, request: Request) -> CallEstimate:
        """Return a high estimate of the cost of a call; zero if the budget limits neither costs nor tokens.

        Raises:
            RunStoppedError: The budget limits costs, and the price of the model is unknown.
        """
        budget = self.budget
        if budget.max_cost is None and budget.max_tokens is None:
            return _NOTHING
        read, written = estimate_input_tokens(request), output_limit(request)
        if written is None:
            written = max(ASSUMED_OUTPUT, self._of(model.name).most_output)
        if budget.max_cost is None:
            return CallEstimate(read + written, 0.0)
        cost = self._prices.estimate(model, read, written)
        if cost is None:
            raise RunStoppedError(self.refuse_unknown(model) or "")
        return CallEstimate(read + written, cost)

    def try_admit(self, estimate: CallEstimate) -> bool:
        """Admit a call if that is possible without waiting; return whether it was admitted.

        Raises:
            RunStoppedError: The budget is reached.
        """
        return self._queue.try_acquire(estimate)

    async def admit(self, estimate: CallEstimate) -> None:
        """Wait until a call may be made; end it with exactly one of `record_reply`, `record_failure`, `record_cancellation` and `release`.

        Raises:
            RunStoppedError: The budget is reached.
        """
        await self._queue.acquire(estimate)

    def record_reply(self, model: str, estimate: CallEstimate, reply: Reply) -> None:
        """Count a reply."""
        tally = self._of(model)
        tally.add(spending_of_reply(model, reply))
        _note_model(tally, reply)
        used = reply.usage
        tally.most_output = max(tally.most_output, used.output_tokens or 0)
        known = used.input_tokens is not None and used.output_tokens is not None
        tokens = max(0, (used.input_tokens or 0) + (used.output_tokens or 0))
        estimated = 0 if known else max(0, estimate.tokens - tokens)
        self._estimated_tokens += estimated
        self._spend(estimate, tokens + estimated, reply.cost)
        self._spend_attempts(estimate, reply.attempts)
        self.release(estimate)

    def record_failure(self, model: str, estimate: CallEstimate, error: ModelCallError) -> None:
        """Count a call that failed after all attempts."""
        tally = self._of(model)
        tally.add(Spending(model=model, failed=1, attempts=max(0, len(error.attempts) - 1)))
        self._calls += 1
        self._spend_attempts(estimate, error.attempts)
        self.release(estimate)

    def record_cancellation(self, estimate: CallEstimate) -> None:
        """Count a call that was cancelled in flight; it may be billed."""
        self._estimated_tokens += estimate.tokens
        self._spend(estimate, estimate.tokens, None)
        self.release(estimate)

    def release(self, estimate: CallEstimate) -> None:
        """Remove the estimate of a call that was not made, or whose outcome is counted."""
        self._in_flight -= 1
        self._held_tokens -= estimate.tokens
        self._held_cost -= estimate.cost
        self._queue.advance()

    def record_replay(self, model: str, reply: Reply) -> None:
        """Count a cached reply."""
        tally = self._of(model)
        tally.replayed += 1
        _note_model(tally, reply)

    def spending(self) -> tuple[Spending, ...]:
        """The spending of the run by model, all its passes together."""
        return tuple(
            replace(tally.total(), replayed=tally.replayed, is_model=name not in self.services)
            for name, tally in self._tallies.items()
        )

    def notes(self) -> tuple[str, ...]:
        """Notes for the report: models that changed during the run, and masked replies."""
        return (*_notes(self._tallies), *_masked_notes(self.masked), *self._extra_notes)

    def note(self, sentence: str) -> None:
        """Add a note for the report, once."""
        self._extra_notes.setdefault(sentence)

    def _of(self, model: str) -> ModelUsage:
        if (tally := self._tallies.get(model)) is None:
            tally = self._tallies[model] = ModelUsage(added=[Spending(model=model)])
        return tally

    def _spend(self, estimate: CallEstimate, tokens: int, cost: float | None) -> None:
        self._calls += 1
        self._tokens += tokens
        self._cost += estimate.cost if cost is None else cost
        self._estimated += estimate.cost if cost is None else 0.0

    def _spend_attempts(self, estimate: CallEstimate, attempts: Iterable[Attempt]) -> None:
        """Count failed attempts that may be billed: invalid responses, and long attempts without a response."""
        for attempt in attempts:
            if attempt.seconds >= MIN_BILLED_SECONDS if attempt.status is None else 200 <= attempt.status < 300:
                self._tokens += estimate.tokens
                self._estimated_tokens += estimate.tokens
                self._cost += estimate.cost
                self._estimated += estimate.cost

    def _admit_now(self, estimate: CallEstimate) -> bool:
        """Admit a call, or return False if it has to wait for those in flight. Raises RunStoppedError at the limit."""
        if reached := self._reached(self._calls, self._tokens, self._cost):
            raise RunStoppedError(reached)
        if self._in_flight and self._reached(
            self._calls + self._in_flight, self._tokens + self._held_tokens, self._cost + self._held_cost
        ):
            return False
        self._in_flight += 1
        self._held_tokens += estimate.tokens
        self._held_cost += estimate.cost
        return True

    def _reached(self, calls: int, tokens: int, cost: float) -> str | None:
        budget = self.budget
        if budget.max_calls is not None and calls >= budget.max_calls:
            return f"The budget of {count(budget.max_calls, 'call')} is reached. Go on with a larger --max-calls."
        if budget.max_tokens is not None and tokens >= budget.max_tokens:
            estimated = f", {self._estimated_tokens:,} of them estimated" if self._estimated_tokens else ""
            return (
                f"The budget of {count(budget.max_tokens, 'token')} is reached: {count(calls, 'call')} used "
                f"{tokens:,}{estimated}. Go on with a larger --max-tokens."
            )
        if budget.max_cost is not None and cost >= budget.max_cost:
            estimated = f", {money(self._estimated)} of it estimated" if self._estimated else ""
            return (
                f"The budget of {money(budget.max_cost)} is reached: {count(calls, 'call')} cost "
                f"{money(cost)}{estimated}. Go on with a larger --max-cost."
            )
        return None


_NOTHING = CallEstimate(0, 0.0)


def _likely_tokens(spent: Spending) -> int:
    """The tokens of the calls of a model; calls without a count are assumed to be average."""
    tokens, known = spent.input_tokens + spent.output_tokens, spent.calls - spent.unknown_usage
    return tokens + round((tokens / known if known > 0 else ASSUMED_OUTPUT) * spent.unknown_usage)


def _with_lost(amount: T, replies: int, lost: int) -> T:
    """An amount for the known calls, extended to lost calls, which are assumed to be average."""
    return amount + type(amount)(amount / replies * lost) if replies else amount


def _likely_cost(spent: Spending) -> float:
    """The cost of the calls of a model; calls of unknown cost are assumed to be average."""
    known = spent.calls - spent.unknown_cost
    cost = spent.cost or 0.0
    return cost + (cost / known * spent.unknown_cost if known > 0 else 0.0)


def _note_model(tally: ModelUsage, reply: Reply) -> None:
    if reply.model:
        tally.names.setdefault(reply.model)
    if reply.system_fingerprint:
        tally.fingerprints.setdefault(reply.system_fingerprint)


def _notes(tallies: dict[str, ModelUsage]) -> Iterable[str]:
    for model, tally in tallies.items():
        if len(tally.names) > 1:
            yield (
                f"{model}: {len(tally.names)} models replied under this name ({_listed(tally.names)}). "
                "Results may differ for that reason alone; name one version to rule it out."
            )
        if len(tally.fingerprints) > 1:
            yield (
                f"{model}: the provider changed the system behind it during the run "
                f"({len(tally.fingerprints)} fingerprints: {_listed(tally.fingerprints)})."
            )


def _masked_notes(replies: int) -> Iterable[str]:
    if replies:
        yield (
            f"The {'reply' if replies == 1 else 'replies'} of {count(replies, 'model call')} "
            f"{'contains' if replies == 1 else 'contain'} a secret: it is masked in the call log, not cached, and requested again by the next run."
        )


def _listed(names: Iterable[str], most: int = 4) -> str:
    listed = list(names)
    return ", ".join(listed[:most]) + (", …" if len(listed) > most else "")


class MeteredModel:
    """A model whose calls are counted and limited by the budget of the run."""

    def __init__(self, model: ChatModel, meter: Meter) -> None:
        self.name, self.identity = model.name, model.identity
        self._model, self._meter = model, meter
        if not is_model(model.identity):
            meter.services.add(model.name)

    async def __call__(self, request: Request) -> Reply:
        """Wait until the budget admits the call, then call the model. Raises what the model raises.

        Raises:
            RunStoppedError: the budget is reached; nothing was sent.
        """
        estimate = self._meter.estimate(self, request)
        if not self._meter.try_admit(estimate):
            with current_trial_context().waiting():
                await self._meter.admit(estimate)
        try:
            reply = await self._model(request)
        except ModelCallError as error:
            self._meter.record_failure(self.name, estimate, error)
            raise
        except RunStoppedError as stopped:
            if isinstance(
                last := stopped.__cause__, ModelCallError
            ):  # the request was sent, and its response stops the run
                self._meter.record_failure(self.name, estimate, last)
            else:
                self._meter.release(estimate)
            raise
        except BaseException:
            self._meter.record_cancellation(estimate)
            raise
        self._meter.record_reply(self.name, estimate, reply)
        return reply
