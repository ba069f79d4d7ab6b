"""A support bot: looks up the passage that fits a question best, and says it in the words of `prompt.txt`.

It stands in for a language model, so that the example needs no key and gives the same answers everywhere.
"""

import json
import re
from pathlib import Path

HERE = Path(__file__).parent
PASSAGES = json.loads((HERE / "passages.json").read_text(encoding="utf-8"))
COMMON = frozenset(
    [
        "a",
        "an",
        "and",
        "any",
        "are",
        "can",
        "do",
        "does",
        "for",
        "have",
        "how",
        "i",
        "if",
        "in",
        "is",
        "it",
        "my",
        "of",
        "on",
        "or",
        "the",
        "to",
        "what",
        "when",
        "where",
        "which",
        "with",
        "you",
        "your",
    ]
)


def answer(question: str) -> str:
    """What the bot says, in the manner that the prompt asks for."""
    passage = closest(question)
    manner = (HERE / "prompt.txt").read_text(encoding="utf-8")
    return passage.split(". ")[0].split(",")[0].rstrip(".") + "." if "as short as you can" in manner else passage


def closest(question: str) -> str:
    """The passage that shares the most words with the question."""
    asked = words(question)
    return max(PASSAGES, key=lambda passage: len(asked & words(passage)) / len(words(passage)) ** 0.5)


def words(text: str) -> set[str]:
    """The words of a text that say something."""
    return set(re.findall(r"[a-z]+", text.lower())) - COMMON
