"""What the calls of a run come to, and the budget they have to stay within."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from evalmark.core.errors import ModelCallError, RunStoppedError
from evalmark.core.fair_queue import FairQueue
from evalmark.core.protocols import ChatModel
from evalmark.core.values.call import Attempt, Reply, Request
from evalmark.core.values.spending import Spending, spending_of_reply, total_spending
from evalmark.core.values.words import count

from .prices import Prices
from .token_estimate import ASSUMED_OUTPUT, estimate_input_tokens, output_limit

T = TypeVar("T", int, float)

MIN_BILLED_SECONDS = 1.0
"""Seconds after which an attempt without a response counts as paid: a model may have worked until it was cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a run may come to, all its passes together; None: no limit."""

    max_cost: float | None = None
    """US dollars."""
    max_calls: int | None = None
    """Requests that are sent; attempts of the same one count once."""
    max_tokens: int | None = None
    """In and out."""


@dataclass(frozen=True, slots=True)
class CallEstimate:
    """What one call may come to, before it is made."""

    tokens: int
    cost: float


@dataclass(slots=True, kw_only=True)
class ModelUsage:
    """What the calls of one model have come to so far."""

    spent: Spending
    """Without what was replayed."""
    replayed: int = 0
    most_output: int = 0
    """The longest reply in tokens."""
    names: dict[str, None] = field(default_factory=dict)
    """The models that answered, in order, as the provider named them."""
    fingerprints: dict[str, None] = field(default_factory=dict)

    def add(self, more: Spending) -> None:
        """Count what came to this more."""
        self.spent = total_spending((self.spent, more), self.spent.model)


class Meter:
    """Counts the calls of a run, and ends it before it goes over its budget.

    A call is let go while what has been spent, and what those under way may come to, is below the budget; near the end
    callers wait to see what the others really came to. So a run goes over by one call at the most where the guesses
    hold, and by one call for each caller where they do not.
    """

    def __init__(
        self,
        budget: Budget = Budget(),
        earlier: Sequence[Spending] = (),
        prices: Prices | None = None,
        lost: int = 0,
    ) -> None:
        """`lost` is how many requests of earlier passes went out of which nobody knows what became."""
        self.budget = budget
        self.masked = 0
        """Replies that hold a secret, and so are not kept as they came."""
        self._prices = prices or Prices()
        # What earlier passes replayed is not counted again.
        self._tallies = {spent.model: ModelUsage(spent=replace(spent, replayed=0)) for spent in earlier}
        self._noted: dict[str, None] = {}
        self._line: FairQueue[CallEstimate] = FairQueue(self._hold, self.release)
        answered = sum(spent.calls for spent in earlier)
        # What was sent a second time after a break was paid twice, most likely; and so will be what is lost now.
        lost += sum(spent.repeated for spent in earlier)
        self._calls = answered + sum(spent.failed for spent in earlier) + lost
        self._tokens = _with_lost(sum(map(_likely_tokens, earlier)), answered, lost)
        self._cost = _with_lost(sum(map(_likely_cost, earlier)), answered, lost)
        self._guessed = 0.0
        """Dollars of `_cost` that nobody has confirmed."""
        self._guessed_tokens = 0
        """Those of `_tokens`."""
        self._under_way = 0
        self._held_tokens = 0
        self._held_cost = 0.0

    def refuse_unknown(self, model: ChatModel) -> str | None:
        """Why a run with this budget cannot use the model: its price is not known; None when it can."""
        if self.budget.max_cost is None or self._prices.are_known(model):
            return None
        return (
            f"--max-cost: the price of {model.name} is not known. Name the model in [tool.evalmark.models] with its "
            "`input` and `output`, in dollars for a million tokens, or limit --max-calls or --max-tokens instead."
        )

    def guess(self, model: ChatModel, request: Request) -> CallEstimate:
        """What a call may come to, on the high side; nothing where the budget does not ask.

        Raises:
            RunStoppedError: its price is not known, and the budget is one of money.
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

    def admitted(self, guess: CallEstimate) -> bool:
        """Whether a call may be made at once; then it counts as if `admit` had returned.

        Raises:
            RunStoppedError: the budget is reached.
        """
        return self._line.at_once(guess)

    async def admit(self, guess: CallEstimate) -> None:
        """Wait until a call may be made; exactly one of `answered`, `failed`, `broken_off` and `release` ends it.

        Raises:
            RunStoppedError: the budget is reached.
        """
        await self._line.wait(guess)

    def answered(self, model: str, guess: CallEstimate, reply: Reply) -> None:
        """A call was answered."""
        tally = self._of(model)
        tally.add(spending_of_reply(model, reply))
        _see(tally, reply)
        used = reply.usage
        tally.most_output = max(tally.most_output, used.output_tokens or 0)
        known = used.input_tokens is not None and used.output_tokens is not None
        tokens = max(0, (used.input_tokens or 0) + (used.output_tokens or 0))
        unsaid = 0 if known else max(0, guess.tokens - tokens)
        self._guessed_tokens += unsaid
        self._spend(guess, tokens + unsaid, reply.cost)
        self._spend_attempts(guess, reply.attempts)
        self.release(guess)

    def failed(self, model: str, guess: CallEstimate, error: ModelCallError) -> None:
        """A call ended in an error after all attempts."""
        tally = self._of(model)
        tally.add(Spending(model=model, failed=1, attempts=max(0, len(error.attempts) - 1)))
        self._calls += 1
        self._spend_attempts(guess, error.attempts)
        self.release(guess)

    def broken_off(self, guess: CallEstimate) -> None:
        """A call was cancelled while it was under way: it may have been paid for."""
        self._guessed_tokens += guess.tokens
        self._spend(guess, guess.tokens, None)
        self.release(guess)

    def release(self, guess: CallEstimate) -> None:
        """A call was not made after all, or its outcome is counted."""
        self._under_way -= 1
        self._held_tokens -= guess.tokens
        self._held_cost -= guess.cost
        self._line.move()

    def replayed(self, model: str, reply: Reply) -> None:
        """A request was answered from the journal."""
        tally = self._of(model)
        tally.replayed += 1
        _see(tally, reply)

    def spending(self) -> tuple[Spending, ...]:
        """What the run has come to, all its passes together, one line a model."""
        return tuple(replace(tally.spent, replayed=tally.replayed) for tally in self._tallies.values())

    def notes(self) -> tuple[str, ...]:
        """What a reader of the results should know: models that changed while the run went on, and replies not kept."""
        return (*_notes(self._tallies), *_masked(self.masked), *self._noted)

    def note(self, sentence: str) -> None:
        """Say something that a reader of the run should know, once."""
        self._noted.setdefault(sentence)

    def _of(self, model: str) -> ModelUsage:
        if (tally := self._tallies.get(model)) is None:
            tally = self._tallies[model] = ModelUsage(spent=Spending(model=model))
        return tally

    def _spend(self, guess: CallEstimate, tokens: int, cost: float | None) -> None:
        self._calls += 1
        self._tokens += tokens
        self._cost += guess.cost if cost is None else cost
        self._guessed += guess.cost if cost is None else 0.0

    def _spend_attempts(self, guess: CallEstimate, attempts: Iterable[Attempt]) -> None:
        """Count attempts that failed but may have been paid for: a broken reply, or a long silence."""
        for attempt in attempts:
            if attempt.seconds >= MIN_BILLED_SECONDS if attempt.status is None else 200 <= attempt.status < 300:
                self._tokens += guess.tokens
                self._guessed_tokens += guess.tokens
                self._cost += guess.cost
                self._guessed += guess.cost

    def _hold(self, guess: CallEstimate) -> bool:
        """Let a call go, or let it wait for those under way."""
        if reached := self._reached(self._calls, self._tokens, self._cost):
            raise RunStoppedError(reached)
        under_way = (self._under_way, self._held_tokens, self._held_cost)
        if self._under_way and self._reached(
            self._calls + under_way[0], self._tokens + under_way[1], self._cost + under_way[2]
        ):
            return False
        self._under_way += 1
        self._held_tokens += guess.tokens
        self._held_cost += guess.cost
        return True

    def _reached(self, calls: int, tokens: int, cost: float) -> str | None:
        """Why no further call may be made, or None."""
        budget = self.budget
        if budget.max_calls is not None and calls >= budget.max_calls:
            return f"The budget of {count(budget.max_calls, 'call')} is reached. Go on with a larger --max-calls."
        if budget.max_tokens is not None and tokens >= budget.max_tokens:
            guessed = f", {self._guessed_tokens:,} of it an estimate" if self._guessed_tokens else ""
            return (
                f"The budget of {count(budget.max_tokens, 'token')} is reached: {count(calls, 'call')} came to "
                f"{tokens:,}{guessed}. Go on with a larger --max-tokens."
            )
        if budget.max_cost is not None and cost >= budget.max_cost:
            guessed = f", {dollars(self._guessed)} of it an estimate" if self._guessed else ""
            return (
                f"The budget of {dollars(budget.max_cost)} dollars is reached: {count(calls, 'call')} came to "
                f"{dollars(cost)}{guessed}. Go on with a larger --max-cost."
            )
        return None


