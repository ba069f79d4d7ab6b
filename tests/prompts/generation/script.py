"""A model that answers every stage, and the prompt that it is asked about."""

import json
import re
from collections import Counter

PROMPT = """---
name: Classify
inputs:
  headline: {type: string, description: The line to classify}
  labels: {type: array, default: [World, Sports]}
instructions:
  outputRules: Look at the number of words.
---
system:
Answer with one of these words: {{ labels | join(", ") }}.

user:
{{ headline }}
"""
RULES = ["Answer with one label.", "Write nothing else.", "Be polite."]
INVERSES = ["Answer with several labels.", "Write more than the label.", "Be rude."]
ANSWERED = {"intent", "statements", "rules", "inverses", "tests", "verdicts"}
"""What a reply holds in the stages that every prompt goes through."""
NUMBERED = re.compile(r"^(\d+)\. (INVERSE: )?(.+)$", re.MULTILINE)
STAGE = {
    "intent": "intent",
    "statements": "input-spec",
    "rules": "rules",
    "inverses": "inverse-rules",
    "inputs": "expansion",
    "good": "groundtruth-check",
}


def stage_of(said) -> str:
    """The stage that a request belongs to."""
    if said.schema is None:
        return "groundtruth"
    key = next(key for key in said.schema["properties"] if key not in ("reason",))
    if key == "tests":
        return "tests" if "rule" in said.schema["properties"]["tests"]["items"]["properties"] else "baseline-tests"
    if key == "verdicts":
        return "validity" if "input specification" in said.messages[1][1].split("\n")[0] else "groundedness"
    return STAGE[key]


def piece_of(said, name: str) -> str:
    """What a request shows inside its fence under a label; empty where it shows nothing."""
    (mark,) = set(re.findall(r"<data-([0-9a-f]+) name=", said.messages[1][1])) or {""}
    text = said.messages[1][1]
    found = re.search(rf'<data-{mark} name="{name}"[^>]*>\n(.*?)\n</data-{mark}>', text, re.DOTALL)
    return found[1] if found else ""


class Script:
    """Answers as a good model would; `answers` says otherwise for a stage, by a function of the request."""

    def __init__(self, **answers) -> None:
        self.answers = {name.replace("_", "-"): answer for name, answer in answers.items()}
        self.asked = Counter()

    def __call__(self, said):
        stage = stage_of(said)
        self.asked[stage] += 1
        answer = self.answers.get(stage, PLAIN[stage])
        found = answer(said) if callable(answer) else answer
        return json.dumps(found) if isinstance(found, dict) else found


def verdicts(said, holds=lambda number, text: True, name="input"):
    amount = len(re.findall(r'name="input \d+"', said.messages[1][1])) or len(NUMBERED.findall(piece_of(said, "rules")))
    return {"verdicts": [{"number": n, "reason": "looked", "holds": holds(n, said.text)} for n in range(1, amount + 1)]}


def written(said, each: int = 3):
    again = "again" if piece_of(said, "earlier") else "first"
    return {
        "tests": [
            {"rule": int(n), "reasoning": "why", "inputs": {"headline": f"{again} {n}.{k}"}, "expected": "World"}
            for n, _, _ in NUMBERED.findall(piece_of(said, "rules"))
            for k in range(each)
        ]
    }


def inverses(said):
    known = dict(zip(RULES, INVERSES, strict=True))
    numbered = [line.split(". ", 1) for line in piece_of(said, "rules").splitlines()]
    return {"inverses": [{"rule": int(n), "inverse": known.get(rule, f"Not: {rule}")} for n, rule in numbered]}


def baseline(said):
    wanted = int(re.search(r"Write (\d+) test", said.messages[1][1])[1])
    before = len(piece_of(said, "earlier").splitlines())
    return {"tests": [{"inputs": {"headline": f"plain {n}"}} for n in range(before, before + wanted)]}


PLAIN = {
    "intent": {"intent": "Sorts headlines."},
    "input-spec": {"statements": ["A headline in English.", "Not longer than a line."]},
    "rules": {"rules": RULES},
    "groundedness": lambda said: verdicts(said, lambda n, _: n != 3),
    "inverse-rules": inverses,
    "tests": written,
    "expansion": lambda said: {
        "inputs": {"headline": re.search(r'"headline": ?"([^"]*)"', piece_of(said, "input"))[1] + " and so on"},
        "expected": "Sports",
    },
    "validity": verdicts,
    "groundtruth": "World",
    "groundtruth-check": {"reason": "fine", "good": True},
    "baseline-tests": baseline,
}
