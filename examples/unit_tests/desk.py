"""A help desk that knows some answers by heart, before and after a change."""

ANSWERS = {
    "unlock": "Scan the code on the handlebar with the app, and the lock opens.",
    "refund": "We refund a ride that could not be started within three working days.",
    "flat": "Park the bike, tap Report a problem, and take another one; the ride is free.",
    "price": "A ride costs one euro for the first half hour and ten cents a minute after that.",
}
CHANGED = {
    **ANSWERS,
    "refund": "Please enjoy our great new app!",
    "flat": "Have you heard of our yearly pass? It pays off after twenty rides.",
}


def answer(inputs: dict[str, str]) -> str:
    """What the desk says to a question."""
    return _found(ANSWERS, inputs["question"])


def changed_answer(inputs: dict[str, str]) -> str:
    """What it says after the change."""
    return _found(CHANGED, inputs["question"])


def _found(answers: dict[str, str], question: str) -> str:
    return next((text for word, text in answers.items() if word in question.lower()), "I do not know.")
