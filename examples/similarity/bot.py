"""A small rule-based support bot for Lakeside Bikes, an imaginary bicycle-share.

`answer` is the bot in use. `answer_v2` is the same bot after a well-meant change: shorter replies and one
new rule at the top of the list. Run both against `cases.yaml` to see what the change broke.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

UNLOCK_CENTS = 100
MINUTE_CENTS = 15
DAY_PASS_CENTS = 900
FREE_MINUTES_WITH_PASS = 45

STATIONS = {
    "harbour": "at the foot of the lighthouse, beside the ferry office",
    "old town": "on Market Square, opposite the town hall",
    "university": "behind the main library, on College Street",
    "railway": "outside the south exit of the railway station",
}


@dataclass(frozen=True)
class Question:
    """What somebody asked, and the details found in it."""

    text: str
    minutes: int | None
    has_pass: bool
    place: str | None


@dataclass(frozen=True)
class Rule:
    """If the pattern is found in a question, this reply is given."""

    name: str
    pattern: str
    reply: Callable[[Question], str] = field(repr=False)

    def fits(self, question: Question) -> bool:
        return re.search(self.pattern, question.text) is not None


def understand(text: str) -> Question:
    """Take a question apart. Numbers written as words ("two hours") are not understood."""
    lower = text.lower()
    return Question(
        text=lower,
        minutes=_minutes(lower),
        has_pass=re.search(r"\b(day|month) pass\b", lower) is not None,
        place=next((name for name in STATIONS if name in lower), None),
    )


def _minutes(text: str) -> int | None:
    hours = re.search(r"(\d+)\s*(?:h\b|hours?\b)", text)
    minutes = re.search(r"(\d+)\s*(?:min\b|minutes?\b)", text)
    if hours is None and minutes is None:
        return None
    return 60 * int(hours.group(1) if hours else 0) + int(minutes.group(1) if minutes else 0)


def money(cents: int) -> str:
    """An amount as people read it.

    >>> money(1000), money(325)
    ('10 euros', '3.25 euros')
    """
    euros, rest = divmod(cents, 100)
    return f"{euros}.{rest:02d} euros" if rest else f"{euros} euros"


def fare(minutes: int, *, has_pass: bool = False) -> int:
    """What a ride costs, in cents; without a pass never more than a day pass.

    >>> fare(30), fare(30, has_pass=True), fare(600)
    (550, 0, 900)
    """
    if has_pass:
        return MINUTE_CENTS * max(0, minutes - FREE_MINUTES_WITH_PASS)
    return min(UNLOCK_CENTS + MINUTE_CENTS * minutes, DAY_PASS_CENTS)


def _price(question: Question) -> str:
    if question.minutes is None:
        return (
            "Unlocking a bike costs 1 euro and every minute costs 15 cents. "
            "You never pay more than 9 euros a day, the price of a day pass."
        )
    if question.has_pass:
        cost = fare(question.minutes, has_pass=True)
        total = "is free" if cost == 0 else f"costs {money(cost)}"
        return f"With a pass the first 45 minutes of every ride are free. A ride of {question.minutes} minutes {total}."
    return (
        f"A ride of {question.minutes} minutes costs {money(fare(question.minutes))}, including 1 euro for unlocking."
    )


def _where(question: Question) -> str:
    if question.place is None:
        return "We have stations at the harbour, in the old town, at the university and at the railway station."
    return f"You will find our bikes {STATIONS[question.place]}."


def _always(text: str) -> Callable[[Question], str]:
    return lambda question: text


LOST = _always(
    "I am sorry to hear that. Please lock the bike if you still can, and report the theft to the police and to our "
    "hotline at 0800 555 0199 within 24 hours."
)
BROKEN = _always(
    "Please do not ride on. Lock the bike at the nearest station and report the damage in the app under Help; "
    "we will end the ride and refund the last ten minutes."
)
REFUND = _always(
    "We refund a wrong charge within five working days. Send us the number of the ride under Help in the app."
)
DELETE = _always("You can delete your account in the app under Profile, Privacy. Your data is erased within 30 days.")
CHILDREN = _always("Riders must be at least 16 years old. Child seats and trailers are not available.")
HELMET = _always("A helmet is not compulsory, but we recommend one. You can buy a folding helmet at the harbour kiosk.")
RETURN = _always(
    "Push the front wheel into a free dock until the light turns green. If the station is full, the app shows you "
    "the nearest free dock and gives you ten extra minutes."
)
RESERVE = _always("You can reserve a bike in the app for up to 15 minutes, free of charge.")
GROUP = _always(
    "You can unlock up to four bikes with one account. Start the first ride, then tap Add a bike in the app."
)
PAY = _always("We accept credit cards, debit cards, Apple Pay and Google Pay. You cannot pay in cash.")
HOURS = _always("Our bikes are available 24 hours a day, all year round. The hotline is open from 7 a.m. to 10 p.m.")
UNKNOWN = _always(
    "I am sorry, I did not understand that. Please ask in other words or call our hotline at 0800 555 0199."
)

# The first rule that fits wins, so a question with two wishes gets only one answer.
RULES = (
    Rule("lost", r"\b(stolen|theft|thief|lost)\b", LOST),
    Rule("broken", r"\b(broken|flat tyre|puncture|brakes?|damaged?|squeak\w*)\b", BROKEN),
    Rule("refund", r"\b(refund|charged twice|wrong charge|money back|overcharged)\b", REFUND),
    Rule("delete", r"\b(delete|erase|close)\b.*\b(account|data|profile)\b", DELETE),
    Rule("children", r"\b(child|children|kids?|daughter|son|years? old|how old)\b", CHILDREN),
    Rule("helmet", r"\bhelmets?\b", HELMET),
    Rule("return", r"\b(return|give back|dock|station is full|end (my|the|a) ride)\b", RETURN),
    Rule("reserve", r"\b(reserve|reservation|book)\b", RESERVE),
    Rule("group", r"\b(group|friends?|two bikes|several bikes|more than one bike)\b", GROUP),
    Rule("pay", r"\b(cash|credit card|apple pay|google pay|how can i pay|payment)\b", PAY),
    Rule("price", r"\b(cost|costs|price|prices|expensive|how much|fare)\b", _price),
    Rule("where", r"\b(where|nearest|stations?)\b", _where),
    Rule("hours", r"\b(open|hours|night|sundays?|winter|when)\b", HOURS),
)


def choose(question: Question, rules: Sequence[Rule]) -> Callable[[Question], str]:
    """The reply of the first rule that fits."""
    return next((rule.reply for rule in rules if rule.fits(question)), UNKNOWN)


def answer(text: str) -> str:
    """The bot in use.

    >>> answer("What does a ride of 20 minutes cost?")
    'A ride of 20 minutes costs 4 euros, including 1 euro for unlocking.'
    """
    question = understand(text)
    return choose(question, RULES)(question)


# --- The change: "let us send people to the app, and keep it short" -----------------------------------------------

APP = _always("All of this is in our great new app! Download it today and get 20 percent off your next ride.")
CHANGED_RULES = (Rule("app", r"\b(app|account|card|pay|charged|pass|minutes?)\b", APP), *RULES)


def answer_v2(text: str) -> str:
    """The bot after the change: the new rule at the top takes questions that others answered better."""
    question = understand(text)
    reply = choose(question, CHANGED_RULES)(question)
    return re.split(r"(?<=[a-z]\.)\s", reply)[0]
