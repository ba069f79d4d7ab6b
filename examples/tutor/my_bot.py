"""A small rule-based tutor for a first course in C. It explains, it looks at code, and it gives no solutions away.

One `Tutor` is one conversation: it remembers what it spoke about last, so that a student may ask for an example.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Topic:
    """What the tutor can speak about."""

    name: str
    words: str
    """A pattern: a question with one of these words is about the topic."""
    explanation: str
    example: str


@dataclass(frozen=True)
class Mistake:
    """What beginners often write, and what makes them see it."""

    pattern: str
    hint: str


TOPICS = (
    Topic(
        name="pointers",
        words=r"\bpointers?\b|\baddress(es)?\b",
        explanation="A pointer is a variable that holds the address of another variable. Through the address you can "
        "read or change what lies there.",
        example="With `int n = 4; int *p = &n;` the pointer p holds the address of n, and `*p = 5;` changes n. "
        'What would `printf("%d", n)` print now?',
    ),
    Topic(
        name="arrays",
        words=r"\barrays?\b|\bindex(es)?\b",
        explanation="An array is a row of values of one type, one after the other in memory. The index says how far an "
        "element lies from the start, so the first has the index 0.",
        example="`int a[3] = {7, 8, 9};` has the elements a[0], a[1] and a[2]. Which index does the last of ten have?",
    ),
    Topic(
        name="loops",
        words=r"\bloops?\b",
        explanation="A loop repeats its body as long as its condition holds. A for loop has its start, its condition and "
        "its step in one line; the step comes after each round.",
        example="`for (int i = 0; i < 3; i++)` runs its body three times. How often would it with `i <= 3`?",
    ),
    Topic(
        name="recursion",
        words=r"\brecurs(ion|ive)\b",
        explanation="A recursive function calls itself on a smaller problem. It needs a base case, at which it stops.",
        example="The factorial of n is n times the factorial of n - 1, and the factorial of 0 is 1: that is the base "
        "case. What happens when it is missing?",
    ),
)
MISTAKES = (
    Mistake(
        pattern=r"for\s*\(.*<=\s*(n|len|length|size|count)\b",
        hint="Look at the condition of your loop: with <= it runs once more than there are elements. Which index does "
        "it reach last, and does the array have an element there?",
    ),
    Mistake(
        pattern=r"if\s*\([^()=!<>]*[^=!<>]=[^=][^()]*\)",
        hint="Look at the condition of your if: a single = is an assignment, not a comparison. What do you want it to "
        "do, and how is that written?",
    ),
    Mistake(
        pattern=r"int\s*\*\s*\w+\s*;\s*\*\w+\s*=",
        hint="Your pointer is used before it points to anything. Which variable should it hold the address of?",
    ),
)
WANTS_SOLUTION = r"\b(give|tell|show) me the (answer|solution|code)\b|\bjust (write|solve|do) it\b"
WANTS_MORE = r"\bexamples?\b|\bagain\b|\bmore about (it|that)\b|\bstill don'?t\b"


class Tutor:
    """A conversation with one student."""

    def __init__(self) -> None:
        self.topic: Topic | None = None

    def __call__(self, question: str, metadata: Mapping[str, Any]) -> str:
        """What the tutor says; a student's program, where there is one, stands under `code` in the metadata."""
        lower = question.lower()
        if re.search(WANTS_SOLUTION, lower):
            return "No, it would not be your solution any more. Tell me what you tried, and we find the next step."
        code = metadata.get("code", "")
        mistake = next((mistake for mistake in MISTAKES if re.search(mistake.pattern, code)), None)
        if mistake is not None:
            return mistake.hint
        if self.topic is not None and re.search(WANTS_MORE, lower):
            return f"We spoke about {self.topic.name}. {self.topic.example}"
        found = next((topic for topic in TOPICS if re.search(topic.words, lower)), None)
        if found is None:
            return "I am not sure what you ask. Is it about pointers, arrays, loops or recursion?"
        self.topic = found
        return f"{found.explanation} Shall I show you an example?"
