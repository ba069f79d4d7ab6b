"""Records what the tests of this prompt ask: run `python record.py` after a change of the prompt, its rules or its tests.

Here a script plays the models, so that anybody can run it. ANSWERS has what the two sorters say of each mail. The judge
finds a label that does not fit, and passes every reason that is too long, as judges do. Where `pyproject.toml` names real
models, the two commands of `main` are all it takes.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from evalmark.testing.scripted import ScriptedRequest, ScriptedServer

HERE = Path(__file__).parent
PORT = 8378
"""Part of the addresses in pyproject.toml: recorded replies are found by the address too."""
ANSWERS = {
    "bring the ladder back": (
        "loan\nAsks when the ladder is due.",
        "loan\nThe writer asks until when the ladder may be kept.",
    ),
    "Saturdays in winter": (
        "visit\nAsks whether we are open on Saturdays in winter.",
        "visit\nThe writer asks about the opening hours on Saturdays in winter.",
    ),
    "drill I took home": (
        "damage\nThe drill smokes when switched on.",
        (
            "damage\nThe drill taken home on Monday smokes as soon as the button is pressed, the neighbour has looked at it as well, "
            "and nobody dares to touch it now."
        ),
    ),
    "8 euros twice": (
        "fee\nPaid 8 euros twice for one tent, wants one payment back.",
        "fee\nThe writer paid 8 euros twice for the same tent and wants one of them back.",
    ),
    "keep the tent until": (
        "loan\nWants to keep the tent until Tuesday, and asks the price.",
        "fee\nThe writer asks what it costs to keep the tent until Tuesday.",
    ),
    "die Säge war super": ("other\nThanks for the saw.", "other\nThe writer thanks us, in German, for the saw."),
    "is the waffle iron free": (
        "loan\nAsks whether the waffle iron is free on Friday.",
        "loan\nThe writer wants to know whether the waffle iron is free on Friday.",
    ),
    "handle of the saw": (
        "damage\nThe handle of the saw broke off.",
        (
            "damage\nThe handle of the saw broke off, and the writer wants to be told at length and step by step what is to be done now, "
            "with nothing left out."
        ),
    ),
    "fined 2 euros": (
        "fee\nWas fined 2 euros for being an hour late.",
        "fee\nThe writer was fined 2 euros for being one hour late and would rather see this under a label of its own, COMPLAINT.",
    ),
    "closed door": (
        "visit\nFound the door closed on Thursday.",
        "visit\nThe writer found the door closed on Thursday and expects an apology.",
    ),
}
"""By words of the mail: what the small model says, and what the large one does."""
WRONG = "fee\nThe writer asks what it costs"
RULES = 5


def play(said: ScriptedRequest) -> object:
    """What each of the three models says."""
    (answers,) = (answers for words, answers in ANSWERS.items() if words in said.text)
    if said.model != "judge-1":
        return answers[said.model == "sorter-large"]
    fits = WRONG not in said.text
    if "verdicts" in said.schema["properties"]:
        reason = "Every rule is kept." if fits else "The mail first asks to keep the tent, and only then for the price."
        verdicts = [{"rule": n, "verdict": "OK" if fits or n != 3 else "ERR"} for n in range(1, RULES + 1)]
        return {"reason": reason, "verdicts": verdicts}
    large = "the writer" in said.text.lower() or "taken home" in said.text
    return {
        "reason": "It names the thing and what is wanted." if large else "It names the thing.",
        "score": 85 if large else 75,
    }


def main(recorded: Path) -> int:
    """Run the tests on both models against the script, and write what was recorded."""
    with tempfile.TemporaryDirectory() as folder, ScriptedServer(play, port=PORT) as server:
        store = str(Path(folder) / "evalmark.db")
        evalmark = [sys.executable, "-m", "evalmark"]
        models = ["--model", "small", "--model", "large", "--judge", "judge"]
        code = subprocess.run(
            [*evalmark, "run", "sort.prompty", *models, "--store", store], cwd=HERE, check=False
        ).returncode
        subprocess.run([*evalmark, "cache", "export", str(recorded), "--store", store], cwd=HERE, check=True)
        print(json.dumps({"asked": server.count, "problems": server.problems}))
    return code


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1] if len(sys.argv) > 1 else HERE / "recorded.jsonl").absolute()))