_NOTHING = CallEstimate(0, 0.0)


def dollars(amount: float) -> str:
    """An amount of money, to the cent, or to two digits where it is less than ten cents.

    >>> dollars(2), dollars(1234.5), dollars(0.00123)
    ('2.00', '1,234.50', '0.0012')
    """
    return f"{amount:,.2f}" if amount >= 0.1 or amount == 0 else f"{float(f'{amount:.2g}'):.12f}".rstrip("0")


def _likely_tokens(spent: Spending) -> int:
    """The tokens that the calls of a model took; those that did not say as many as the others on average."""
    tokens, known = spent.input_tokens + spent.output_tokens, spent.calls - spent.unknown_usage
    return tokens + round((tokens / known if known > 0 else ASSUMED_OUTPUT) * spent.unknown_usage)


def _with_lost(amount: T, answered: int, lost: int) -> T:
    """What calls came to together with those that are lost, which came to as much as the others on average."""
    return amount + type(amount)(amount / answered * lost) if answered else amount


def _likely_cost(spent: Spending) -> float:
    """What the calls of a model came to; those of unknown cost as much as the others on average."""
    known = spent.calls - spent.unknown_cost
    cost = spent.cost or 0.0
    return cost + (cost / known * spent.unknown_cost if known > 0 else 0.0)


def _see(tally: ModelUsage, reply: Reply) -> None:
    """Note who answered."""
    if reply.model:
        tally.names.setdefault(reply.model)
    if reply.system_fingerprint:
        tally.fingerprints.setdefault(reply.system_fingerprint)


def _notes(tallies: dict[str, ModelUsage]) -> Iterable[str]:
    for model, tally in tallies.items():
        if len(tally.names) > 1:
            yield (
                f"{model}: {len(tally.names)} models answered under this name ({_listed(tally.names)}). "
                "Results may differ for that reason alone; name one version to rule it out."
            )
        if len(tally.fingerprints) > 1:
            yield (
                f"{model}: the provider changed the system behind it while results were gathered "
                f"({len(tally.fingerprints)} fingerprints: {_listed(tally.fingerprints)})."
            )


def _masked(replies: int) -> Iterable[str]:
    if replies:
        yield (
            f"The {'reply' if replies == 1 else 'replies'} of {count(replies, 'model call')} {'holds' if replies == 1 else 'hold'} a "
            "secret: it is masked in the call log, not cached, and asked again by the next run."
        )


def _listed(names: Iterable[str], most: int = 4) -> str:
    listed = list(names)
    return ", ".join(listed[:most]) + (", …" if len(listed) > most else "")
