"""A public library's bot. It stands in for a language model: no key, and the same answers everywhere."""

import json
from pathlib import Path

HERE = Path(__file__).parent
ANSWERS = json.loads((HERE / "answers.json").read_text(encoding="utf-8"))


def answer(question: str) -> str:
    """Answer as `prompt.txt` asks: in full, or in one sentence."""
    text = next((text for word, text in ANSWERS.items() if word in question.lower()), "Please ask at the counter.")
    prompt = (HERE / "prompt.txt").read_text(encoding="utf-8")
    return text.split(". ")[0].rstrip(".") + "." if "one sentence" in prompt else text
